package recall

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
)

func ranking(doors, n int) (ranked []rank.Ranked) {
	for i := range n {
		id := fold.ID(fmt.Sprintf("%016x", 1<<63+uint64(i)))
		if doors > 1 {
			id = tag(i%doors, id)
		}
		ranked = append(ranked, rank.Ranked{ID: id, Score: 1 / float64(i+1), Relevance: 0.5, Strength: 0.25})
	}
	return ranked
}

func idsOf(ranked []rank.Ranked) (ids []fold.ID) {
	for _, r := range ranked {
		ids = append(ids, r.ID)
	}
	return ids
}

func TestKeptOrder(t *testing.T) {
	t.Parallel()
	for _, doors := range []int{1, 3} {
		var k Kept
		at := time.UnixMilli(1000)
		was := ranking(doors, 9)
		c := k.begin(wire.SearchCursor{At: at, Of: 7}, was)
		if other := k.begin(wire.SearchCursor{At: at, Of: 7}, ranking(doors, 2)); other == c {
			t.Error("two searches have one cursor")
		}
		now := slices.Clone(was[2:]) // the first two were pushed out of the candidates
		slices.Reverse(now)
		for i := range now {
			now[i].Chunks = []rank.RankedChunk{{Relevance: 1}}
		}
		got, known := k.order(c.Plus(4), now, doors > 1)
		if !known || !slices.Equal(idsOf(got), idsOf(was)) {
			t.Errorf("%d doors: %v, %q, want %q", doors, known, idsOf(got), idsOf(was))
		}
		if got[1].Score != 0.5 || got[1].Relevance != 0.5 || got[1].Strength != 0.25 || len(got[1].Chunks) != 0 || len(got[2].Chunks) != 1 {
			t.Errorf("%d doors: the second is %+v, the third %+v", doors, got[1], got[2])
		}
		k.replace(c, without(was, []fold.ID{was[3].ID}))
		if got, _ := k.order(c, now, doors > 1); len(got) != 8 || got[3].ID != was[4].ID {
			t.Errorf("%d doors: without the fourth: %q", doors, idsOf(got))
		}
		if got, known := k.order(wire.SearchCursor{At: at, Of: 8}, now, doors > 1); known || !slices.Equal(idsOf(got), idsOf(now)) {
			t.Errorf("%d doors: a search that nobody began is known: %q", doors, idsOf(got))
		}
	}
}

// TestKeptIsBounded begins many searches, and goes on with the first all the time.
func TestKeptIsBounded(t *testing.T) {
	t.Parallel()
	var k Kept
	ranked := ranking(1, 1000)
	first := k.begin(wire.SearchCursor{At: time.UnixMilli(1), Of: 1}, ranked)
	second := k.begin(wire.SearchCursor{At: time.UnixMilli(1), Of: 2}, ranked)
	for i := range 3 * mostKept / len(ranked) {
		k.begin(wire.SearchCursor{At: time.UnixMilli(2), Of: uint32(i)}, ranked)
		if _, known := k.order(first, nil, false); !known {
			t.Fatalf("after %d searches what was asked for a moment ago is forgotten", i)
		}
	}
	if _, known := k.order(second, nil, false); known || k.places > mostKept || len(k.by) != k.recent.Len() || len(k.by)*len(ranked) != k.places {
		t.Errorf("%d places of %d searches (%d), the second known: %v", k.places, len(k.by), k.recent.Len(), known)
	}
}
