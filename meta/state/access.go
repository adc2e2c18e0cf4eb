package state

import (
	"context"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// Access is how often, and when last, a memory was recalled.
type Access struct {
	Count int
	Last  time.Time
}

// accessCounters are the counters of one project, those of the few memories that
// were ever recalled. Every search asks for some hundred of them, so that they
// are read once and kept.
type accessCounters struct {
	writing sync.Mutex // held while one is changed, or all are read

	mu   sync.RWMutex // guards byID; not held across I/O
	byID map[fold.ID]Access
}

func (s *DB) accessOf(slug string) *accessCounters {
	if a, ok := s.access.Load(slug); ok {
		return a.(*accessCounters)
	}
	a, _ := s.access.LoadOrStore(slug, &accessCounters{})
	return a.(*accessCounters)
}

// Touch counts one recall of a memory.
func (s *DB) Touch(ctx context.Context, slug string, id fold.ID, now time.Time) error {
	a := s.accessOf(slug)
	a.writing.Lock()
	defer a.writing.Unlock()
	_, err := s.db.Exec(ctx, "touch "+string(id), `insert into access (slug, memory_id, count, last) values (?, ?, 1, ?)
		on conflict do update set count = count + 1, last = max(last, excluded.last)`, slug, string(id), sqlite.Micros(now))
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err != nil:
		a.byID = nil // it may have been done all the same
	case a.byID != nil:
		n, at := a.byID[id], sqlite.Time(sqlite.Micros(now))
		if n.Count++; at.After(n.Last) {
			n.Last = at
		}
		a.byID[id] = n
	}
	return err
}

// Access returns the counters of ids, in their order; those of a memory that was
// never recalled are zero.
func (s *DB) Access(ctx context.Context, slug string, ids []fold.ID) ([]Access, error) {
	all, a := make([]Access, len(ids)), s.accessOf(slug)
	if a.get(ids, all) {
		return all, nil
	}
	a.writing.Lock()
	defer a.writing.Unlock()
	if a.get(ids, all) { // read by another call meanwhile
		return all, nil
	}
	read := map[fold.ID]Access{}
	err := s.db.Each(ctx, "read access", func(scan func(...any) error) error {
		var id fold.ID
		var n Access
		var last int64
		err := scan(&id, &n.Count, &last)
		n.Last = sqlite.Time(last)
		read[id] = n
		return err
	}, `select memory_id, count, last from access where slug = ?`, slug)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.byID = read
	a.mu.Unlock()
	a.get(ids, all)
	return all, nil
}

// get sets the counters of ids in all; it returns false if they were not read yet.
func (a *accessCounters) get(ids []fold.ID, all []Access) bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for i, id := range ids {
		all[i] = a.byID[id]
	}
	return a.byID != nil
}

// forget has the counters read anew.
func (a *accessCounters) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.byID = nil
}
