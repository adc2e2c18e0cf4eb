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

// served is what answers searches. The zero value is the exact scan.
type served struct {
	way    way
	effort int
	report Report
}

// search returns the k best rows that may be found.
func (s served) search(t *table, a *ask, k int) (hits []Hit, damaged bool) {
	n := keep(k)
	if s.way == nil || !s.way.fits(t) || float64(a.passing) < selective*float64(t.live()) {
		return t.rank(a, t.scan(a, n), k)
	}
	// Measured for ten results: more of them need more.
	rows := s.way.propose(t, a, n, max(s.effort*max(1, k/10), n))
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
