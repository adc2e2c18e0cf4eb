package index_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

// TestApplyReturnsHowRowsChanged: who keeps an index beside this one learns
// whether anything is other in it, and which chunks there are now.
func TestApplyReturnsHowRowsChanged(t *testing.T) {
	x := openIndex(t, t.TempDir())
	at := time.Date(2026, 2, 3, 10, 30, 0, 0, time.UTC)
	base := func() *index.Row {
		return &index.Row{Memory: fold.Memory{
			ID: id(1), Title: "A file", Type: "codebase", Source: fold.SourceFile, Author: "system", Tags: []string{"db"}, Context: "Does things.",
			FilePath: "a.go", Language: "go", SourceBlob: "1", CreatedAt: at, UpdatedAt: at, Body: "It reads.\n",
		}, Described: "index"}
	}
	if got, want := apply(t, x, index.Change{Memory: base()}).Rows, map[fold.ID]index.RowChange{id(1): {FilterChanged: true, ContentChanged: true}}; !cmp.Equal(got, want) {
		t.Errorf("of a new one: %+v", got)
	}
	was := at
	for _, c := range []struct {
		name            string
		change          func(*index.Row)
		refiled, retold bool
	}{
		{"nothing", func(*index.Row) {}, false, false},
		{"blob and times", func(r *index.Row) {
			r.SourceBlob, r.CreatedAt, r.UpdatedAt, r.Stale = "2", at.Add(time.Hour), at.Add(time.Hour), true
		}, false, false},
		{"a time between microseconds", func(r *index.Row) { r.UpdatedAt = at.Add(1) }, false, true},
		{"the body", func(r *index.Row) { r.Body = "It writes.\n" }, false, true},
		{"a keyword", func(r *index.Row) { r.Keywords = []string{"disk"} }, false, true},
		{"a tag", func(r *index.Row) { r.Tags = []string{"disk"} }, true, true},
		{"the path", func(r *index.Row) { r.FilePath = "b.go" }, true, true},
		{"the language", func(r *index.Row) { r.Language = "text" }, true, true},
		{"the author", func(r *index.Row) { r.Author = "ada" }, true, true},
		{"who describes it", func(r *index.Row) { r.Described = "fold" }, false, true},
	} {
		r := base()
		c.change(r)
		want := map[fold.ID]index.RowChange{id(1): {FilterChanged: c.refiled, ContentChanged: c.retold, Was: was}}
		if d := cmp.Diff(want, apply(t, x, index.Change{Memory: r}).Rows); d != "" {
			t.Errorf("%s: -want +got %s", c.name, d)
		}
		apply(t, x, index.Change{Memory: base()})
	}
	// Two changes of one transaction are returned as one.
	first, second := base(), base()
	first.Author, second.Author, second.UpdatedAt = "ada", "system", at.Add(time.Hour)
	a := apply(t, x, index.Change{Memory: first}, index.Change{Memory: second})
	if d := cmp.Diff(map[fold.ID]index.RowChange{id(1): {FilterChanged: true, ContentChanged: true, Was: at}}, a.Rows); d != "" {
		t.Errorf("two changes: -want +got %s", d)
	}

	list := chunks(id(1), "b", "a")
	for _, when := range []string{"new", "the same"} {
		a := apply(t, x, index.Change{ID: id(1), Chunks: []fold.Chunk{list[1], list[0], list[1]}, SetChunks: true})
		stored, err := x.ChunksOf(t.Context(), []fold.ID{id(1)})
		if err != nil || len(stored[id(1)]) != 2 {
			t.Fatalf("%d chunks, %v", len(stored[id(1)]), err)
		}
		if d := cmp.Diff(stored, a.Now); d != "" {
			t.Errorf("%s: -stored +returned %s", when, d)
		}
	}
	if a := apply(t, x, index.Change{ID: id(1), SetChunks: true}); len(a.Now) != 0 {
		t.Errorf("without chunks: %v", a.Now)
	}
}

// TestLinksOfADescription: those that are not compared, because the row says that
// they are the same, are the same.
func TestLinksOfADescription(t *testing.T) {
	x := openIndex(t, t.TempDir())
	put := func(how string, targets ...int) {
		t.Helper()
		r := &index.Row{Memory: fold.Memory{ID: id(1), Title: "A file", Source: fold.SourceFile}, Described: how}
		var want []fold.Link
		for _, n := range targets {
			want = append(want, fold.Link{From: id(1), To: id(n), Type: fold.LinkDependsOn, Weight: 1})
		}
		r.Links = want
		test := fold.Link{From: id(1), To: id(9), Type: fold.LinkRelated, Derived: true, Weight: .5}
		apply(t, x, index.Change{Memory: r, Links: r.Links, SetLinks: true}, index.Change{ID: id(1), Derived: []fold.Link{test}, SetDerived: true})
		out, _, err := x.LinksOf(t.Context(), []fold.ID{id(1)})
		if err != nil {
			t.Fatal(err)
		}
		have := map[fold.ID]bool{}
		for _, l := range out[id(1)] {
			have[l.To] = true
		}
		if len(have) != len(targets)+1 || !have[id(9)] {
			t.Errorf("%s: links to %v, want %v and the derived one", how, have, targets)
		}
		for _, n := range targets {
			if !have[id(n)] {
				t.Errorf("%s: no link to %d", how, n)
			}
		}
	}
	put("index", 2, 3)
	put("index", 2, 3)
	put("index", 3, 4)
	put("fold", 3, 4)
	put("index", 3, 4)
	put("index")
	apply(t, x, index.Change{Forget: id(1)})
	put("index", 2)
	// What is forgotten and put at once has its links anew.
	r := &index.Row{Memory: fold.Memory{ID: id(1), Title: "A file", Source: fold.SourceFile, Links: []fold.Link{{From: id(1), To: id(2), Type: fold.LinkDependsOn, Weight: 1}}}, Described: "index"}
	apply(t, x, index.Change{Forget: id(1)}, index.Change{Memory: r, Links: r.Links, SetLinks: true})
	if out, _, err := x.LinksOf(t.Context(), []fold.ID{id(1)}); err != nil || len(out[id(1)]) != 1 {
		t.Errorf("forgotten and put: %v, %v", out, err)
	}
}
