package index_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

func TestSessionsHoldTheirMemoriesInOrder(t *testing.T) {
	x := openIndex(t, t.TempDir())
	for n, session := range []string{"one", "two", "one", "", "two", "one", "three"} {
		apply(t, x, index.Change{Memory: &index.Row{Memory: fold.Memory{
			ID: id(n), Title: "turn", Source: fold.SourceAgent, Session: session, CreatedAt: day(20 - n), UpdatedAt: day(1),
		}, Described: "fold"}})
	}
	got, err := x.Sessions(t.Context(), []fold.ID{id(2), id(3), id(4), "0000000000000099"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]fold.ID{"one": {id(5), id(2), id(0)}, "two": {id(4), id(1)}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("Sessions: -want +got %s", d)
	}
	if got, err := x.Sessions(t.Context(), []fold.ID{id(3)}); err != nil || len(got) != 0 {
		t.Errorf("Sessions of a memory without one = %v, %v", got, err)
	}
}

func TestStatsFollowTheIndex(t *testing.T) {
	x := openIndex(t, t.TempDir())
	ids := []fold.ID{id(1), id(2)}
	check := func(what string, want ...index.Stats) {
		t.Helper()
		for range 2 { // the second time without the database
			got, err := x.Stats(t.Context(), ids)
			if d := cmp.Diff(want, got); err != nil || d != "" {
				t.Errorf("Pulses %s: %v, -want +got %s", what, err, d)
			}
		}
	}
	check("of nothing", index.Stats{}, index.Stats{})
	one := row(1)
	apply(t, x, index.Change{Memory: one})
	stats := index.Stats{Type: one.Type, Language: one.Language, Updated: one.UpdatedAt.UTC().Truncate(time.Microsecond), Pinned: one.Pinned, Known: true}
	check("of one", stats, index.Stats{})
	changed := row(1)
	changed.Pinned, changed.Type = !one.Pinned, "fact"
	apply(t, x, index.Change{Memory: changed})
	stats.Pinned, stats.Type = changed.Pinned, "fact"
	check("after a change", stats, index.Stats{})
	apply(t, x, index.Change{Forget: id(1)})
	check("after it is forgotten", index.Stats{}, index.Stats{})
}
