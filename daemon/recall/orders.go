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

// maxPlaces is how many places Kept stores, of all searches: 5 MB of them, as
// many as 800 searches of a large project have.
const maxPlaces = 200_000

// maxOrders is how many searches Kept stores: 4 MB of keys and headers.
const maxOrders = 10_000

// ResultOrders stores the order of the results of recent searches as it was on their first
// page. Later pages follow that order, since each write changes how rare a word is and
// with it all scores. The least recently used searches are forgotten first. Nil stores
// nothing. Safe for concurrent use.
type ResultOrders struct {
	mu     sync.Mutex // guards orders
	orders lru.Cache[orderKey, []place]
}

// An orderKey identifies a search that began at a time. The checksum in a cursor would
// not do: a client can find a request with the checksum of another.
type orderKey struct {
	at int64 // milliseconds
	of [sha256.Size]byte
}

func orderKeyOf(c wire.SearchCursor, of [sha256.Size]byte) orderKey {
	return orderKey{c.At.UnixMilli(), of}
}

// A place is what is stored of one result: enough to show it when newer memories have
// pushed it out of the candidates.
type place struct {
	id                         uint64
	checkout                   uint16
	score, relevance, strength float32
}

func placeOf(r *rank.Ranked) (place, bool) {
	checkout, bare := splitProjectID(r.ID)
	id, err := strconv.ParseUint(string(bare), 16, 64)
	return place{id, uint16(checkout), float32(r.Score), float32(r.Relevance), float32(r.Strength)}, err == nil
}

// ranked returns the result without its evidence. If the search asks several checkouts,
// its id names the checkout.
func (p place) ranked(several bool) rank.Ranked {
	id := fold.ID(fmt.Sprintf("%016x", p.id))
	if several {
		id = projectID(int(p.checkout), id)
	}
	return rank.Ranked{ID: id, Score: float64(p.score), Relevance: float64(p.relevance), Strength: float64(p.strength)}
}

// apply returns ranked, the results of a search of so many checkouts, in the order that
// is stored under key, and whether there is one.
func (k *ResultOrders) apply(key orderKey, ranked []rank.Ranked, checkouts int) ([]rank.Ranked, bool) {
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
		if int(p.checkout) >= checkouts {
			continue
		}
		r := p.ranked(checkouts > 1)
		if now := by[r.ID]; now != nil {
			r = *now
		}
		out = append(out, r)
	}
	return out, true
}

// begin stores the order of a search whose first page is about to be shown. It returns c
// with a time that makes its key unique, and whether the order was stored.
func (k *ResultOrders) begin(c wire.SearchCursor, of [sha256.Size]byte, ranked []rank.Ranked) (wire.SearchCursor, bool) {
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

// replace stores a new order for a search that began before, and reports whether it did.
func (k *ResultOrders) replace(key orderKey, ranked []rank.Ranked) bool {
	if k == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.orders.Remove(key)
	return k.put(key, ranked)
}

// put is called with mu held. Less than two places have no order, so that clients who
// invent cursors of searches that find nothing fill no memory.
func (k *ResultOrders) put(key orderKey, ranked []rank.Ranked) bool {
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
	_, stored := k.orders.Get(key)
	return stored
}
