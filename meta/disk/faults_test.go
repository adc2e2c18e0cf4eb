package disk_test

import (
	"sync"

	"github.com/foldwatch/foldwatch/meta/disk"
)

// A script is a Faults that acts at the n-th call of an op (from 1).
type script struct {
	mu    sync.Mutex
	calls map[disk.Op]int
	steps []disk.Op // all calls, in order
	acts  map[disk.Op]func(n int, path string, size int) (int, error)
}

func newScript() *script {
	return &script{calls: map[disk.Op]int{}, acts: map[disk.Op]func(int, string, int) (int, error){}}
}

func (s *script) Before(op disk.Op, path string, size int) (int, error) {
	s.mu.Lock()
	s.calls[op]++
	n := s.calls[op]
	s.steps = append(s.steps, op)
	act := s.acts[op]
	s.mu.Unlock()
	if act == nil {
		return size, nil
	}
	return act(n, path, size)
}

// fail makes the n-th call of op fail with err; n 0 means every call.
func (s *script) fail(op disk.Op, n int, err error) {
	s.acts[op] = func(i int, _ string, size int) (int, error) {
		if n == 0 || i == n {
			return 0, err
		}
		return size, nil
	}
}
