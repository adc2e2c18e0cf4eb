// Package lru holds the values that were used last, up to a bound.
package lru

import (
	"container/list"
	"iter"
)

// A Cache holds values by their keys. Once it exceeds a bound it forgets those
// that were not used for longest. The zero value has no bound. A Cache is not
// safe for concurrent use: whoever shares one has a mutex for more than it.
type Cache[K comparable, V any] struct {
	MaxLen  int         // how many values it holds; 0 is no bound
	MaxCost int         // what its values cost together; 0 is no bound
	Cost    func(V) int // asked once for each Put; nil where there is no MaxCost

	entries map[K]*list.Element
	recent  list.List // of *entry, the last used in front
	cost    int       // of all entries
}

type entry[K comparable, V any] struct {
	key   K
	value V
	cost  int
}

// Get returns the value of key, which counts as a use of it.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	e := c.entries[key]
	if e == nil {
		return value, false
	}
	c.recent.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// Put holds value under key, in place of the one that was there, and returns
// the values that had to go for it. A value that costs more than all may is
// itself among those, and the others stay.
func (c *Cache[K, V]) Put(key K, value V) (evicted []V) {
	c.Remove(key)
	cost := 0
	if c.Cost != nil {
		cost = c.Cost(value)
	}
	if c.MaxCost > 0 && cost > c.MaxCost {
		return []V{value}
	}
	if c.entries == nil {
		c.entries = make(map[K]*list.Element)
	}
	c.entries[key] = c.recent.PushFront(&entry[K, V]{key, value, cost})
	c.cost += cost
	for c.MaxLen > 0 && len(c.entries) > c.MaxLen || c.MaxCost > 0 && c.cost > c.MaxCost {
		oldest := c.recent.Back().Value.(*entry[K, V])
		c.Remove(oldest.key)
		evicted = append(evicted, oldest.value)
	}
	return evicted
}

// Remove forgets the value of key and returns it.
func (c *Cache[K, V]) Remove(key K) (value V, ok bool) {
	e := c.entries[key]
	if e == nil {
		return value, false
	}
	removed := c.recent.Remove(e).(*entry[K, V])
	delete(c.entries, key)
	c.cost -= removed.cost
	return removed.value, true
}

// Len returns how many values are held.
func (c *Cache[K, V]) Len() int { return len(c.entries) }

// All yields what is held, the last used first.
func (c *Cache[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for e := c.recent.Front(); e != nil; e = e.Next() {
			if held := e.Value.(*entry[K, V]); !yield(held.key, held.value) {
				return
			}
		}
	}
}
