package vecindex

import (
	"time"
)

// The ways to search, as the setting vector_index names them.
const (
	Auto       = "auto"       // what is measured to be as good as the scan, and faster
	Exact      = "exact"      // scan all rows
	Sketch     = "sketch"     // count sign bits of all rows, scan the best
	Graph      = "hnsw"       // walk our own graph
	CoderGraph = "coder-hnsw" // walk the graph of github.com/coder/hnsw; not on Windows
)

// A way proposes rows for a search faster than the scan does, and may miss some.
type way interface {
	name() string
	// efforts are what may be spent on a search, in rising order; more finds more.
	efforts() []int
	// fits reports whether the way can search t.
	fits(t *table) bool
	// propose returns the best n rows it finds among those that may be found. The
	// caller holds the index's lock.
	propose(t *table, a *ask, n, effort int) top
}

// selective is the share of rows below which those that pass a filter are
// scanned: a graph would mostly walk over rows that do not pass.
const selective = 0.2

// A Report says what answers searches, how well, and why.
type Report struct {
	Engine string        // exact, sketch, hnsw or coder-hnsw
	Forced bool          // the setting says so, whatever was measured
	Recall float64       // of the ten nearest of the exact scan; 0 if not measured
	P50    time.Duration // of one search in this process; 0 if not measured
	Exact  time.Duration // of the exact scan of the same queries
	Why    string
}

// sparse is the share of rows up to which a way may look one by one: a row here
// and there costs what eight do that follow each other, so that with more of them
// all rows are scanned as fast, and none is missed. Measured with 126,895 rows of
// 128 dimensions: of 16,384 rows, and of all, 10 ms each on a busy machine; of
// 81,920, which is what 100 results take where 10 take 8,192, 12 to 20.
const sparse = 0.125

// served is what answers searches. The zero value is the exact scan.
type served struct {
	way    way
	effort int
	report Report
}

// search returns the k best rows that may be found.
func (s served) search(t *table, a *ask, k int) (hits []Hit, damaged bool) {
	n := keep(k)
	effort := s.effort * max(1, k/gateK) // measured for ten results: more of them need more
	few := float64(a.passing) < selective*float64(t.live())
	much := effort > s.effort && float64(effort) > sparse*float64(t.live())
	if s.way == nil || !s.way.fits(t) || few || much {
		return t.rank(a, t.scan(a, n), k)
	}
	rows := s.way.propose(t, a, n, max(effort, n))
	if len(rows) < min(k, a.passing) { // it must not find fewer than there are
		rows = t.scan(a, n)
	}
	return t.rank(a, rows, k)
}

// Report returns what answers searches at the moment.
func (x *Index) Report() Report {
	x.mu.RLock()
	defer x.mu.RUnlock()
	r := x.serves.report
	if r.Engine == "" {
		r.Engine = Exact
	}
	if x.damaged.Load() {
		r.Why += "; originals are damaged, all vectors are stored again at the next start"
	}
	return r
}

// Engine names what answers searches.
func (x *Index) Engine() string { return x.Report().Engine }
