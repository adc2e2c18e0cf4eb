package vecindex

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/foldwatch/foldwatch/vecindex/dot"
)

// A search has two steps: products of bytes choose a few rows, and the originals
// of those decide their order.

// candidates is how many rows are ranked by their originals for k results. Bytes
// are off by about .0004 of a cosine at 768 dimensions.
func candidates(k int) int { return 4 * k }

const (
	bytesPerWorker = 64 << 20 // with less, a second core is better left to a second search
	maxWorkers     = 4        // cores that one search takes
)

// A query is one search.
type query struct {
	v       []float32
	bytes   *dot.Query
	pass    bitset // rows that may be found; nil means all live ones
	passing int    // how many those are

	scored atomic.Int64 // rows whose products were taken
}

// may reports whether a row may be found.
func (q *query) may(t *table, row int32) bool {
	if q.pass != nil {
		return q.pass.has(row)
	}
	return !t.dead.has(row)
}

// scan returns the n rows that may be found with the largest products.
func (t *table) scan(q *query, n int) top {
	if n = min(n, q.passing); n == 0 {
		return nil
	}
	if q.pass != nil && q.passing < t.len()/4 {
		best := newTop(n)
		t.scanRows(q, best.offer(t, n), q.pass.each)
		return best
	}
	blocks := len(t.blocks)
	workers := max(min(runtime.GOMAXPROCS(0), maxWorkers, blocks*blockRows*t.stride/bytesPerWorker), 1)
	if workers == 1 {
		return t.scanBlocks(q, n, 0, blocks)
	}
	tops := make([]top, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { tops[w] = t.scanBlocks(q, n, blocks*w/workers, blocks*(w+1)/workers) })
	}
	wg.Wait()
	best := tops[0]
	for _, other := range tops[1:] {
		for _, s := range other {
			best.push(t, n, s)
		}
	}
	return best
}

// scanBlocks is scan over the blocks [from, to).
func (t *table) scanBlocks(q *query, n, from, to int) top {
	best := newTop(n)
	var products [blockRows]int32
	for b := from; b < to; b++ {
		first := b * blockRows
		out := products[:min(blockRows, t.len()-first)]
		q.bytes.Rows(out, t.blocks[b])
		q.scored.Add(int64(len(out)))
		scale := t.scale[first : first+len(out)]
		worst := best.worst(n)
		for i, p := range out {
			if score := float32(p) * scale[i]; score >= worst {
				if row := int32(first + i); q.may(t, row) {
					best.push(t, n, scored{score, row})
					worst = best.worst(n)
				}
			}
		}
	}
	return best
}

// scanRows offers the rows that each yields, with their products, which are taken
// four at a time.
func (t *table) scanRows(q *query, offer func(scored), each func(func(int32))) {
	var rows, products [4]int32
	n, all := 0, 0
	each(func(row int32) {
		all++
		rows[n] = row
		if n++; n < 4 {
			return
		}
		n = 0
		q.bytes.Four(&products, t.ptr(rows[0]), t.ptr(rows[1]), t.ptr(rows[2]), t.ptr(rows[3]))
		for i, r := range rows {
			offer(scored{float32(products[i]) * t.scale[r], r})
		}
	})
	for _, r := range rows[:n] {
		offer(scored{float32(q.bytes.One(t.ptr(r))) * t.scale[r], r})
	}
	q.scored.Add(int64(all))
}

// rank returns the k best of rows by their originals. Damaged says that an
// original could not be read; its row is then ranked by its bytes.
func (t *table) rank(q *query, rows []scored, k int) (hits []Hit, damaged bool) {
	hits = make([]Hit, len(rows))
	for i, s := range rows {
		hits[i] = Hit{Key: t.keys[s.row], Memory: t.memory(s.row), Score: math.NaN()}
	}
	buf := make([]byte, t.originals.record)
	catchFault(func() {
		for i, s := range rows {
			if h := halvesOf(hits[i].Key, t.scale[s.row], t.originals.read(s.row, buf)); h != nil {
				hits[i].Score = float64(dot.WithHalves(q.v, h))
			}
		}
	})
	for i, s := range rows {
		if math.IsNaN(hits[i].Score) {
			damaged, hits[i].Score = true, t.byBytes(q.v, s.row)
		}
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.Key, b.Key))
	})
	return slices.Clip(hits[:min(k, len(hits))]), damaged
}

// byBytes returns the product of v with the bytes of a row.
func (t *table) byBytes(v []float32, row int32) float64 {
	sum, b := float32(0), t.at(row)
	for d, f := range v {
		sum += f * float32(int(b[d])-128)
	}
	return float64(sum) * float64(t.scale[row])
}

type scored struct {
	score float32
	row   int32
}

// A top is a bounded min-heap: the worst of the best rows is at its root. Rows
// with equal scores are ordered by key, the smaller the better.
type top []scored

func newTop(n int) top { return make(top, 0, n) }

// worst is the score below which a row need not be pushed.
func (h top) worst(n int) float32 {
	if len(h) < n {
		return float32(math.Inf(-1))
	}
	return h[0].score
}

func (h top) below(t *table, i, j int) bool {
	if h[i].score != h[j].score {
		return h[i].score < h[j].score
	}
	return t.keys[h[i].row] > t.keys[h[j].row]
}

// offer returns push as a function.
func (h *top) offer(t *table, n int) func(scored) {
	return func(s scored) { h.push(t, n, s) }
}

// push adds s if it is among the n best.
func (h *top) push(t *table, n int, s scored) {
	b := *h
	if len(b) < n {
		b = append(b, s)
		for i := len(b) - 1; i > 0 && b.below(t, i, (i-1)/2); i = (i - 1) / 2 {
			b[i], b[(i-1)/2] = b[(i-1)/2], b[i]
		}
		*h = b
		return
	}
	if s.score < b[0].score || s.score == b[0].score && t.keys[s.row] >= t.keys[b[0].row] {
		return
	}
	b[0] = s
	for i := 0; ; {
		worst := i
		for c := 2*i + 1; c <= 2*i+2 && c < n; c++ {
			if b.below(t, c, worst) {
				worst = c
			}
		}
		if worst == i {
			return
		}
		b[i], b[worst] = b[worst], b[i]
		i = worst
	}
}
