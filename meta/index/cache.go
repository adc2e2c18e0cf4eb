package index

import (
	"slices"
	"sync"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/lru"
)

// A rowCache holds what was read of some memories, for questions that every search
// asks again. A value is read outside of it: get says what is missing, and put
// takes what was read since, unless drop came between. Safe for concurrent use.
type rowCache[V any] struct {
	mu      sync.Mutex // guards the fields below
	rows    lru.Cache[fold.ID, V]
	drops   uint64      // how often drop was called
	dropped [][]fold.ID // what it was called with the last times
}

// maxDropped is how many calls of drop a rowCache remembers: more than come while
// something is read.
const maxDropped = 32

// get sets the values of all, which is as long as ids, that are held. It returns
// the places of the others, and the number that put asks for.
func (c *rowCache[V]) get(ids []fold.ID, all []V) (missing []int, drops uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, id := range ids {
		v, ok := c.rows.Get(id)
		if all[i] = v; !ok {
			missing = append(missing, i)
		}
	}
	return missing, c.drops
}

// put holds what was read after get. What was dropped meanwhile may be old
// already, and is not held.
func (c *rowCache[V]) put(read map[fold.ID]V, drops uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	since := c.drops - drops
	if since > uint64(len(c.dropped)) {
		return
	}
	for id, v := range read {
		c.rows.Put(id, v)
	}
	for _, ids := range c.dropped[len(c.dropped)-int(since):] {
		c.remove(ids)
	}
}

// drop forgets what is held of memories that changed.
func (c *rowCache[V]) drop(ids []fold.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drops++
	if len(c.dropped) == maxDropped {
		c.dropped = slices.Delete(c.dropped, 0, 1)
	}
	c.dropped = append(c.dropped, ids)
	c.remove(ids)
}

// remove is called with mu held.
func (c *rowCache[V]) remove(ids []fold.ID) {
	for _, id := range ids {
		c.rows.Remove(id)
	}
}

// idsAt returns those of ids that stand at places.
func idsAt(ids []fold.ID, places []int) []fold.ID {
	out := make([]fold.ID, len(places))
	for n, i := range places {
		out[n] = ids[i]
	}
	return out
}
