package index_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

func TestChunksThatTouchHaveConsecutiveNumbers(t *testing.T) {
	x := openIndex(t, t.TempDir())
	c := chunks(id(1), "a", "b", "c", "d", "e")
	apply(t, x, index.Change{Memory: row(1), Chunks: c, SetChunks: true})
	plain := chunks(id(2), "a", "b")
	plain[0].ID, plain[1].ID = "one", "two" // as none of ours is
	apply(t, x, index.Change{Memory: row(2), Chunks: plain, SetChunks: true})
	ask := map[fold.ID][]string{id(1): {c[3].ID, c[0].ID, c[1].ID, "0000000000000099"}, id(2): {"two", "one"}, id(9): {"x"}}
	for range 2 { // the second time without the database
		got, err := x.Places(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 5 || got[c[1].ID] != got[c[0].ID]+1 || got[c[3].ID] <= got[c[1].ID]+1 || got["two"] != got["one"]+1 {
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

func TestPulsesFollowTheIndex(t *testing.T) {
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
	pulse := index.Stats{Type: one.Type, Language: one.Language, Updated: one.UpdatedAt.UTC().Truncate(time.Microsecond), Pinned: one.Pinned, Known: true}
	check("of one", pulse, index.Stats{})
	changed := row(1)
	changed.Pinned, changed.Type = !one.Pinned, "fact"
	apply(t, x, index.Change{Memory: changed})
	pulse.Pinned, pulse.Type = changed.Pinned, "fact"
	check("after a change", pulse, index.Stats{})
	apply(t, x, index.Change{Forget: id(1)})
	check("after it is forgotten", index.Stats{}, index.Stats{})
}
