// Package limiter decides in which order searches, saves and writes get the processors.
package limiter

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A Limiter lets as many searches work at once as there are cores: more would not
// end sooner, and whatever else has to be done would wait behind all of them.
// While a save is taken in, one core is left to it: a person waits for it, and it
// has a dozen steps, each of which would wait again; unless so many searches wait
// that saves without end would hold them up. Searches come in the order they asked.
//
// Where a crowd of searches waits, writes stand in the same queue, so that who
// writes without a pause does not get all that searches leave for a moment; they take
// no place of those that work, since for most of their time they wait for the disk.
// It is safe for concurrent use.
type Limiter struct {
	cores int

	mu       sync.Mutex // guards the fields below
	working  int
	saves    int
	searches int // that wait
	queue    []*waiting
}

// New returns a limiter for so many cores.
func New(cores int) *Limiter { return &Limiter{cores: cores} }

// Pretend counts n searches that wait, for tests of what else a crowd changes.
func (l *Limiter) Pretend(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.searches += n
}

// A waiting is what waits in the queue.
type waiting struct {
	Write bool
	come  chan struct{} // closed when it is theirs
}

// Search waits for the turn of a search, which ends with end. It returns the error
// of ctx if that is done before.
func (l *Limiter) Search(ctx context.Context) (end func(), err error) {
	if l == nil {
		return func() {}, nil
	}
	l.mu.Lock()
	if len(l.queue) == 0 && l.working < l.most() {
		l.working++
		l.mu.Unlock()
		return l.end, nil
	}
	t := l.wait(false)
	l.mu.Unlock()
	select {
	case <-t.come:
		return l.end, nil
	case <-ctx.Done():
	}
	if !l.leave(t) { // it was its turn just now
		l.end()
	}
	return nil, ctx.Err()
}

// writeMost is how long a write stands in the queue at most, however many searches
// are before it.
const writeMost = 100 * time.Millisecond

// GatherWrites is for how long writes are gathered, to be indexed together, where a
// crowd of searches waits: what is done once for any number of them (jobs,
// transactions, a segment of the text index that each search looks into) is most of
// what one alone costs.
const GatherWrites = 250 * time.Millisecond

// Write waits for the turn of a write. It returns the error of ctx if that is done
// before.
func (l *Limiter) Write(ctx context.Context) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	if !l.crowd() {
		l.mu.Unlock()
		return nil
	}
	t := l.wait(true)
	l.mu.Unlock()
	late := time.NewTimer(writeMost)
	defer late.Stop()
	select {
	case <-t.come:
		return nil
	case <-late.C:
		l.leave(t)
		return nil
	case <-ctx.Done():
		l.leave(t)
		return ctx.Err()
	}
}

// wait stands in the queue; l.mu is held.
func (l *Limiter) wait(write bool) *waiting {
	t := &waiting{write, make(chan struct{})}
	l.queue = append(l.queue, t)
	if !write {
		l.searches++
	}
	l.next()
	return t
}

// leave gives t up. It reports false if its turn has come.
func (l *Limiter) leave(t *waiting) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.Index(l.queue, t)
	if at < 0 {
		return false
	}
	l.take(at)
	l.next() // what stood behind it may need no more
	return true
}

// take takes the turn at that place out of the queue; l.mu is held.
func (l *Limiter) take(at int) *waiting {
	t := l.queue[at]
	l.queue = slices.Delete(l.queue, at, at+1)
	if !t.Write {
		l.searches--
	}
	return t
}

func (l *Limiter) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.working--
	l.next()
}

// Save says that a save is taken in, until done is called.
func (l *Limiter) Save() (done func()) {
	if l == nil {
		return func() {}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.saves++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.saves--
		l.next()
	}
}

// crowdAt is how many searches for each core wait before they get the one that is
// left to saves: more than the programs of one person ask at once.
const crowdAt = 4

// crowd reports whether as many wait; l.mu is held.
func (l *Limiter) crowd() bool { return l.searches > crowdAt*l.cores }

// Crowded reports whether so many searches wait that what may be done together later
// should not be done at once.
func (l *Limiter) Crowded() bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.crowd()
}

// most is how many searches may work now; l.mu is held.
func (l *Limiter) most() int {
	if l.saves > 0 && !l.crowd() {
		return max(l.cores-1, 1)
	}
	return max(l.cores, 1)
}

// next calls those whose turn it is; l.mu is held.
func (l *Limiter) next() {
	for len(l.queue) > 0 && (l.queue[0].Write || l.working < l.most()) {
		t := l.take(0)
		if !t.Write {
			l.working++
		}
		close(t.come)
	}
}

// SaveMost is how many paths a save has at most. More are a switch or a storm,
// which takes long, and for which nobody's search stands back.
const SaveMost = 32
