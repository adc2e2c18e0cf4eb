package recall

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
)

func ranking(checkouts, n int) (ranked []rank.Ranked) {
	for i := range n {
		id := fold.ID(fmt.Sprintf("%016x", 1<<63+uint64(i)))
		if checkouts > 1 {
			id = projectID(i%checkouts, id)
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

// sumOf is the digest of some search.
func sumOf(i int) (of [sha256.Size]byte) {
	binary.BigEndian.PutUint64(of[:], uint64(i))
	return of
}

func TestKeptOrder(t *testing.T) {
	t.Parallel()
	for _, checkouts := range []int{1, 3} {
		var k ResultOrders
		at := time.UnixMilli(1000)
		was := ranking(checkouts, 9)
		of := sumOf(7)
		c, held := k.begin(wire.SearchCursor{At: at, Of: 7}, of, was)
		if other, _ := k.begin(wire.SearchCursor{At: at, Of: 7}, of, ranking(checkouts, 2)); other == c || !held {
			t.Errorf("two searches have one cursor; the first is kept: %v", held)
		}
		now := slices.Clone(was[2:]) // the first two were pushed out of the candidates
		slices.Reverse(now)
		for i := range now {
			now[i].Chunks = []rank.RankedChunk{{Relevance: 1}}
		}
		got, known := k.apply(orderKeyOf(c.Plus(4), of), now, checkouts)
		if !known || !slices.Equal(idsOf(got), idsOf(was)) {
			t.Errorf("%d checkouts: %v, %q, want %q", checkouts, known, idsOf(got), idsOf(was))
		}
		if got[1].Score != 0.5 || got[1].Relevance != 0.5 || got[1].Strength != 0.25 || len(got[1].Chunks) != 0 || len(got[2].Chunks) != 1 {
			t.Errorf("%d checkouts: the second is %+v, the third %+v", checkouts, got[1], got[2])
		}
		k.replace(orderKeyOf(c, of), without(was, []fold.ID{was[3].ID}))
		if got, _ := k.apply(orderKeyOf(c, of), now, checkouts); len(got) != 8 || got[3].ID != was[4].ID {
			t.Errorf("%d checkouts: without the fourth: %q", checkouts, idsOf(got))
		}
		if got, known := k.apply(orderKeyOf(c, sumOf(8)), now, checkouts); known || !slices.Equal(idsOf(got), idsOf(now)) {
			t.Errorf("%d checkouts: a search that nobody began, with the cursor of another, is known: %q", checkouts, idsOf(got))
		}
		if got, _ := k.apply(orderKeyOf(c, of), nil, checkouts-1); checkouts > 1 && slices.ContainsFunc(got, func(r rank.Ranked) bool { d, _ := splitProjectID(r.ID); return d >= checkouts-1 }) {
			t.Errorf("places behind a checkout that is not there: %q", idsOf(got))
		}
	}
}

// TestKeptIsBounded begins many searches, and goes on with the first all the time.
func TestKeptIsBounded(t *testing.T) {
	t.Parallel()
	var k ResultOrders
	ranked := ranking(1, 1000)
	first, _ := k.begin(wire.SearchCursor{At: time.UnixMilli(1)}, sumOf(1), ranked)
	second, _ := k.begin(wire.SearchCursor{At: time.UnixMilli(1)}, sumOf(2), ranked)
	for i := range 3 * maxPlaces / len(ranked) {
		k.begin(wire.SearchCursor{At: time.UnixMilli(2)}, sumOf(i), ranked)
		if _, known := k.apply(orderKeyOf(first, sumOf(1)), nil, 1); !known {
			t.Fatalf("after %d searches what was asked for a moment ago is forgotten", i)
		}
	}
	if _, known := k.apply(orderKeyOf(second, sumOf(2)), nil, 1); known || k.orders.Len() != maxPlaces/len(ranked) {
		t.Errorf("%d searches of %d places each are kept, the second known: %v", k.orders.Len(), len(ranked), known)
	}
}

// TestInventedCursorsLeaveLittle goes on with searches at times that nobody began one.
func TestInventedCursorsLeaveLittle(t *testing.T) {
	t.Parallel()
	var k ResultOrders
	for i := range 3 * maxOrders {
		for n := range 2 {
			if k.replace(orderKey{at: int64(i), of: sumOf(n)}, ranking(1, n)) {
				t.Fatalf("an order of %d places is kept", n)
			}
		}
		k.replace(orderKey{at: int64(i), of: sumOf(2)}, ranking(1, 2))
	}
	if k.orders.Len() != maxOrders {
		t.Errorf("%d orders are kept, want %d", k.orders.Len(), maxOrders)
	}
}
