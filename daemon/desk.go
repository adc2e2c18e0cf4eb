package daemon

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A desk lets as many searches work at once as there are cores: more would not
// end sooner, and whatever else has to be done would wait behind all of them.
// While a save is taken in, one core is left to it: a person waits for it, and it
// has a dozen steps, each of which would wait again; unless so many searches wait
// that saves without end would hold them up. Searches come in the order they asked.
//
// Where a crowd of searches waits, writes stand in the same queue, so that who
// writes without a pause does not get all that searches leave for a moment; they take
// no place of those that work, since for most of their time they wait for the disk.
// It is safe for concurrent use; nil lets all work.
type desk struct {
	cores int

	mu       sync.Mutex // guards the fields below
	working  int
	saves    int
	searches int // that wait
	queue    []*waiting
}

// A waiting is what waits at a desk.
type waiting struct {
	write bool
	come  chan struct{} // closed when it is theirs
}

// begin waits for the turn of a search, which ends with end. It returns the error
// of ctx if that is done before.
func (d *desk) begin(ctx context.Context) (end func(), err error) {
	if d == nil {
		return func() {}, nil
	}
	d.mu.Lock()
	if len(d.queue) == 0 && d.working < d.most() {
		d.working++
		d.mu.Unlock()
		return d.end, nil
	}
	t := d.wait(false)
	d.mu.Unlock()
	select {
	case <-t.come:
		return d.end, nil
	case <-ctx.Done():
	}
	if !d.leave(t) { // it was its turn just now
		d.end()
	}
	return nil, ctx.Err()
}

// writeMost is how long a write stands in the queue at most, however many searches
// are before it.
const writeMost = 100 * time.Millisecond

// gatherWrites is for how long writes are gathered, to be indexed together, where a
// crowd of searches waits: what is done once for any number of them (jobs,
// transactions, a segment of the text index that each search looks into) is most of
// what one alone costs.
const gatherWrites = 250 * time.Millisecond

// write waits for the turn of a write. It returns the error of ctx if that is done
// before.
func (d *desk) write(ctx context.Context) error {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	if !d.crowd() {
		d.mu.Unlock()
		return nil
	}
	t := d.wait(true)
	d.mu.Unlock()
	late := time.NewTimer(writeMost)
	defer late.Stop()
	select {
	case <-t.come:
		return nil
	case <-late.C:
		d.leave(t)
		return nil
	case <-ctx.Done():
		d.leave(t)
		return ctx.Err()
	}
}

// wait stands in the queue; d.mu is held.
func (d *desk) wait(write bool) *waiting {
	t := &waiting{write, make(chan struct{})}
	d.queue = append(d.queue, t)
	if !write {
		d.searches++
	}
	d.next()
	return t
}

// leave gives t up. It reports false if its turn has come.
func (d *desk) leave(t *waiting) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := slices.Index(d.queue, t)
	if at < 0 {
		return false
	}
	d.take(at)
	d.next() // what stood behind it may need no more
	return true
}

// take takes the turn at that place out of the queue; d.mu is held.
func (d *desk) take(at int) *waiting {
	t := d.queue[at]
	d.queue = slices.Delete(d.queue, at, at+1)
	if !t.write {
		d.searches--
	}
	return t
}

func (d *desk) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.working--
	d.next()
}

// save says that a save is taken in, until done is called.
func (d *desk) save() (done func()) {
	if d == nil {
		return func() {}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.saves++
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.saves--
		d.next()
	}
}

// crowdAt is how many searches for each core wait before they get the one that is
// left to saves: more than the programs of one person ask at once.
const crowdAt = 4

// crowd reports whether as many wait; d.mu is held.
func (d *desk) crowd() bool { return d.searches > crowdAt*d.cores }

// crowded reports whether so many searches wait that what may be done together later
// should not be done at once.
func (d *desk) crowded() bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.crowd()
}

// Crowded reports whether so many searches wait that all else should leave them
// what it can.
func (d *Daemon) Crowded() bool { return d.parts.desk.crowded() }

// most is how many searches may work now; d.mu is held.
func (d *desk) most() int {
	if d.saves > 0 && !d.crowd() {
		return max(d.cores-1, 1)
	}
	return max(d.cores, 1)
}

// next calls those whose turn it is; d.mu is held.
func (d *desk) next() {
	for len(d.queue) > 0 && (d.queue[0].write || d.working < d.most()) {
		t := d.take(0)
		if !t.write {
			d.working++
		}
		close(t.come)
	}
}

// saveMost is how many paths a save has at most. More are a switch or a storm,
// which takes long, and for which nobody's search stands back.
const saveMost = 32
