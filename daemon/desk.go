package daemon

import (
	"context"
	"slices"
	"sync"
)

// A desk lets as many searches work at once as there are cores: more would not
// end sooner, and whatever else has to be done would wait behind all of them.
// While a save is taken in, one core is left to it: a person waits for it, and it
// has a dozen steps, each of which would wait again; unless so many searches wait
// that saves without end would hold them up. Searches come in the order they asked.
// It is safe for concurrent use; nil lets all work.
type desk struct {
	cores int

	mu      sync.Mutex // guards the fields below
	working int
	saves   int
	queue   []chan struct{} // closed when it is their turn
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
	turn := make(chan struct{})
	d.queue = append(d.queue, turn)
	d.next()
	d.mu.Unlock()
	select {
	case <-turn:
		return d.end, nil
	case <-ctx.Done():
	}
	d.mu.Lock()
	at := slices.Index(d.queue, turn)
	if at >= 0 {
		d.queue = slices.Delete(d.queue, at, at+1)
	}
	d.mu.Unlock()
	if at < 0 { // it was its turn just now
		d.end()
	}
	return nil, ctx.Err()
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

// most is how many searches may work now; d.mu is held.
func (d *desk) most() int {
	if d.saves > 0 && len(d.queue) <= crowdAt*d.cores {
		return max(d.cores-1, 1)
	}
	return max(d.cores, 1)
}

// next calls those whose turn it is; d.mu is held.
func (d *desk) next() {
	for len(d.queue) > 0 && d.working < d.most() {
		close(d.queue[0])
		d.queue = slices.Delete(d.queue, 0, 1)
		d.working++
	}
}

// saveMost is how many paths a save has at most. More are a switch or a storm,
// which takes long, and for which nobody's search stands back.
const saveMost = 32
