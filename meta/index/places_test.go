package index_test

import (
	"testing"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

func TestChunksThatTouchHaveConsecutiveNumbers(t *testing.T) {
	x := openIndex(t, t.TempDir())
	c := chunks(id(1), "a", "b", "c", "d", "e")
	apply(t, x, index.Change{Memory: row(1), Chunks: c, SetChunks: true})
	other := chunks(id(2), "a", "b")
	apply(t, x, index.Change{Memory: row(2), Chunks: other, SetChunks: true})
	ask := map[fold.ID][]string{id(1): {c[3].ID, c[0].ID, c[1].ID, "0000000000000099"}, id(2): {other[1].ID, other[0].ID}, id(9): {"x"}}
	for range 2 { // the second time without the database
		got, err := x.Places(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 5 || got[c[1].ID] != got[c[0].ID]+1 || got[c[3].ID] <= got[c[1].ID]+1 || got[other[1].ID] != got[other[0].ID]+1 {
			t.Errorf("Places = %v", got)
		}
	}
	moved := []fold.Chunk{c[0], c[3]}
	moved[1].StartByte, moved[1].EndByte = c[0].EndByte, c[0].EndByte+10
	apply(t, x, index.Change{Memory: row(1), Chunks: moved, SetChunks: true})
	got, err := x.Places(t.Context(), ask)
	if err != nil || len(got) != 4 || got[c[3].ID] != got[c[0].ID]+1 {
		t.Errorf("Places after a change = %v, %v", got, err)
	}
	apply(t, x, index.Change{Forget: id(1)})
	if got, err := x.Places(t.Context(), ask); err != nil || len(got) != 2 {
		t.Errorf("Places of what is forgotten = %v, %v", got, err)
	}
}
