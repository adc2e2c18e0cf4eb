package index

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// bulkRow is a memory that every deferred index has something of.
func bulkRow(n int) Change {
	id := fold.SlugID("bulk", fmt.Sprint(n))
	at := time.Unix(int64(1_700_000_000+n*7919%1000), 0).UTC()
	m := fold.Memory{
		ID: id, Path: id.Path(), Title: fmt.Sprintf("Title %d", n*7919%1000), Aliases: []string{fmt.Sprintf("other %d", n)}, Type: "general",
		Source: fold.SourceAgent, Tags: []string{fmt.Sprintf("tag%d", n%5)}, CreatedAt: at, UpdatedAt: at.Add(time.Duration(n%13) * time.Hour),
		Body: fmt.Sprintf("See [[Title %d]].\n", (n+1)*7919%1000),
	}
	to := fold.SlugID("bulk", fmt.Sprint((n+1)%40))
	return Change{
		Memory: &Row{Memory: m, Described: "fold", ContentHash: fmt.Sprint(n)},
		Links:  []fold.Link{{From: id, To: to, Type: fold.LinkRelated}}, SetLinks: true,
	}
}

// schemaOf returns the names of the indexes that are there, in order.
func schemaOf(t *testing.T, x *DB) []string {
	t.Helper()
	var names []string
	err := x.db.Each(t.Context(), "read schema", func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		names = append(names, name)
		return err
	}, `select name from sqlite_schema where type = 'index' and sql is not null order by name`)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// askAll asks what the deferred indexes answer.
func askAll(t *testing.T, x *DB) []any {
	t.Helper()
	var all []any
	keep := func(v any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	for _, order := range []string{"updated_at", "created_at", "title"} {
		rows, next, total, err := x.List(t.Context(), Filter{SortBy: order, Tags: []string{"tag3"}, Limit: 5})
		for i := range rows {
			rows[i].Seq, rows[i].TextSeq = 0, 0
		}
		keep([]any{rows, next, total}, err)
	}
	first, second := bulkRow(3).Memory.ID, bulkRow(4).Memory.ID
	out, in, err := x.LinksOf(t.Context(), []fold.ID{first, second})
	keep([]any{out, in}, err)
	keep(x.LinkByID(t.Context(), out[first][0].ID()))
	keep(x.ResolverEntriesOf(t.Context(), []string{"other 5", "title 919"}, nil))
	keep(x.LinkersOf(t.Context(), []string{strings.ToLower(bulkRow(6).Memory.Title)}))
	keep(x.Linkers(t.Context()))
	keep(x.Counts(t.Context()))
	return all
}

func openBulk(t *testing.T, dir string) *DB {
	t.Helper()
	x, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() }) // the second time it fails
	return x
}

func applyBulk(t *testing.T, x *DB, from, to int) {
	t.Helper()
	var changes []Change
	for n := from; n < to; n++ {
		changes = append(changes, bulkRow(n))
	}
	if _, err := x.Apply(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
}

// TestBulk: while many memories come, the deferred indexes are away and every answer
// is what it would be with them; then, also where the bulk was cut short and the
// file opened again, they are there as in an index that never was without.
func TestBulk(t *testing.T) {
	t.Parallel()
	deferred := deferredIndexes()
	if len(deferred) == 0 {
		t.Fatal("there are no deferred indexes")
	}
	plain := openBulk(t, t.TempDir())
	whole := schemaOf(t, plain)
	for _, l := range deferred {
		if !slices.Contains(whole, l.name) {
			t.Fatalf("a new index has no %s: %q", l.name, whole)
		}
	}
	var bare []string
	for _, name := range whole {
		if !slices.ContainsFunc(deferred, func(l deferredIndex) bool { return l.name == name }) {
			bare = append(bare, name)
		}
	}
	dir := t.TempDir()
	x := openBulk(t, dir)
	expect := func(doing string, names []string) {
		t.Helper()
		if got := schemaOf(t, x); !slices.Equal(got, names) {
			t.Errorf("%s: indexes are %q, want %q", doing, got, names)
		}
		if got, want := askAll(t, x), askAll(t, plain); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: answers are %v, want %v", doing, got, want)
		}
	}
	applyBulk(t, plain, 0, 20)
	if err := x.BeginBulk(t.Context(), bulkMemories); err != nil {
		t.Fatal(err)
	}
	applyBulk(t, x, 0, 20)
	expect("in a bulk", bare)

	// Cut short: the next opening finds them missing, and goes on.
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x = openBulk(t, dir)
	if x.Rebuilt != "" {
		t.Errorf("begun anew: %s", x.Rebuilt)
	}
	expect("opened in a bulk", bare)
	applyBulk(t, plain, 10, 40)
	applyBulk(t, x, 10, 40)
	expect("further in the bulk", bare)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := x.EndBulk(ended); err == nil {
		t.Error("EndBulk ends well after its context")
	}
	for range 2 {
		if err := x.EndBulk(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect("after the bulk", whole)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x = openBulk(t, dir)
	if x.inBulk.Load() {
		t.Error("opened after the bulk, indexes are missing")
	}
	expect("opened after the bulk", whole)
}

// TestBulkIsForMany: where fewer memories come than there are, or few at all, the
// indexes stay.
func TestBulkIsForMany(t *testing.T) {
	t.Parallel()
	x := openBulk(t, t.TempDir())
	whole := schemaOf(t, x)
	if err := x.BeginBulk(t.Context(), bulkMemories-1); err != nil {
		t.Fatal(err)
	}
	if got := schemaOf(t, x); !slices.Equal(got, whole) {
		t.Errorf("few come: indexes are %q, want %q", got, whole)
	}
	_, err := x.db.Exec(t.Context(), "fill", `with recursive n(i) as (select 1 union all select i + 1 from n where i <= ?)
		insert into memories select printf('%016x', i), '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '{}', 0, 0, 0, 0, 0, '', '', 0, 0, 0 from n`, bulkMemories)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.BeginBulk(t.Context(), bulkMemories); err != nil {
		t.Fatal(err)
	}
	if got := schemaOf(t, x); !slices.Equal(got, whole) {
		t.Errorf("more are there: indexes are %q, want %q", got, whole)
	}
}
