package vecindex

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/foldwatch/foldwatch/vecindex/dot"
)

// Slots bounds how many indexes build at once: each build takes one core.
type Slots chan struct{}

// NewSlots returns slots for n builds at once.
func NewSlots(n int) Slots { return make(Slots, n) }

const (
	// maxPanics is how often coder/hnsw is built again after it panicked.
	maxPanics = 3
	// scalarCost is how many rows a row counts for in a plan where there is no
	// machine code for the scan.
	scalarCost = 4
)

var errPanicked = errors.New(CoderGraph + " panicked too often")

// A phase is what the builder does.
type phase int32

const (
	idle phase = iota
	preparing
	building // takes a slot
	checking
)

// A builder makes the engine of one index and has it serve. Its run is the only
// goroutine that touches the fields from engine on.
type builder struct {
	setting string
	dir     string // where a saved graph lies
	state   *state
	slots   Slots

	changed chan struct{}      // holds one: rows changed, or an engine broke
	settle  chan chan struct{} // closed once all is built and checked
	stop    context.CancelFunc
	done    chan struct{} // closed when run has ended
	phase   atomic.Int32

	engine  engine       // nil for the exact scan, and where building failed
	failure error        // of the last build
	built   tableVersion // rows the engine was built from; zero if it was read from disk
	checked tableVersion // rows at the last check or failed build
	result  checkResult
	panics  int // of coder/hnsw
}

// A tableVersion tells how much a table has changed since.
type tableVersion struct {
	generation uint64
	rows, dead int
}

func versionOf(t *table) tableVersion { return tableVersion{t.generation, t.len(), t.deadCount} }

// outdated reports whether too much has changed between m and now.
func (m tableVersion) outdated(now tableVersion) bool {
	changes := now.rows - m.rows + now.dead - m.dead
	return m.generation != now.generation || changes > max(checkedQueries, int(staleShare*float64(now.rows-now.dead)))
}

// startBuilder starts the goroutine that close ends.
func startBuilder(setting, dir string, st *state, slots Slots) *builder {
	if slots == nil {
		slots = NewSlots(1)
	}
	ctx, stop := context.WithCancel(context.Background())
	b := &builder{
		setting: setting, dir: dir, state: st, slots: slots, stop: stop,
		changed: make(chan struct{}, 1), settle: make(chan chan struct{}), done: make(chan struct{}),
	}
	go b.run(ctx)
	b.wake()
	return b
}

// wake tells that rows have changed or an engine broke.
func (b *builder) wake() {
	select {
	case b.changed <- struct{}{}:
	default: // told already
	}
}

func (b *builder) busy() bool { return phase(b.phase.Load()) != idle || len(b.changed) > 0 }

func (b *builder) close() {
	b.stop()
	<-b.done
}

// wait returns when everything is built and checked for the rows there are.
func (b *builder) wait(ctx context.Context) error {
	settled := make(chan struct{})
	select {
	case b.settle <- settled:
	case <-b.done:
		return context.Canceled
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-settled:
		return nil
	case <-b.done:
		return context.Canceled
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *builder) run(ctx context.Context) {
	defer close(b.done)
	for {
		var settled chan struct{}
		select {
		case <-ctx.Done():
			return
		case <-b.changed:
		case settled = <-b.settle:
			select {
			case <-b.changed: // this round sees what that was about
			default:
			}
		}
		b.update(ctx, settled != nil)
		b.phase.Store(int32(idle))
		if settled != nil && ctx.Err() == nil {
			close(settled)
		}
	}
}

// update has the engine of the plan know the rows there are, checks it where much
// has changed or recheck says so, and publishes what is to serve. It returns early
// when ctx ends; what served goes on.
func (b *builder) update(ctx context.Context, recheck bool) {
	b.phase.Store(int32(preparing))
	t, _, _ := b.state.frozen()
	rows, now := t.live(), versionOf(t)
	if dot.Kernel() == "go" {
		rows *= scalarCost
	}
	name := plan(b.setting, rows, t.dim)
	if b.engine != nil {
		if name = replan(b.engine.name(), b.setting, rows, t.dim); name != b.engine.name() {
			b.engine, b.checked = nil, tableVersion{}
		}
	}
	if name != Exact && (b.failure == nil || b.checked.outdated(now)) { // else it would fail again
		b.prepare(ctx, name, t)
	}
	for ctx.Err() == nil && (recheck || b.checked.outdated(now)) {
		b.phase.Store(int32(checking))
		most := maxEffort(t.live())
		if b.setting != Auto {
			most = maxRows
		}
		v, err := check(ctx, b.state, b.engine, most)
		if err != nil {
			return
		}
		b.result, b.checked, recheck = v, now, false
		if b.mustRebuild(t) {
			b.build(ctx, name, t)
		}
	}
	if ctx.Err() == nil {
		b.state.publish(decide(b.setting, t.live(), b.engine, b.result, b.failure), t.generation)
	}
}

// mustRebuild reports whether the engine broke in its check, or finds too little
// and is not what a build from these rows would give.
func (b *builder) mustRebuild(t *table) bool {
	switch {
	case b.engine == nil:
		return false
	case !b.engine.fits(t):
		b.panics++
		return true
	}
	return b.engine.name() != Sketch && b.result.recall < minRecall && b.built != versionOf(t)
}

// prepare has the engine know the rows of t: it is extended, read from disk or
// built.
func (b *builder) prepare(ctx context.Context, name string, t *table) {
	switch {
	case b.engine != nil && b.engine.fits(t):
		if e, err := b.engine.extend(ctx, t); err != nil || e != nil {
			b.engine = e
			return
		}
	case b.engine != nil && b.built.generation == t.generation:
		b.panics++ // it is of this table and does not fit it: it broke in a search
	}
	if name == Graph {
		if g, err := loadGraph(b.dir, t); err == nil && g != nil {
			b.failure, b.built, b.checked = nil, tableVersion{}, tableVersion{}
			b.engine, _ = g.extend(ctx, t) // fails only where ctx ends
			return
		}
	}
	b.build(ctx, name, t)
}

// build makes a new engine from t. What serves goes on if it is of the same table,
// else the scan does.
func (b *builder) build(ctx context.Context, name string, t *table) {
	b.engine, b.failure, b.built, b.checked = nil, nil, versionOf(t), tableVersion{}
	if name == Sketch { // takes milliseconds
		b.engine = newSketch(t)
		return
	}
	b.phase.Store(int32(building))
	if s := b.state.serving.Load(); s.engine == nil || !s.engine.fits(t) {
		b.state.publish(&serving{report: Report{Engine: Exact, Why: name + " is being built"}}, t.generation)
	}
	select {
	case b.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-b.slots }()
	onNicedThread(func() {
		switch {
		case name == Graph:
			if g, err := buildGraph(ctx, t); err == nil { // fails only where ctx ends
				b.engine = g
			}
		case b.panics >= maxPanics:
			b.failure = errPanicked
		default:
			b.engine, b.failure = buildCoder(ctx, t)
		}
	})
}
