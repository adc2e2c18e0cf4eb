package storepool

import (
	"context"
	"errors"
	"slices"
	"time"
)

// A Use is what stores are borrowed for.
type Use int

// The uses.
const (
	Call Use = iota // somebody waits for an answer
	Look            // as Call, but no reason to keep stores open afterwards
	Task            // nobody waits: it stops when others need the place, and goes on later
)

// ErrStopped is returned by Acquire when stores are opened no more.
var ErrStopped = errors.New("stopped")

// A Source opens and closes the stores of a slot.
type Source[T any] struct {
	Open  func(context.Context) (T, error)
	Close func(T) error // nobody uses them any more
	Busy  func(T) bool  // they work by themselves, and are not closed only because nobody uses them
}

// A Slot has the stores of one owner, opened or not. It is safe for concurrent use.
type Slot[T any] struct {
	pool *Pool

	claim                 // of mu of the pool, as all fields below
	stores  T             // if open
	open    bool          // they are lent
	failed  error         // why they cannot be opened; nil if they can, or will
	changed chan struct{} // closed when open or failed change, and then another
	wanted  chan struct{} // closed when tasks are to give the stores back
}

// NewSlot returns a slot of p, whose stores can be opened once Run runs.
func NewSlot[T any](p *Pool) *Slot[T] {
	return &Slot[T]{pool: p, claim: claim{wake: make(chan struct{}, 1)}, changed: make(chan struct{})}
}

// A Lease keeps stores open until it is released.
type Lease[T any] struct {
	Stores T

	slot   *Slot[T]
	use    Use
	wanted chan struct{}
	over   bool // of mu of the pool
}

// Wanted is closed when a task is to stop and to release the lease.
func (l *Lease[T]) Wanted() <-chan struct{} { return l.wanted }

// Release ends the lease. The second call does nothing.
func (l *Lease[T]) Release() {
	s := l.slot
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	if l.over {
		return
	}
	l.over = true
	if l.use != Look {
		s.last = time.Now()
	}
	if l.use != Task {
		s.calls--
	} else if s.tasks--; s.tasks == 0 {
		s.task = false
	}
	poke(s.wake)
	if len(s.pool.waiting) > 0 {
		s.pool.serve()
	}
}

// Acquire borrows the stores, which are opened for it. It waits until they are, also
// while Run does not run yet, and returns the error of Fail, that of ctx, or ErrStopped.
// A caller that has a lease of another slot may wait for ever.
func (s *Slot[T]) Acquire(ctx context.Context, use Use) (*Lease[T], error) {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	if use != Task {
		s.asking++
		defer func() { s.asking-- }()
	} else {
		s.pending++
		defer func() { s.pending-- }()
	}
	for {
		switch {
		case s.open:
			return s.lend(use), nil
		case s.failed != nil:
			return nil, s.failed
		}
		s.ask()
		changed := s.changed
		s.pool.mu.Unlock()
		var err error
		select {
		case <-changed:
		case <-ctx.Done():
			err = ctx.Err()
		case <-s.pool.opt.Stopped:
			err = ErrStopped
		}
		s.pool.mu.Lock()
		if err != nil && !s.open {
			return nil, err
		}
	}
}

// ask tells that the stores are needed. pool.mu is held.
func (s *Slot[T]) ask() {
	poke(s.wake)
	if slices.Contains(s.pool.waiting, &s.claim) {
		s.pool.serve() // it may be urgent now
	}
}

// lend lends the open stores. pool.mu is held.
func (s *Slot[T]) lend(use Use) *Lease[T] {
	if use == Task {
		s.tasks++
	} else {
		s.calls++
	}
	if use != Look {
		s.last = time.Now()
	}
	return &Lease[T]{Stores: s.stores, slot: s, use: use, wanted: s.wanted}
}

// Look borrows the stores if they are open, and returns nil if they are not.
func (s *Slot[T]) Look() *Lease[T] {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	if !s.open {
		return nil
	}
	return s.lend(Look)
}

// IsOpen reports whether the stores are open now.
func (s *Slot[T]) IsOpen() bool {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	return s.open
}

// Hurry says that somebody waits for the task that waits for the stores.
func (s *Slot[T]) Hurry() {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	if !s.has && !s.hurry {
		s.hurry = true
		s.ask()
	}
}

