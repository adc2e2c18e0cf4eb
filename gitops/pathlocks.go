package gitops

import (
	"sync"
)

// pathLocks lets one writer at a time at each path.
type pathLocks struct {
	mu   sync.Mutex
	held map[string]*pathLock
}

type pathLock struct {
	mu   sync.Mutex
	uses int // guarded by pathLocks.mu
}

// lock takes the lock of path and returns what lets it go.
func (p *pathLocks) lock(path string) func() {
	p.mu.Lock()
	if p.held == nil {
		p.held = map[string]*pathLock{}
	}
	l := p.held[path]
	if l == nil {
		l = &pathLock{}
		p.held[path] = l
	}
	l.uses++
	p.mu.Unlock()
	l.mu.Lock()
	return func() {
		l.mu.Unlock()
		p.mu.Lock()
		defer p.mu.Unlock()
		if l.uses--; l.uses == 0 {
			delete(p.held, path)
		}
	}
}
