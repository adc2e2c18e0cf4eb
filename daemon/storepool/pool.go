// Package storepool opens stores when they are asked for, lends them, and closes what
// nobody has used for a while. It bounds how many are open at once: where all places
// are taken, the stores that were used least recently give theirs up.
package storepool

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Options say how many stores a pool opens, and for how long.
type Options struct {
	Most int // open at once; zero means 16: many systems allow 256 files, and one takes some 20

	// Rest is how long nobody uses stores before they are closed. Zero means 3 minutes.
	Rest time.Duration
	// Stopped, once it is closed, keeps stores from being opened; what is open is
	// still lent. Nil never stops.
	Stopped <-chan struct{}
}

const (
	openMost  = 16
	restAfter = 3 * time.Minute

	// forCalls of the places are kept from tasks, so that a search is not held up by
	// the sweeps at a start.
	forCalls = 4
	// leastHeld is how long stores are open at least, before a call to others may take
	// their place from work under way: tasks go on later where they were, but what was
	// not stored of a part is done again.
	leastHeld = 2 * time.Second
	// drainMost is how long stores that must be closed wait for calls under way.
	drainMost = 2 * time.Second
)

// A Pool bounds how many slots have their stores open. It is safe for concurrent use.
type Pool struct {
	opt   Options
	tasks int // places that tasks may take

	mu      sync.Mutex // guards the fields below, and those of all slots
	taken   []*claim   // of stores that are open, or just being opened or closed
	waiting []*claim   // first come first
	peak    int        // most that were taken at once
	total   int64      // that were ever taken
}

// New returns a pool without slots.
func New(opt Options) *Pool {
	opt.Most = cmp.Or(max(opt.Most, 0), openMost)
	opt.Rest = cmp.Or(max(opt.Rest, 0), restAfter)
	return &Pool{opt: opt, tasks: max(1, opt.Most-forCalls)}
}

// Open returns how many stores are open, how many were at most at once, and how often
// stores were opened.
func (p *Pool) Open() (now, most int, ever int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.taken), p.peak, p.total
}

// A claim is what the pool knows of one slot. Pool.mu guards it.
type claim struct {
	wake chan struct{} // pokes the slot: something of this has changed

	asking  int       // calls that wait for the stores
	calls   int       // that have them
	tasks   int       // that have them
	pending int       // tasks that wait for the stores
	hurry   bool      // somebody waits for what a task does
	last    time.Time // when the last call or task ended

	has   bool      // a place
	since time.Time // when it was taken
	task  bool      // it was taken for a task, which still runs
	told  bool      // to leave it
}

// needed reports whether calls are under way, or wait.
func (c *claim) needed() bool { return c.asking+c.calls > 0 }

func (c *claim) idle() bool { return !c.needed() && c.tasks == 0 }

// urgent reports whether somebody waits for the stores to be opened.
func (c *claim) urgent() bool { return c.asking > 0 || c.hurry }

// serve gives free places to who waits, those first for whom somebody waits, and tells
// as many to leave as are still missed. p.mu is held.
func (p *Pool) serve() {
	slices.SortStableFunc(p.waiting, func(a, b *claim) int { return order(b.urgent(), a.urgent()) })
	tasks := 0
	for _, c := range p.taken {
		if c.task {
			tasks++
		}
	}
	missed, urgent := 0, 0
	p.waiting = slices.DeleteFunc(p.waiting, func(c *claim) bool {
		mayTake := c.urgent() || tasks < p.tasks
		if mayTake && !c.urgent() {
			tasks++
		}
		if mayTake && len(p.taken) < p.opt.Most {
			p.give(c)
			return true
		}
		if mayTake {
			missed++
		}
		if c.urgent() {
			urgent++
		}
		return false
	})
	for _, c := range p.taken {
		if c.told {
			missed--
			urgent--
		}
	}
	for _, c := range p.leavers() {
		if missed <= 0 || !c.idle() && urgent <= 0 {
			return
		}
		c.told = true
		poke(c.wake)
		missed--
		urgent--
	}
}

// give gives c a free place. p.mu is held.
func (p *Pool) give(c *claim) {
	c.has, c.since, c.task, c.told, c.last = true, time.Now(), !c.urgent(), false, time.Now()
	p.taken = append(p.taken, c)
	p.peak = max(p.peak, len(p.taken))
	p.total++
	poke(c.wake)
}

// leave takes the place of c back, after the stores were closed, or takes c out of
// those that wait.
func (p *Pool) leave(c *claim) {
	p.mu.Lock()
	defer p.mu.Unlock()
	is := func(o *claim) bool { return o == c }
	p.taken, p.waiting = slices.DeleteFunc(p.taken, is), slices.DeleteFunc(p.waiting, is)
	c.has, c.task, c.told = false, false, false
	p.serve()
}

// leavers are those that may be told to leave, in the order in which they are: first
// what nobody needs, used least recently before the others; then what only tasks use;
// at last what is asked all the time, which leaves when the calls under way have ended.
// p.mu is held.
func (p *Pool) leavers() []*claim {
	var out []*claim
	now := time.Now()
	for _, c := range p.taken {
		if !c.told && (c.idle() && !c.task || now.Sub(c.since) >= leastHeld) {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b *claim) int {
		return cmp.Or(order(a.needed(), b.needed()), order(a.tasks > 0, b.tasks > 0), a.last.Compare(b.last), a.since.Compare(b.since))
	})
	return out
}

// order puts false before true.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// poke wakes who waits for c. It never blocks, and many pokes are one.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
