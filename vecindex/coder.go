//go:build !windows

package vecindex

import (
	"context"
	"fmt"
	"math/rand"
	"sync/atomic"

	"github.com/coder/hnsw"
	"github.com/viterin/vek/vek32"
)

// byCoder is the way over a graph of github.com/coder/hnsw. Its effort is how
// many rows it is asked for. The release that can be had, v0.6.1, finds a quarter
// of what is near and panics where a node is deleted or added again, so: a graph
// is built once, by rows as they are, and then only asked; what changes makes a
// new one; no call can end the program; and the gate decides. It does not build
// on Windows (its issue 24), and it holds the vectors as floats: three kilobytes
// each at 768 dimensions.
type byCoder struct {
	generation uint64
	nodes      int32 // rows below this are in the graph, or were tombstones
	g          *hnsw.Graph[int32]
	broke      atomic.Bool
}

// coderAvailable says whether this system has the library.
const coderAvailable = true

func (*byCoder) name() string         { return CoderGraph }
func (*byCoder) efforts() []int       { return []int{50, 100, 200, 400} }
func (w *byCoder) fits(t *table) bool { return w.generation == t.generation && !w.broke.Load() }
func (w *byCoder) broken() bool       { return w.broke.Load() }
func (w *byCoder) covers() int        { return int(w.nodes) }

func (w *byCoder) propose(t *table, a *ask, n, effort int) top {
	best := newTop(n)
	offer := best.offer(t, n)
	t.scanRows(a, offer, func(yield func(int32)) {
		for _, row := range w.ask(a.v, effort) {
			if row >= 0 && int(row) < t.len() && a.may(t, row) {
				yield(row)
			}
		}
		for row := w.nodes; int(row) < t.len(); row++ { // what came later
			if a.may(t, row) {
				yield(row)
			}
		}
	})
	return best
}

// ask returns the rows the library finds, none where it panics.
func (w *byCoder) ask(v []float32, k int) (rows []int32) {
	defer func() {
		if recover() != nil {
			w.broke.Store(true)
			rows = nil
		}
	}()
	for _, n := range w.g.Search(v, k) {
		rows = append(rows, n.Key)
	}
	return rows
}

// buildCoder makes a graph of the live rows of a frozen table, at most most.
func buildCoder(ctx context.Context, t *table, most int) (w *byCoder, err error) {
	defer func() {
		if r := recover(); r != nil {
			w, err = nil, fmt.Errorf("coder/hnsw panicked: %v", r)
		}
	}()
	g := hnsw.NewGraph[int32]()
	g.M, g.EfSearch, g.Rng = 32, 200, rand.New(rand.NewSource(1))
	g.Distance = func(a, b []float32) float32 { return 1 - vek32.Dot(a, b) }
	w = &byCoder{generation: t.generation, nodes: int32(t.len()), g: g}
	for row, added := int32(0), 0; int(row) < t.len() && added < most; row++ {
		if t.dead.has(row) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		v := make([]float32, t.dim)
		t.restore(v, row)
		g.Add(hnsw.MakeNode(row, v))
		added++
	}
	return w, nil
}
