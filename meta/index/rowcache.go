package meta

import (
	"maps"
	"slices"
	"sync"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A memo keeps what was read of some memories, for questions that every search
// asks again. It holds values that were asked for lately, as many as room has place
// for, and as many of before: who asks for one of those keeps it. It is safe for
// concurrent use.
type memo[V any] struct {
	room int
	size func(V) int // what a value takes of room; nil means 1

	mu    sync.RWMutex // guards the fields below
	used  int          // of room, by held; what was dropped counts until held is older
	held  map[fold.ID]V
	older map[fold.ID]V
	drops uint64      // how often drop was called
	went  [][]fold.ID // what it was called with the last times
}

// wentMost is how many calls of drop a memo remembers: more than come while
// something is read.
const wentMost = 32

// take sets the values of all, which is as long as ids, that are held. It returns
// the places of the others, and what put wants to know.
func (m *memo[V]) take(ids []fold.ID, all []V) (missing []int, drops uint64) {
	var kept map[fold.ID]V
	m.mu.RLock()
	for i, id := range ids {
		v, ok := m.held[id]
		if !ok {
			if v, ok = m.older[id]; ok {
				if kept == nil {
					kept = map[fold.ID]V{}
				}
				kept[id] = v
			}
		}
		if all[i] = v; !ok {
			missing = append(missing, i)
		}
	}
	drops = m.drops
	m.mu.RUnlock()
	if kept != nil {
		m.put(kept, drops)
	}
	return missing, drops
}

// put holds what was read after take. What was dropped meanwhile may be old already,
// and is not held.
func (m *memo[V]) put(read map[fold.ID]V, drops uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	since := m.drops - drops
	if since > uint64(len(m.went)) {
		return
	}
	used, size := len(m.held), len(read)
	if m.size != nil {
		used, size = m.used, 0
		for _, v := range read {
			size += m.size(v)
		}
		if size > m.room {
			return // it would push out all that is asked for more often
		}
	}
	if m.held == nil || used+size > m.room {
		m.held, m.older, m.used = make(map[fold.ID]V, len(read)), m.held, 0
	}
	m.used += size
	maps.Copy(m.held, read)
	for _, ids := range m.went[len(m.went)-int(since):] {
		m.delete(ids)
	}
}

// drop lets go of what is held of memories that changed.
func (m *memo[V]) drop(ids []fold.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drops++
	if len(m.went) == wentMost {
		m.went = slices.Delete(m.went, 0, 1)
	}
	m.went = append(m.went, ids)
	m.delete(ids)
}

// delete is called with mu held.
func (m *memo[V]) delete(ids []fold.ID) {
	for _, id := range ids {
		delete(m.held, id)
		delete(m.older, id)
	}
}

// pick returns those of ids that stand at places.
func pick(ids []fold.ID, places []int) []fold.ID {
	out := make([]fold.ID, len(places))
	for n, i := range places {
		out[n] = ids[i]
	}
	return out
}
