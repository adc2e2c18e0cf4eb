package embedding

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/vecindex"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

// Vectors are an index of vectors with the embedder they are from. A checkout has
// one that answers; when the user chooses another model, a second one is built
// beside it and takes its place when it is complete.
type Vectors struct {
	Spec     string // of the choice it was made for
	Identity embed.Identity
	Embedder embed.Embedder
	Index    *vecindex.Index
	Dir      string
}

// A Set is the vectors of a checkout that is open. It is safe for concurrent use.
type Set struct {
	mu      sync.Mutex // guards the fields below
	answers *Vectors   // searches; nil once the set is closed
	beside  *Vectors   // is being built, nil if none is
	old     []*Vectors // answered before
}

// Serving returns the vectors that answer searches now; nil once the set is closed.
func (s *Set) Serving() *Vectors {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answers
}

// Building returns the vectors that are being made beside them, nil if none are.
func (s *Set) Building() *Vectors {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.beside
}

// Build notes that m is being made, or, with nil, that nothing is any more.
func (s *Set) Build(m *Vectors) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beside = m
}

// Serve has m answer from now on, and returns what did before. That stays open until the
// set is closed: searches that had begun may be at it.
func (s *Set) Serve(m *Vectors) (old *Vectors) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old = s.answers
	if old != nil && old.Index != m.Index {
		s.old = append(s.old, old)
	}
	s.answers, s.beside = m, nil
	return old
}

// Close closes all vectors.
func (s *Set) Close() error {
	s.mu.Lock()
	all := append(s.old, s.answers, s.beside)
	s.answers, s.beside, s.old = nil, nil, nil
	s.mu.Unlock()
	var errs []error
	for _, m := range all {
		if m != nil && m.Index != nil {
			errs = append(errs, m.Index.Close())
		}
	}
	return errors.Join(errs...)
}

// A Pause is how long a model that failed is left alone, and how to end what it is
// asked for now. It has neither clock nor lock.
type Pause struct {
	failures int                     // in a row
	Until    time.Time               // zero if there is no pause
	Asking   context.CancelCauseFunc // nil if nothing is asked for
}

// Failed begins a pause, longer with each failure, and returns how long it is.
func (p *Pause) Failed(now time.Time) time.Duration {
	p.failures++
	wait := min(firstLate<<min(p.failures-1, 20), mostLate)
	p.Until = now.Add(wait)
	return wait
}

func (p *Pause) End() { p.failures, p.Until = 0, time.Time{} }

const (
	firstLate = 5 * time.Second
	mostLate  = 15 * time.Minute
)
