package vecindex

import (
	"context"
	"sync/atomic"

	"github.com/foldwatch/foldwatch/vecindex/dot"
)

// Below these many rows the scan is as good as anything, and nothing else is
// built by itself. Where there is no machine code for the scan it is less.
const (
	sketchFrom = 20_000
	graphFrom  = 200_000
)

// Turns bounds how many indexes build at once: each build takes one core.
type Turns chan struct{}

// NewTurns returns turns for n builds at once.
func NewTurns(n int) Turns { return make(Turns, n) }

// tending is what builds and measures in the background.
type tending struct {
	tended  atomic.Bool
	setting string
	turns   Turns
	kick    chan struct{}
	settle  chan chan struct{}
	stop    context.CancelFunc

	// of the tending goroutine alone
	sketchWay *bySketch
	measured  int    // changes at the last measurement
	of        uint64 // generation then
	known     int    // ways then
}

// Serve has searches answered by the way that setting names, [Auto] or one of
// the others, and builds and measures what that needs in the background until
// Close. It is called once, after Open; without it all rows are scanned. Turns
// are shared by the indexes of a program.
func (x *Index) Serve(setting string, turns Turns) {
	ctx, stop := context.WithCancel(context.Background())
	x.setting, x.turns, x.stop = setting, turns, stop
	x.kick, x.settle, x.ended = make(chan struct{}, 1), make(chan chan struct{}), make(chan struct{})
	x.sketchWay = &bySketch{}
	x.tended.Store(true)
	go x.tend(ctx)
	x.wake()
}

// wake tells that rows have changed.
func (x *Index) wake() {
	if !x.tended.Load() {
		return
	}
	select {
	case x.kick <- struct{}{}:
	default: // told already
	}
}

func (x *Index) stopTending() {
	if x.tended.Load() {
		x.stop()
		<-x.ended
	}
}

// Settle waits until everything is built and measured for the rows that are
// there.
func (x *Index) Settle(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case x.settle <- done:
	case <-x.ended:
		return context.Canceled
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-done:
		return nil
	case <-x.ended:
		return context.Canceled
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (x *Index) tend(ctx context.Context) {
	defer close(x.ended)
	for {
		var done chan struct{}
		select {
		case <-ctx.Done():
			return
		case <-x.kick:
		case done = <-x.settle:
		}
		x.improve(ctx, done != nil)
		if done != nil {
			close(done)
		}
	}
}

// wants says which ways are worth building for so many live rows.
func wants(setting string, live int) (sketch, graph bool) {
	if dot.Kernel() == "go" {
		live *= 4
	}
	return setting == Sketch || setting == Auto && live >= sketchFrom,
		setting == Graph || setting == Auto && live >= graphFrom
}

// improve builds what is wanted, measures it where much has changed, and has the
// best serve. It ends early, with what is there, when ctx does.
func (x *Index) improve(ctx context.Context, now bool) {
	x.mu.RLock()
	live := x.t.live()
	x.mu.RUnlock()
	var ways []way
	sketch, _ := wants(x.setting, live)
	if sketch {
		x.buildSketch()
		ways = append(ways, x.sketchWay)
	}
	x.mu.RLock()
	generation, changes := x.t.generation, x.changes
	x.mu.RUnlock()
	if !now && generation == x.of && len(ways) == x.known && changes-x.measured < max(live/10, 64) {
		return
	}
	exact, trials, err := x.measure(ctx, ways)
	if err != nil {
		return
	}
	s := choose(x.setting, live, exact, trials)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.serves = s
	x.of, x.measured, x.known = generation, changes, len(ways)
}

// buildSketch makes the sketch of the rows that are there, and then holds the
// lock for those that came meanwhile.
func (x *Index) buildSketch() {
	x.mu.RLock()
	t, ok := x.t, x.t.sketch != nil
	f := t.frozen()
	x.mu.RUnlock()
	if ok {
		return
	}
	s := newSketch(f)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.t != t {
		return // compacted meanwhile; that wakes the next turn
	}
	for row := int32(s.n); int(row) < t.len(); row++ {
		s.add(row, t.at(row))
	}
	t.sketch = s
}
