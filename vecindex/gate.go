package vecindex

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The gate: a way serves only if it finds what the scan finds, and is faster.
const (
	gateRecall = 0.97 // of the ten nearest: below that a way never serves by itself
	aimRecall  = 0.99 // the effort grows until this is reached
	gateK      = 10
	gateStored = 64  // queries that are stored vectors; beside them the recent ones
	gateFaster = 0.9 // share of the scan's time that a way may take
)

// A trial is what was measured of one way.
type trial struct {
	way    way
	effort int
	recall float64
	p50    time.Duration
}

// passes reports whether the gate lets a way serve beside a scan of that time.
func (r trial) passes(exact time.Duration) bool {
	return r.recall >= gateRecall && float64(r.p50) <= gateFaster*float64(exact)
}

// better reports whether of two ways that pass this one is to serve: the one that
// finds what is aimed at, and of two such the faster.
func (r trial) better(than Report) bool {
	if aims, does := r.recall >= aimRecall, than.Recall >= aimRecall; aims != does {
		return aims
	}
	return r.p50 < than.P50
}

// choose returns what is to serve: the best that passes the gate, the forced one
// whether it passes or not, else the scan.
func choose(setting string, rows int, exact time.Duration, trials []trial) served {
	best := served{report: Report{Engine: Exact, Recall: 1, P50: exact, Exact: exact, Forced: setting == Exact}}
	var refused strings.Builder
	for _, r := range trials {
		forced := setting == r.way.name()
		if !forced && !r.passes(exact) {
			fmt.Fprintf(&refused, "; %s refused: recall %.3f, p50 %s", r.way.name(), r.recall, short(r.p50))
			continue
		}
		if !forced && best.way != nil && !r.better(best.report) {
			continue
		}
		best.way, best.effort = r.way, r.effort
		best.report = Report{Engine: r.way.name(), Forced: forced, Recall: r.recall, P50: r.p50, Exact: exact}
	}
	switch {
	case best.report.Forced && best.way == nil:
		best.report.Why = "set by vector_index"
	case best.report.Forced:
		best.report.Why = "set by vector_index; the gate would let it serve"
		for _, r := range trials {
			if r.way == best.way && !r.passes(exact) {
				best.report.Why = "set by vector_index, though the gate would not let it serve"
			}
		}
	case best.way != nil:
		best.report.Why = fmt.Sprintf("as good as the exact scan, which takes %s", short(exact))
	case len(trials) == 0 && setting == Auto:
		best.report.Why = fmt.Sprintf("%d vectors need nothing faster", rows)
	case len(trials) == 0:
		best.report.Why = setting + " is not ready"
	default:
		best.report.Why = "nothing faster is as good"
	}
	best.report.Why += refused.String()
	return best
}

// short prints a duration of a search.
func short(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}

// measure compares ways with the scan on stored and recent queries. It takes the
// lock for one search at a time.
func (x *Index) measure(ctx context.Context, ways []way) (exact time.Duration, trials []trial, err error) {
	defer x.release() // queries all over the rows have read most of the file
	queries := x.storedQueries(gateStored)
	stored := len(queries)
	if len(ways) > 0 {
		asked := x.asked.all()
		queries = append(queries, x.strangers(queries[:max(0, min(stored, recentQueries-len(asked)))])...)
		queries = append(queries, asked...)
	}
	want := make([][]Hit, len(queries))
	if exact, err = x.timeAll(ctx, served{}, queries, want); err != nil {
		return 0, nil, err
	}
	for _, w := range ways {
		var r trial
		for _, effort := range w.efforts() {
			got := make([][]Hit, len(queries))
			r = trial{way: w, effort: effort}
			if r.p50, err = x.timeAll(ctx, served{way: w, effort: effort}, queries, got); err != nil {
				return 0, nil, err
			}
			if r.recall = worseHalf(want, got, stored); r.recall >= aimRecall || r.p50 > exact && w.name() != x.setting {
				break
			}
		}
		trials = append(trials, r)
	}
	return exact, trials, nil
}

// release gives back what the originals that were read take of memory.
func (x *Index) release() {
	x.mu.RLock()
	defer x.mu.RUnlock()
	x.t.originals.release()
}

// storedQueries returns up to n stored vectors, evenly spread.
func (x *Index) storedQueries(n int) [][]float32 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var out [][]float32
	last := int32(-1)
	for i := range n {
		row := max(int32(int64(x.t.len())*int64(i)/int64(n)), last+1)
		for int(row) < x.t.len() && x.t.dead.has(row) {
			row++
		}
		if int(row) < x.t.len() {
			out, last = append(out, x.t.vector(row)), row
		}
	}
	return out
}

// strangers returns queries like those that are asked, in place of recent ones
// where there are too few yet: a stored vector is a node of the graph, so that
// the way to it is short. Each is moved by half of what two of its neighbours
// differ by: away from what is stored, and not out of where vectors are.
func (x *Index) strangers(stored [][]float32) [][]float32 {
	var out [][]float32
	for _, v := range stored {
		hits, _ := x.answer(served{}, v)
		if len(hits) < 4 {
			continue
		}
		a, aok := x.Vector(hits[len(hits)/3].Key)
		b, bok := x.Vector(hits[len(hits)-1].Key)
		if !aok || !bok { // dropped meanwhile
			continue
		}
		q := slices.Clone(v)
		for d := range q {
			q[d] += (a[d] - b[d]) / 2
		}
		if normalize(q); x.check(q) == nil {
			out = append(out, q)
		}
	}
	return out
}

// timeAll answers the queries by s into hits, and returns the median of the
// times.
func (x *Index) timeAll(ctx context.Context, s served, queries [][]float32, hits [][]Hit) (time.Duration, error) {
	times := make([]time.Duration, len(queries))
	for i, v := range queries {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		hits[i], times[i] = x.answer(s, v)
	}
	slices.Sort(times)
	if len(times) == 0 {
		return 0, nil
	}
	return times[len(times)/2], nil
}

func (x *Index) answer(s served, v []float32) ([]Hit, time.Duration) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	start := time.Now()
	hits := x.searchBy(s, v, gateK, nil)
	return hits, time.Since(start)
}

// worseHalf is the recall of the stored queries, the first ones, or of the others,
// whichever is lower: an average would hide what those who ask do not find.
func worseHalf(want, got [][]Hit, stored int) float64 {
	recall := recallOf(want[:stored], got[:stored])
	if stored < len(want) {
		recall = min(recall, recallOf(want[stored:], got[stored:]))
	}
	return recall
}

// recallOf is the share of what should have been found that was, ties counted as
// found.
func recallOf(want, got [][]Hit) float64 {
	found, all := 0, 0
	for i, w := range want {
		if len(w) == 0 {
			continue
		}
		worst := w[len(w)-1].Score
		all += len(w)
		n := 0
		for _, h := range got[i] {
			if h.Score >= worst {
				n++
			}
		}
		found += min(n, len(w))
	}
	if all == 0 {
		return 0
	}
	return float64(found) / float64(all)
}
