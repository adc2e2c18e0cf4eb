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

// coderGraph is the engine that walks a graph of github.com/coder/hnsw. Its
// effort is how many rows it is asked for. The published release, v0.6.1, finds a
// quarter of what is near, and panics where a node is deleted or added again. So
// a graph is built once, its keys rise, and then it is only searched; what changes
// makes a new one; and no call can end the program. It does not build on Windows
// (its issue 24). It holds the vectors as floats: three kilobytes each at 768
// dimensions.
type coderGraph struct {
	generation uint64
	rows       int // those below are nodes, or were tombstones
	g          *hnsw.Graph[int32]
	broken     atomic.Bool // the library panicked
}

func (*coderGraph) name() string         { return CoderGraph }
func (*coderGraph) efforts() []int       { return []int{50, 100, 200, 400} }
func (c *coderGraph) fits(t *table) bool { return c.generation == t.generation && !c.broken.Load() }

// extend keeps the graph while few rows are missing: they are scanned.
func (c *coderGraph) extend(_ context.Context, t *table) (engine, error) {
	if float64(t.len()-c.rows) > staleShare*float64(t.len())+checkedQueries {
		return nil, nil
	}
	return c, nil
}

func (c *coderGraph) propose(t *table, q *query, effort int, offer func(scored)) (covered int) {
	t.scanRows(q, offer, func(yield func(int32)) {
		for _, row := range c.nearest(q.v, effort) {
			if row >= 0 && int(row) < t.len() && q.may(t, row) {
				yield(row)
			}
		}
	})
	return c.rows
}

// nearest returns the rows the library finds, none where it panics.
func (c *coderGraph) nearest(v []float32, k int) (rows []int32) {
	defer func() {
		if recover() != nil {
			c.broken.Store(true)
			rows = nil
		}
	}()
	for _, n := range c.g.Search(v, k) {
		rows = append(rows, n.Key)
	}
	return rows
}

// buildCoder makes a graph of the live rows of a frozen table.
func buildCoder(ctx context.Context, t *table) (_ engine, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("coder/hnsw panicked: %v", r)
		}
	}()
	g := hnsw.NewGraph[int32]()
	g.M, g.EfSearch, g.Rng = 32, 200, rand.New(rand.NewSource(1))
	g.Distance = func(a, b []float32) float32 { return 1 - vek32.Dot(a, b) }
	for row := range int32(t.len()) {
		if t.dead.has(row) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		v := make([]float32, t.dim)
		t.restore(v, row)
		g.Add(hnsw.MakeNode(row, v))
	}
	return &coderGraph{generation: t.generation, rows: t.len(), g: g}, nil
}
