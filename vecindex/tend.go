package vecindex

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/foldwatch/foldwatch/vecindex/dot"
)

// Below these the scan is as good as anything, and nothing else is built by
// itself. Where there is no machine code for the scan it is less. A graph costs
// minutes of a core whatever the dimension, and spares the reading of the rows:
// it goes by their bytes, not by a clock, which a busy machine would put wrong.
const (
	sketchFrom = 20_000        // rows
	graphFrom  = 200_000 * 768 // bytes of rows
)

// Turns bounds how many indexes build at once: each build takes one core.
type Turns chan struct{}

// NewTurns returns turns for n builds at once.
func NewTurns(n int) Turns { return make(Turns, n) }

// tending is what builds and measures in the background.
type tending struct {
	tended  atomic.Bool
	setting string
	turns   Turns // never nil once tended
	kick    chan struct{}
	settle  chan chan struct{}
	stop    context.CancelFunc
	at      atomic.Bool // something is built or measured

	// of the tending goroutine alone
	sketchWay *bySketch
	coder     *byCoder // nil until built
	coderSeen int      // how often it was built
	coderSaid string   // why it is not built any more
	measured  measured
}

// measured is when the ways were measured last, and what there was to measure.
type measured struct {
	times      int // the ways were measured
	generation uint64
	ways       int
	graph      *graph
	asked      bool // as many queries as are kept for it
}

// A drift is what is other than it was when the ways were measured. A key counts
// once: who switches between two branches changes the same few again and again,
// and after each second switch the rows are what was measured.
type drift struct {
	keys map[string]bool
	n    int
}

// driftMost is how many keys are told apart. Those beyond all count.
const driftMost = 20_000

func (d *drift) note(key string) {
	switch {
	case d.keys[key]:
	case len(d.keys) >= driftMost:
		d.n++
	default:
		if d.keys == nil {
			d.keys = make(map[string]bool)
		}
		d.keys[key] = true
		d.n++
	}
}

// Serve has searches answered by the way that setting names, [Auto] or one of
// the others, and builds and measures what that needs in the background until
// Close. It is called once, after Open; without it all rows are scanned. Turns
// are shared by the indexes of a program; nil gives this one its own.
func (x *Index) Serve(setting string, turns Turns) {
	ctx, stop := context.WithCancel(context.Background())
	if turns == nil {
		turns = NewTurns(1)
	}
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

// Building reports whether something is built or measured in the background, which
// Close would end unfinished.
func (x *Index) Building() bool { return x.at.Load() || len(x.kick) > 0 }

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
			x.at.Store(true)
		case done = <-x.settle:
			x.at.Store(true)
		}
		x.improve(ctx, done != nil)
		x.at.Store(false)
		if done != nil {
			close(done)
		}
	}
}

// wants says which ways are worth building for so many live rows of dim bytes.
func wants(setting string, live, dim int) (sketch, graph bool) {
	if dot.Kernel() == "go" {
		live *= 4
	}
	return setting == Sketch || setting == Auto && live >= sketchFrom,
		setting == Graph || setting == Auto && live*dim >= graphFrom
}

// mayWalk reports whether anything but the scan may serve soon, so that queries
// are worth keeping for the gate.
func (x *Index) mayWalk(live int) bool {
	return x.setting != Exact && (x.setting != Auto || live >= sketchFrom/4)
}

// improve builds what is wanted, measures it where much has changed, and has the
// best serve. It ends early, with what is there, when ctx does.
func (x *Index) improve(ctx context.Context, now bool) {
	live := x.Len()
	sketch, graph := wants(x.setting, live, x.dim)
	var ways []way
	if sketch {
		x.buildSketch()
		ways = append(ways, x.sketchWay)
	}
	if graph {
		// Until it is built the rest serves; what a build takes may be minutes.
		if x.currentGraph() == nil && len(ways) > 0 {
			x.gate(ctx, ways, now)
		}
		if g := x.tendGraph(ctx); g != nil {
			ways = append(ways, &byGraph{g: g})
		}
	}
	if x.setting == CoderGraph && x.tendCoder(ctx) {
		ways = append(ways, x.coder)
	}
	x.gate(ctx, ways, now)
	// The other graph takes four times the memory: it is asked where nothing else
	// is good enough, and then a sample of the rows must speak for it first.
	if graph && x.setting == Auto && x.Engine() == Exact && ctx.Err() == nil && x.coderPromises(ctx) && x.tendCoder(ctx) {
		x.gate(ctx, append(ways, x.coder), now)
	}
}

// coderMost is how often the graph of coder/hnsw is built anew after it panicked.
const coderMost = 3

// tendCoder has the graph of coder/hnsw be one of the rows that are there, and
// reports whether it is. It is built anew when a fifth of the rows is not in it or
// dead, for it can only be added to.
func (x *Index) tendCoder(ctx context.Context) bool {
	x.mu.RLock()
	t := x.t.frozen()
	x.mu.RUnlock()
	if c := x.coder; c != nil && c.fits(t) && (t.len()-c.covers()) < t.len()/5+64 {
		return true
	}
	if x.coder != nil && x.coder.broken() {
		if x.coderSeen++; x.coderSeen >= coderMost {
			x.coderSaid = "coder-hnsw panicked too often"
			return false
		}
	}
	select {
	case x.turns <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-x.turns }()
	var err error
	onNicedThread(func() { x.coder, err = buildCoder(ctx, t, t.len()) })
	if err != nil {
		x.coder, x.coderSaid = nil, err.Error()
		return false
	}
	return true
}

