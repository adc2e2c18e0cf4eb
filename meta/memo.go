package meta

import (
	"maps"
	"sync"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A memo keeps what was read of some memories, for questions that every search
// asks again. It holds at most room values; one more, and it begins anew. It is
// safe for concurrent use.
type memo[V any] struct {
	room int

	mu    sync.RWMutex // guards the fields below
	held  map[fold.ID]V
	drops uint64 // how often drop was called
}

// take puts what is held of ids into all and returns the others, and what put
// wants to know.
func (m *memo[V]) take(ids []fold.ID, all map[fold.ID]V) (missing []fold.ID, drops uint64) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, id := range ids {
		if v, ok := m.held[id]; ok {
			all[id] = v
		} else {
			missing = append(missing, id)
		}
	}
	return missing, m.drops
}

// put holds what was read after take. Where something was dropped meanwhile it
// may be old already, and is not held.
func (m *memo[V]) put(read map[fold.ID]V, drops uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.drops != drops {
		return
	}
	if m.held == nil || len(m.held)+len(read) > m.room {
		m.held = make(map[fold.ID]V, len(read))
	}
	maps.Copy(m.held, read)
}

// drop lets go of what is held of memories that changed.
func (m *memo[V]) drop(ids []fold.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drops++
	for _, id := range ids {
		delete(m.held, id)
	}
}
