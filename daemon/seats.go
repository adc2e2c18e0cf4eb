package daemon

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// How many checkouts have their stores open at once, and for how long nobody
// asks one of them before it lets them rest (design.md 3).
const (
	mostOpen  = 16
	restAfter = 3 * time.Minute
)

// Of the seats, a quarter is kept from work that nobody waits for: so that a
// search is not held up by the sweeps at a start.
const keptFree = 4

// leastHeld is how long a checkout has its stores at least, before a search in
// another may take them from work under way: jobs go on where they were, but
// what was not stored of a part is done again.
const leastHeld = 2 * time.Second

// Seats bound how many checkouts have their stores open. Who needs one asks for
// it; where all are taken, the one that was asked least recently is told to
// leave. It is safe for concurrent use. Its lock may be taken with that of a
// checkout held, never the other way round.
type seats struct {
	most    int           // seats
	quiet   int           // of them, for work that nobody waits for
	held    time.Duration // leastHeld
	leaving func(*checkout)

	mu      sync.Mutex // guards the fields below
	taken   map[*checkout]*seat
	waiting []*turn // first come first
	peak    int     // most that were taken at once
	total   int64   // that were ever taken
}

// A seat is what is known of a checkout whose stores are open.
type seat struct {
	co    *checkout
	since time.Time // when it was taken
	quiet bool      // it was taken for work that nobody waits for, which is still under way
	told  bool      // to leave
	use
}

// A use says what stores are open for.
type use struct {
	holds int       // calls under way
	work  bool      // jobs are queued or run
	last  time.Time // when the last call or job ended
}

func (u use) idle() bool { return u.holds == 0 && !u.work }

// A turn is a checkout that waits for a seat.
type turn struct {
	co     *checkout
	urgent bool // somebody waits
	got    chan struct{}
	hurry  chan struct{} // closed when it becomes urgent
}

// newSeats returns most seats; zero means mostOpen. Leaving is called with the
// lock held for each checkout that is told to leave, and must not block.
func newSeats(most int, leaving func(*checkout)) *seats {
	if most <= 0 {
		most = mostOpen
	}
	return &seats{most: most, quiet: max(1, most-keptFree), held: leastHeld, leaving: leaving, taken: map[*checkout]*seat{}}
}

// take waits for a seat. An urgent turn goes before others, and may end work in
// another checkout that goes on later.
func (s *seats) take(ctx context.Context, co *checkout, urgent bool) error {
	s.mu.Lock()
	t := &turn{co: co, urgent: urgent, got: make(chan struct{}), hurry: make(chan struct{})}
	if urgent {
		close(t.hurry)
	}
	s.waiting = append(s.waiting, t)
	s.serve()
	s.mu.Unlock()
	// Whoever holds seats for work may be told to leave only after a while, which
	// no event tells of.
	var again <-chan time.Time
	hurry := t.hurry
	for {
		select {
		case <-t.got:
			return nil
		case <-hurry:
			hurry = nil
			tick := time.NewTicker(max(s.held/8, time.Millisecond))
			defer tick.Stop()
			again = tick.C
		case <-again:
			s.mu.Lock()
			s.serve()
			s.mu.Unlock()
		case <-ctx.Done():
			s.mu.Lock()
			s.waiting = slices.DeleteFunc(s.waiting, func(w *turn) bool { return w == t })
			s.mu.Unlock()
			select {
			case <-t.got: // at the same moment
				s.leave(co)
			default:
			}
			return ctx.Err()
		}
	}
}

// tryTake takes a seat for work that nobody waits for, if one is free and nobody
// was there first.
func (s *seats) tryTake(co *checkout) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) > 0 || len(s.taken) >= s.most || s.working() >= s.quiet {
		return false
	}
	s.sit(co, false)
	return true
}

// hurry makes the turn of co urgent, if it waits.
func (s *seats) hurry(co *checkout) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.waiting {
		if t.co == co && !t.urgent {
			t.urgent = true
			close(t.hurry)
			s.serve()
		}
	}
}

// used is told what the stores of co are open for now. The end of its work makes
// a seat an ordinary one, which the next to come may have.
func (s *seats) used(co *checkout, u use) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.taken[co]
	if t == nil {
		return
	}
	t.use = u
	if !u.work {
		t.quiet = false
	}
	if len(s.waiting) > 0 && u.holds == 0 {
		s.serve()
	}
}

// told reports whether co is to leave its seat.
func (s *seats) told(co *checkout) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.taken[co]
	return t != nil && t.told
}

// stay says that co cannot leave: it is needed again. Another is told instead.
func (s *seats) stay(co *checkout, u use) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.taken[co]; t != nil {
		t.told, t.use, t.since = false, u, time.Now()
		s.serve()
	}
}

// leave gives a seat back, after the stores were closed.
func (s *seats) leave(co *checkout) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.taken, co)
	s.serve()
}

// counted returns how many seats are taken, how many were at most at once, and
// how many ever.
func (s *seats) counted() (now, peak int, total int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.taken), s.peak, s.total
}

// serve gives free seats to who waits, and tells as many to leave as are still
// missed. s.mu is held.
func (s *seats) serve() {
	slices.SortStableFunc(s.waiting, func(a, b *turn) int { return btoi(b.urgent) - btoi(a.urgent) })
	quiet := s.working()
	s.waiting = slices.DeleteFunc(s.waiting, func(t *turn) bool {
		if len(s.taken) >= s.most || !t.urgent && quiet >= s.quiet {
			return false
		}
		if s.sit(t.co, t.urgent); !t.urgent {
			quiet++
		}
		close(t.got)
		return true
	})
	missed, urgent := 0, 0
	for _, t := range s.waiting {
		switch {
		case t.urgent:
			urgent++
			missed++
		case quiet < s.quiet:
			quiet++
			missed++
		}
	}
	for _, t := range s.taken {
		if t.told {
			missed--
			urgent--
		}
	}
	for _, t := range s.leavers() {
		if missed <= 0 || !t.idle() && urgent <= 0 {
			return
		}
		t.told = true
		missed--
		urgent--
		s.leaving(t.co)
	}
}

// leavers are those that may be told to leave, in the order in which they are:
// first those that nobody needs, the one that was used least recently before the
// others; then those that only work; at last those that are asked all the time,
// which leave when the calls under way have ended. s.mu is held.
func (s *seats) leavers() []*seat {
	var out []*seat
	now := time.Now()
	for _, t := range s.taken {
		if !t.told && (t.idle() || now.Sub(t.since) >= s.held) {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b *seat) int {
		return cmp.Or(btoi(a.holds > 0)-btoi(b.holds > 0), btoi(a.work)-btoi(b.work), a.last.Compare(b.last), a.since.Compare(b.since))
	})
	return out
}

// working counts the seats taken for work that nobody waits for. s.mu is held.
func (s *seats) working() (n int) {
	for _, t := range s.taken {
		n += btoi(t.quiet)
	}
	return n
}

// sit gives co a seat. s.mu is held.
func (s *seats) sit(co *checkout, urgent bool) {
	now := time.Now()
	s.taken[co] = &seat{co: co, since: now, quiet: !urgent, use: use{work: true, last: now}}
	s.peak = max(s.peak, len(s.taken))
	s.total++
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
