package worker

import "sync"

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
	ended map[Mark]int
}

// givenUp reports whether a request has ended so many workers that it is not
// tried again.
func (m *marks) givenUp(mark Mark) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ended[mark] >= maxTries
}

// add counts a worker that a request has ended. Where too many are remembered,
// any other is forgotten.
func (m *marks) add(mark Mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for other := range m.ended {
		if len(m.ended) < maxMarked {
			break
		}
		delete(m.ended, other)
	}
	m.ended[mark]++
}

func (m *marks) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.ended)
}
