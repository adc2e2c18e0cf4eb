package recall

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/lru"
)

// maxPlaces is how many places Kept remembers, of all searches: 5 MB of them, as
// many as 800 searches of a large project have.
const maxPlaces = 200_000

// maxOrders is how many searches Kept remembers: 4 MB of them besides their places,
// where each has but two.
const maxOrders = 10_000

// Kept remembers in which order searches ranked what they found when their first
// page was shown. The next pages follow that order: what is written meanwhile
// changes how rare a word is, and with it the score of everything. Searches that
// nobody asked about for longest are forgotten first. Nil remembers nothing. Safe
// for concurrent use.
type Kept struct {
	mu     sync.Mutex // guards orders
	orders lru.Cache[orderKey, []place]
}

// A keptKey tells one search, begun at one time, from others. A cursor alone does
// not: who asks may choose a search that has the sum of another.
type orderKey struct {
	at int64 // milliseconds
	of [sha256.Size]byte
}

func orderKeyOf(c wire.SearchCursor, of [sha256.Size]byte) orderKey {
	return orderKey{c.At.UnixMilli(), of}
}

// A place is what is kept of one result: enough to show it when it is no candidate
// any more, since others have more of what is asked for by now.
type place struct {
	id                         uint64
	door                       uint16
	score, relevance, strength float32
}

func placeOf(r *rank.Ranked) (place, bool) {
	door, bare := splitProjectID(r.ID)
	id, err := strconv.ParseUint(string(bare), 16, 64)
	return place{id, uint16(door), float32(r.Score), float32(r.Relevance), float32(r.Strength)}, err == nil
}

// ranked is the result without what made it one. One of many doors tells by its id
// which has it.
func (p place) ranked(several bool) rank.Ranked {
	id := fold.ID(fmt.Sprintf("%016x", p.id))
	if several {
		id = projectID(int(p.door), id)
	}
	return rank.Ranked{ID: id, Score: float64(p.score), Relevance: float64(p.relevance), Strength: float64(p.strength)}
}

// apply returns what the search of key found at so many doors in the order of its
// first page, and whether that is still known; if not, it is ranked.
func (k *Kept) apply(key orderKey, ranked []rank.Ranked, doors int) ([]rank.Ranked, bool) {
	if k == nil {
		return ranked, false
	}
	k.mu.Lock()
	places, ok := k.orders.Get(key) // never changed, only replaced
	k.mu.Unlock()
	if !ok {
		return ranked, false
	}
	by := make(map[fold.ID]*rank.Ranked, len(ranked))
	for i := range ranked {
		by[ranked[i].ID] = &ranked[i]
	}
	out := make([]rank.Ranked, 0, len(places))
	for _, p := range places {
		if int(p.door) >= doors {
			continue
		}
		r := p.ranked(doors > 1)
		if now := by[r.ID]; now != nil {
			r = *now
		}
		out = append(out, r)
	}
	return out, true
}

// begin keeps the order of a search whose first page is about to be shown, if there
// is one. It returns c with a time that no other such search has, and whether it is
// kept.
func (k *Kept) begin(c wire.SearchCursor, of [sha256.Size]byte, ranked []rank.Ranked) (wire.SearchCursor, bool) {
	if k == nil {
		return c, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for {
		if _, taken := k.orders.Get(orderKeyOf(c, of)); !taken {
			return c, k.put(orderKeyOf(c, of), ranked)
		}
		c.At = c.At.Add(time.Millisecond)
	}
}

// replace keeps the order of a search that was begun, as it is now, if there is one
// still, and returns whether it does.
func (k *Kept) replace(key orderKey, ranked []rank.Ranked) bool {
	if k == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.orders.Remove(key)
	return k.put(key, ranked)
}

// put is called with mu held. What has less than two places has no order: whoever
// invents times of searches that find nothing leaves nothing here.
func (k *Kept) put(key orderKey, ranked []rank.Ranked) bool {
	if len(ranked) < 2 {
		return false
	}
	places := make([]place, 0, len(ranked))
	for i := range ranked {
		if p, ok := placeOf(&ranked[i]); ok {
			places = append(places, p)
		}
	}
	if k.orders.Cost == nil {
		k.orders = lru.Cache[orderKey, []place]{MaxLen: maxOrders, MaxCost: maxPlaces, Cost: func(places []place) int { return len(places) }}
	}
	k.orders.Put(key, places)
	_, kept := k.orders.Get(key)
	return kept
}