// coderPromises reports whether coder/hnsw finds enough among a few rows.
func (x *Index) coderPromises(ctx context.Context) bool {
	const sample = 2000
	if !coderAvailable || x.coderSaid != "" {
		return false
	}
	x.mu.RLock()
	t := x.t.frozen()
	x.mu.RUnlock()
	few := newTable(t.dim)
	for row := int32(0); int(row) < t.len() && few.len() < sample; row++ {
		if !t.dead.has(row) {
			b, _ := few.add(t.keys[row], t.memory(row), t.scale[row])
			copy(b, t.at(row))
		}
	}
	c, err := buildCoder(ctx, few, sample)
	if err != nil {
		return false
	}
	found, asked := 0, 0
	for row := range int32(min(gateStored, few.len())) {
		a := &ask{v: make([]float32, t.dim), q: &dot.Query{}, passing: few.len()}
		few.restore(a.v, row)
		a.q.Set(a.v)
		want, got := few.scan(a, gateK), c.propose(few, a, gateK, 400)
		for _, w := range want {
			asked++
			for _, g := range got {
				if g.row == w.row {
					found++
				}
			}
		}
	}
	if float64(found) < gateRecall*float64(asked) {
		x.coderSaid = fmt.Sprintf("coder-hnsw finds %.2f of a sample", float64(found)/float64(max(asked, 1)))
		return false
	}
	return true
}

// gate measures the ways, if much has changed since the last time or now says
// so, and has the best serve.
func (x *Index) gate(ctx context.Context, ways []way, now bool) {
	x.mu.RLock()
	last := x.measured
	at := measured{times: last.times, generation: x.t.generation, ways: len(ways), graph: x.graph, asked: x.asked.full()}
	live, drifted := x.t.live(), x.drift.n
	x.mu.RUnlock()
	much := max(live/10, 64)
	if len(ways) == 0 {
		much = max(live/2, 64) // only how long the scan takes is to be told
	}
	if !now && last == at && drifted < much {
		return
	}
	x.mu.Lock()
	x.drift = drift{} // what changes from here on may be measured or not
	x.mu.Unlock()
	exact, trials, err := x.measure(ctx, ways)
	if err != nil {
		return
	}
	s := choose(x.setting, live, exact, trials)
	if x.coderSaid != "" {
		s.report.Why += "; " + x.coderSaid
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.t.generation == at.generation {
		at.times++
		x.serves, x.measured = s, at
	}
}

// currentGraph returns the graph of the rows that are there, or nil.
func (x *Index) currentGraph() *graph {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.graph != nil && x.graph.generation == x.t.generation {
		return x.graph
	}
	return nil
}

// tendGraph returns the graph of the rows that are there: the one in use with
// what came later linked, the one on disk, or a new one. It returns nil if ctx
// ended it.
func (x *Index) tendGraph(ctx context.Context) *graph {
	g := x.currentGraph()
	if g == nil {
		x.mu.RLock()
		t := x.t.frozen()
		x.mu.RUnlock()
		var err error
		if g, err = loadGraph(x.dir, t); err != nil || g == nil {
			select {
			case x.turns <- struct{}{}:
			case <-ctx.Done():
				return nil
			}
			onNicedThread(func() { g, err = buildGraph(ctx, t) })
			<-x.turns
			if err != nil {
				return nil
			}
		}
		x.mu.Lock()
		if x.t.generation != g.generation { // compacted meanwhile: that wakes the next turn
			g = nil
		}
		x.graph = g
		x.mu.Unlock()
	}
	if g != nil && !x.linkLater(ctx, g) {
		return nil
	}
	return g
}

// linkLater links the rows that came after the graph was built, one at a time
// and beside searches. It reports whether all are linked.
func (x *Index) linkLater(ctx context.Context, g *graph) (all bool) {
	w := &walker{}
	for ctx.Err() == nil {
		row := int32(g.nodes.Load())
		x.mu.RLock()
		t := x.t
		if t.generation != g.generation || int(row) >= t.len() {
			x.mu.RUnlock()
			return t.generation == g.generation
		}
		dead, layer := t.dead.has(row), layerOf(t.keys[row])
		x.mu.RUnlock()
		if !dead {
			x.mu.Lock() // blocks may be added: searches must not look
			g.grow(row, layer)
			x.mu.Unlock()
			x.mu.RLock()
			if x.t == t {
				g.insert(t, w, row)
			}
			x.mu.RUnlock()
		}
		g.nodes.Store(int64(row) + 1)
	}
	return false
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
		return // compacted meanwhile: that wakes the next turn
	}
	for row := int32(s.n); int(row) < t.len(); row++ {
		s.add(row, t.at(row))
	}
	t.sketch = s
}
