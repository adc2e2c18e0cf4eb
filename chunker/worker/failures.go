package worker

import (
	"sync"

	"github.com/foldwatch/foldwatch/meta/lru"
)

// A Key tells requests apart that may end a worker, and is the same for equal
// ones: a hash of what is worked on.
type Key [32]byte

const (
	maxTries      = 2      // at one request that ends its worker
	maxRemembered = 10_000 // requests remembered as such
)

// failures counts how many workers a request has ended.
type failures struct {
	mu    sync.Mutex // guards ended
	ended lru.Cache[Key, int]
}

// tooMany reports whether a request has ended so many workers that it is not
// tried again.
func (m *failures) tooMany(mark Key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, _ := m.ended.Get(mark)
	return n >= maxTries
}

// add counts a worker that a request has ended.
func (m *failures) add(mark Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, _ := m.ended.Get(mark)
	m.ended.Put(mark, n+1)
}

func (m *failures) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = lru.Cache[Key, int]{MaxLen: maxRemembered}
}
