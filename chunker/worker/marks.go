package worker

import (
	"sync"

	"github.com/foldwatch/foldwatch/meta/lru"
)

// A Mark tells requests apart that may end a worker, and is the same for equal
// ones: a hash of what is worked on.
type Mark [32]byte

const (
	maxTries  = 2      // at one request that ends its worker
	maxMarked = 10_000 // requests remembered as such
)

// marks counts how many workers a request has ended.
type marks struct {
	mu    sync.Mutex // guards ended
	ended lru.Cache[Mark, int]
}

// givenUp reports whether a request has ended so many workers that it is not
// tried again.
func (m *marks) givenUp(mark Mark) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, _ := m.ended.Get(mark)
	return n >= maxTries
}

// add counts a worker that a request has ended.
func (m *marks) add(mark Mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, _ := m.ended.Get(mark)
	m.ended.Put(mark, n+1)
}

func (m *marks) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = lru.Cache[Mark, int]{MaxLen: maxMarked}
}
