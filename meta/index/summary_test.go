package index_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

// TestSummariesFollowTheIndex compares cards, and chunks by their ids, with what the
// database has, after every kind of change: what is held is never older.
func TestSummariesFollowTheIndex(t *testing.T) {
	x := openIndex(t, t.TempDir())
	ids := []fold.ID{id(1), id(2), id(9)}
	check := func(what string) {
		t.Helper()
		for range 2 { // the second time without the database
			rows, err := x.Memories(t.Context(), ids)
			if err != nil {
				t.Fatal(err)
			}
			want := map[fold.ID]*index.Summary{}
			for id, r := range rows {
				want[id] = &index.Summary{
					ID: r.ID, Path: r.Path, Title: r.Title, Type: r.Type, Source: r.Source, Author: r.Author, FilePath: r.FilePath,
					Language: r.Language, Body: r.Body, Tags: r.Tags, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Stale: r.Stale,
				}
			}
			got, err := x.Summaries(t.Context(), ids)
			if d := cmp.Diff(want, got); err != nil || d != "" {
				t.Errorf("Cards %s: %v, -want +got %s", what, err, d)
			}
			of, err := x.ChunksOf(t.Context(), ids)
			if err != nil {
				t.Fatal(err)
			}
			chunks, names := map[string]fold.Chunk{}, []string{"none"}
			for _, all := range of {
				for _, c := range all {
					chunks[c.ID], names = c, append(names, c.ID)
				}
			}
			some, err := x.ChunksByID(t.Context(), ids, names)
			if d := cmp.Diff(chunks, some); err != nil || d != "" {
				t.Errorf("ChunksByID %s: %v, -want +got %s", what, err, d)
			}
		}
	}
	check("of nothing")
	apply(t, x, index.Change{Memory: row(1), Chunks: chunks(id(1), "a", "b", "c"), SetChunks: true})
	check("of one")
	apply(t, x, index.Change{Memory: row(2)})
	changed := row(1)
	changed.Title, changed.Tags = "another", []string{"x"}
	apply(t, x, index.Change{Memory: changed, Chunks: chunks(id(1), "a", "d"), SetChunks: true})
	check("of two, one of them changed")
	if err := x.SetStale(t.Context(), map[fold.ID]bool{id(1): true, id(2): false}); err != nil {
		t.Fatal(err)
	}
	check("of one that is stale")
	apply(t, x, index.Change{ID: id(2), Chunks: chunks(id(2), "e"), SetChunks: true})
	check("with chunks")
	apply(t, x, index.Change{Forget: id(1)})
	check("after one is forgotten")
}
