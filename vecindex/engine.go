package vecindex

import (
	"context"
	"time"
)

// What may answer searches, as the setting vector_index names it.
const (
	Auto       = "auto"       // what plan says for so many rows
	Exact      = "exact"      // scan all rows
	Sketch     = "sketch"     // count differing sign bits of all rows, scan the best
	Graph      = "hnsw"       // walk our own graph
	CoderGraph = "coder-hnsw" // walk the graph of github.com/coder/hnsw; not on Windows
)

// Below these the exact scan is fast enough. It is bound by the bytes it reads, so
// the bounds are in rows of 768 dimensions, and for shorter rows more are needed.
const (
	sketchFrom = 50_000 * 768  // bytes of rows
	graphFrom  = 200_000 * 768 // a graph takes minutes of a core to build
)

// plan names the engine for so many live rows. It serves if its check passes, else
// the exact scan does.
func plan(setting string, rows, dim int) string {
	switch {
	case setting != Auto:
		return setting
	case rows*dim < sketchFrom:
		return Exact
	case rows*dim < graphFrom:
		return Sketch
	}
	return Graph
}

// replan is plan where an engine of that name is built already: it stays while a
// few more rows would ask for it, so that rows which come and go around a bound do
// not have a graph built again and again.
func replan(built, setting string, rows, dim int) string {
	if more := int(float64(rows) * (1 + staleShare)); plan(setting, more, dim) == built {
		return built
	}
	return plan(setting, rows, dim)
}

// An engine proposes rows for a search faster than the scan does, and may miss
// some. It was built from the rows of one generation of the table. Its methods but
// extend may be called at the same time.
type engine interface {
	name() string
	// efforts are what may be spent on a search, in rising order; more finds more.
	efforts() []int
	// fits reports whether the engine can search t.
	fits(t *table) bool
	// propose offers the best rows it finds among those that may be found, and
	// returns how many rows of t, from the first on, it knows.
	propose(t *table, q *query, effort int, offer func(scored)) (covered int)
	// extend returns the engine with the rows that t has more, or nil if it has to
	// be built anew. Searches may go on meanwhile.
	extend(ctx context.Context, t *table) (engine, error)
}

// A Report says what answers searches, how well, and why.
type Report struct {
	Engine string        // exact, sketch, hnsw or coder-hnsw
	Forced bool          // the setting says so, whatever the check found
	Recall float64       // of the ten nearest of the exact scan; 0 if not checked
	P50    time.Duration // of one search in this process; 0 if not checked
	Exact  time.Duration // of the exact scan of the same queries
	Why    string
}

// serving is what answers searches. It does not change. The zero value is the
// exact scan.
type serving struct {
	engine engine
	effort int
	report Report
}

const (
	// checkedK is the number of results an effort is found for.
	checkedK = 10

	// selectiveShare is the share of rows below which those that pass a filter are
	// scanned: a graph would mostly walk over rows that do not pass.
	selectiveShare = 0.2

	// staleShare is the share of rows that may have been added or dropped before the table
	// is compacted, and an engine checked again or built anew.
	staleShare = 0.2

	// sparseShare is the share of rows up to which a search may pick rows one by one: a
	// single row costs what eight consecutive ones do, so with more of them all rows
	// are scanned as fast and none is missed. Measured with 126,895 rows of 128
	// dimensions: 16,384 rows, and all rows, took 10 ms each; 81,920 rows, which is
	// what 100 results need where 10 need 8,192, took 12 to 20 ms.
	sparseShare = 0.125
)

// search returns the k best rows that may be found.
func (s *serving) search(t *table, q *query, k int) (hits []Hit, damaged bool) {
	n := candidates(k)
	if rows, ok := s.propose(t, q, n, k); ok {
		return t.rank(q, rows, k)
	}
	return t.rank(q, t.scan(q, n), k)
}

// propose returns n rows the engine finds, if it is to be asked and finds enough.
func (s *serving) propose(t *table, q *query, n, k int) (best top, ok bool) {
	if s.engine == nil || !s.engine.fits(t) || float64(q.passing) < selectiveShare*float64(t.live()) {
		return nil, false
	}
	effort := s.effort * max(1, k/checkedK)
	if effort > s.effort && float64(effort) > sparseShare*float64(t.live()) {
		return nil, false
	}
	best = newTop(n)
	offer := best.offer(t, n)
	covered := s.engine.propose(t, q, max(effort, n), offer)
	t.scanRows(q, offer, func(yield func(int32)) { // what came later
		for row := covered; row < t.len(); row++ {
			if q.may(t, int32(row)) {
				yield(int32(row))
			}
		}
	})
	// An engine must not find fewer rows than there are; the scan finds them all.
	return best, len(best) >= min(k, q.passing)
}