// Fail has all who wait, and who come, fail with err; nil has them wait again.
func (s *Slot[T]) Fail(err error) {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	s.failed = err
	s.tell()
}

// tell wakes who waits. pool.mu is held.
func (s *Slot[T]) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Run opens the stores whenever they are needed, and closes them when nobody uses them
// or others need their place, until ctx ends or src fails; first of all it opens them
// as for a task. It returns after they are closed.
func (s *Slot[T]) Run(ctx context.Context, src Source[T]) error {
	for first := true; ; first = false {
		if err := s.take(ctx, first); err != nil {
			return err
		}
		stores, err := src.Open(ctx)
		if err == nil {
			s.keep(ctx, stores, src.Busy)
			err = src.Close(stores)
		}
		s.pool.leave(&s.claim)
		if err != nil {
			return err
		}
	}
}

// take waits until the stores are needed, and for a place.
func (s *Slot[T]) take(ctx context.Context, needed bool) error {
	p := s.pool
	for {
		p.mu.Lock()
		needed = needed || s.urgent() || s.pending > 0
		if needed && !s.has && !slices.Contains(p.waiting, &s.claim) {
			p.waiting = append(p.waiting, &s.claim)
			p.serve()
		}
		has := s.has
		// Whoever works in other stores may be told to leave only after a while, which
		// no event tells of.
		var again <-chan time.Time
		if needed && !has && s.urgent() {
			again = time.After(leastHeld / 8)
		}
		p.mu.Unlock()
		if has {
			return nil
		}
		select {
		case <-s.wake:
		case <-again:
			p.mu.Lock()
			p.serve()
			p.mu.Unlock()
		case <-ctx.Done():
			p.leave(&s.claim)
			return ctx.Err()
		}
	}
}

// keep lends the stores until nobody uses them, their place is needed, or ctx ends.
func (s *Slot[T]) keep(ctx context.Context, stores T, busy func(T) bool) {
	s.pool.mu.Lock()
	s.stores, s.wanted, s.last = stores, make(chan struct{}), time.Now()
	s.hurry, s.failed = false, nil
	s.setOpen(true)
	s.pool.mu.Unlock()
	idle := time.NewTimer(s.pool.opt.Rest)
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			s.withdraw(true)
			return
		case <-s.wake:
			s.pool.mu.Lock()
			told := s.told
			s.pool.mu.Unlock()
			if told && s.withdraw(false) {
				return
			}
		case <-idle.C:
			wait := s.restIn(busy(stores))
			if wait == 0 {
				return
			}
			idle.Reset(wait)
		}
	}
}

// setOpen lends the stores, or does so no more. pool.mu is held.
func (s *Slot[T]) setOpen(open bool) {
	s.open = open
	s.tell()
}

// restIn takes the stores back if nobody has used them for long enough, and returns 0;
// else it returns when to ask again.
func (s *Slot[T]) restIn(busy bool) time.Duration {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	rest := s.pool.opt.Rest
	if busy || !s.idle() {
		return rest
	}
	if wait := rest - time.Since(s.last); wait > 0 {
		return wait
	}
	s.setOpen(false)
	return 0
}

// withdraw takes the stores back from all who use them. It waits for calls within
// bounds: where they do not end it reports false and lends the stores again, unless
// they are to be closed in any case. Then it has tasks stop, and waits for them.
func (s *Slot[T]) withdraw(always bool) bool {
	p := s.pool
	p.mu.Lock()
	s.setOpen(false)
	p.mu.Unlock()
	late := time.NewTimer(drainMost)
	defer late.Stop()
	if !s.ended(func() int { return s.calls }, late.C) && !always {
		p.mu.Lock()
		defer p.mu.Unlock()
		s.told, s.since = false, time.Now()
		s.setOpen(true)
		p.serve() // another is told instead
		return false
	}
	close(s.wanted)
	s.ended(func() int { return s.tasks }, nil)
	return true
}

// ended waits until none is left, and reports false if late comes before.
func (s *Slot[T]) ended(left func() int, late <-chan time.Time) bool {
	for {
		s.pool.mu.Lock()
		n := left()
		s.pool.mu.Unlock()
		if n == 0 {
			return true
		}
		select {
		case <-s.wake:
		case <-late:
			return false
		}
	}
}
