package index

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestNamesFoundAreTheNamesThatDecide: the entries looked up for a link lead it
// where all entries do, and a rename finds whoever links by the name.
func TestNamesFoundAreTheNamesThatDecide(t *testing.T) {
	t.Parallel()
	x, err := Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	rnd := rand.New(rand.NewPCG(7, 7))
	parts := []string{"Emu", "emu", " EMU  hut", "Über", "U\u0308ber", "a/Emu.md", "notes/emu", "./hut", "x.md", "", "0123456789abcdef", "Fold/emu", "fold/notes/emu"}
	pick := func() string { return parts[rnd.IntN(len(parts))] }
	id := func(i int) fold.ID { return fold.SlugID("names", fmt.Sprint(i)) }
	made := time.Unix(1_700_000_000, 0).UTC()
	row := func(i int) *Row {
		m := fold.Memory{ID: id(i), Title: pick(), Type: "general", Source: fold.SourceAgent, CreatedAt: made, UpdatedAt: made}
		r := Row{Memory: m, Described: []string{"fold", "index"}[rnd.IntN(2)]}
		switch rnd.IntN(3) {
		case 0:
			r.Path = r.ID.Path()
		case 1:
			r.Path = fmt.Sprintf("%s/%d.md", strings.Trim(strings.TrimSuffix(pick(), ".md"), "./ ")+"n", rnd.IntN(4))
		}
		for range rnd.IntN(3) {
			r.Aliases = append(r.Aliases, pick())
		}
		if rnd.IntN(3) == 0 {
			r.Foreign = pick()
		}
		for range rnd.IntN(3) {
			r.Body += fmt.Sprintf("See [[%s]] and [[%s#part|so]].\n", pick(), id(rnd.IntN(30)))
		}
		if rnd.IntN(4) == 0 {
			r.ByName = []fold.NamedLink{{Type: fold.LinkRelated, Target: pick()}}
		}
		return &r
	}
	compare := func() {
		t.Helper()
		entries, err := x.ResolverEntries(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all := fold.NewResolver(entries)
		linkers := map[string][]fold.ID{}
		err = x.EachMemory(t.Context(), func(r Row) error {
			names, ids := r.LinkTargets()
			some, err := x.ResolverEntriesOf(t.Context(), names, ids)
			if err != nil {
				return err
			}
			if got, want := fmt.Sprint(r.WrittenLinks(fold.NewResolver(some).Resolve)), fmt.Sprint(r.WrittenLinks(all.Resolve)); got != want {
				t.Errorf("links of %s: %s, with all names %s\nbody %q", r.ID, got, want, r.Body)
			}
			if r.Described == "fold" {
				for _, n := range names {
					if !slices.Contains(linkers[n], r.ID) {
						linkers[n] = append(linkers[n], r.ID)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			for _, n := range e.Names() {
				got, err := x.LinkersOf(t.Context(), []string{n})
				if err != nil || !slices.Equal(got, linkers[n]) {
					t.Errorf("linkers by %q: %v, %v; want %v", n, got, err, linkers[n])
				}
			}
		}
	}
	for round := range 40 {
		var changes []Change
		for range 6 {
			i := rnd.IntN(30)
			if rnd.IntN(4) == 0 {
				changes = append(changes, Change{Forget: id(i)})
			} else {
				changes = append(changes, Change{Memory: row(i)})
			}
		}
		if _, err := x.Apply(t.Context(), changes); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		compare()
	}
}

// TestNamesAreLookedUpByIndexes: what a link costs does not grow with how many
// memories there are.
func TestNamesAreLookedUpByIndexes(t *testing.T) {
	t.Parallel()
	x, err := Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, query := range []string{
		entriesOf,
		linkersOf,
		`select id, file_path, source_blob from memories where stale = 1 and described = 'fold' order by id`,
	} {
		args := []any{"[]", "[]"}[:strings.Count(query, "json_each(?1)")+strings.Count(query, "json_each(?2)")/2]
		err := x.db.Each(t.Context(), "plan", func(scan func(...any) error) error {
			var a, b, c int
			var step string
			if err := scan(&a, &b, &c, &step); err != nil {
				return err
			}
			if strings.HasPrefix(step, "SCAN memor") && !strings.Contains(step, "memories_stale") {
				t.Errorf("%s: %s", query, step)
			}
			return nil
		}, "explain query plan "+query, args...)
		if err != nil {
			t.Error(err)
		}
	}
}
