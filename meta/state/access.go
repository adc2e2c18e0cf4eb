package meta

import (
	"context"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// Access is how often, and when last, a memory was recalled.
type Access struct {
	Count int
	Last  time.Time
}

// Accesses are the counters of one project: those of memories that were ever
// recalled, which are few. Every search asks for some hundred of them, so that they
// are read once.
type accesses struct {
	writing sync.Mutex // one change, or the first reading, at a time

	mu   sync.RWMutex // guards held; not held across I/O
	held map[fold.ID]Access
}

func (s *State) accessOf(slug string) *accesses {
	if a, ok := s.access.Load(slug); ok {
		return a.(*accesses)
	}
	a, _ := s.access.LoadOrStore(slug, &accesses{})
	return a.(*accesses)
}

// Touch counts one recall of a memory.
func (s *State) Touch(ctx context.Context, slug string, id fold.ID, now time.Time) error {
	a := s.accessOf(slug)
	a.writing.Lock()
	defer a.writing.Unlock()
	_, err := s.db.exec(ctx, "touch "+string(id), `insert into access (slug, memory_id, count, last) values (?, ?, 1, ?)
		on conflict do update set count = count + 1, last = max(last, excluded.last)`, slug, string(id), micros(now))
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err != nil:
		a.held = nil // it may have been done all the same
	case a.held != nil:
		n, at := a.held[id], fromMicros(micros(now))
		if n.Count++; at.After(n.Last) {
			n.Last = at
		}
		a.held[id] = n
	}
	return err
}

// Access returns the counters of ids, in their order; those of a memory that was
// never recalled are zero.
func (s *State) Access(ctx context.Context, slug string, ids []fold.ID) ([]Access, error) {
	all, a := make([]Access, len(ids)), s.accessOf(slug)
	if a.take(ids, all) {
		return all, nil
	}
	a.writing.Lock()
	defer a.writing.Unlock()
	if a.take(ids, all) { // read by another meanwhile
		return all, nil
	}
	read := map[fold.ID]Access{}
	err := s.db.each(ctx, "read access", func(scan func(...any) error) error {
		var id fold.ID
		var n Access
		var last int64
		err := scan(&id, &n.Count, &last)
		n.Last = fromMicros(last)
		read[id] = n
		return err
	}, `select memory_id, count, last from access where slug = ?`, slug)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.held = read
	a.mu.Unlock()
	a.take(ids, all)
	return all, nil
}

// take sets the counters of ids in all; false if they were not read yet.
func (a *accesses) take(ids []fold.ID, all []Access) bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for i, id := range ids {
		all[i] = a.held[id]
	}
	return a.held != nil
}

// forget has the counters read anew.
func (a *accesses) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held = nil
}
