package vecindex

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// After each build an engine is compared with the exact scan: it serves by itself
// only if it finds what the scan finds.
const (
	minRecall      = 0.97 // of the ten nearest: below that an engine serves only if it is forced
	targetRecall   = 0.99 // the effort grows until this is reached
	checkedQueries = 64
)

// A checkResult is what a check found.
type checkResult struct {
	effort int           // the least one that reaches targetRecall, or the greatest
	recall float64       // of the ten nearest of the exact scan
	p50    time.Duration // of a search, for the report
	exact  time.Duration // of the exact scan
}

// maxEffort is the effort above which an engine is no faster than the scan, for
// so many live rows.
func maxEffort(rows int) float64 { return sparseShare * float64(rows) }

// check compares e, nil for the scan itself, with the exact scan. Efforts above
// most are not tried. It holds the lock for one search at a time.
func check(ctx context.Context, st *state, e engine, most float64) (checkResult, error) {
	defer st.release() // the queries have read originals all over the file
	queries := st.sample(checkedQueries)
	if e != nil { // else only the time of a scan is wanted
		queries = perturbed(st, queries)
	}
	want, exact, err := searchAll(ctx, st, &serving{}, queries)
	v := checkResult{recall: recallOf(want, want), p50: exact, exact: exact}
	if err != nil || e == nil {
		return v, err
	}
	for i, effort := range e.efforts() {
		if i > 0 && (v.recall >= targetRecall || float64(effort) > most) {
			break
		}
		got, p50, err := searchAll(ctx, st, &serving{engine: e, effort: effort}, queries)
		if err != nil {
			return v, err
		}
		v.effort, v.recall, v.p50 = effort, recallOf(want, got), p50
	}
	return v, nil
}

// perturbed moves stored vectors by half of what two of their neighbours differ
// by: away from what is stored, but not out of where vectors are. A stored vector
// itself is a node of a graph, and found too easily.
func perturbed(st *state, stored [][]float32) [][]float32 {
	for _, v := range stored {
		hits, _ := st.search(&serving{}, v, checkedK, nil)
		if len(hits) < 4 {
			continue
		}
		a, aok := st.vector(hits[len(hits)/3].Key)
		b, bok := st.vector(hits[len(hits)-1].Key)
		if !aok || !bok { // dropped meanwhile
			continue
		}
		for d := range v {
			v[d] += (a[d] - b[d]) / 2
		}
		normalize(v)
	}
	return stored
}

// searchAll searches for queries by s and returns the median of the times.
func searchAll(ctx context.Context, st *state, s *serving, queries [][]float32) (hits [][]Hit, p50 time.Duration, err error) {
	var times []time.Duration
	for _, v := range queries {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		start := time.Now()
		found, _ := st.search(s, v, checkedK, nil)
		times, hits = append(times, time.Since(start)), append(hits, found)
	}
	if len(times) > 0 {
		slices.Sort(times)
		p50 = times[len(times)/2]
	}
	return hits, p50, nil
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

// decide returns what is to serve: e if the check found that it finds enough, or
// if it is forced, else the exact scan. A nil engine is one the plan does not ask
// for, or that could not be built because of failure.
func decide(setting string, rows int, e engine, v checkResult, failure error) *serving {
	s := &serving{report: Report{Engine: Exact, Forced: setting == Exact, P50: v.exact, Exact: v.exact}}
	if v.exact > 0 {
		s.report.Recall = 1
	}
	enough := v.recall >= minRecall && float64(v.effort) <= maxEffort(rows)
	switch {
	case failure != nil:
		s.report.Why = "no faster engine: " + failure.Error()
	case e == nil && setting == Exact:
		s.report.Why = "set by vector_index"
	case e == nil && setting == Auto:
		s.report.Why = fmt.Sprintf("%d vectors need nothing faster", rows)
	case e == nil:
		s.report.Why = setting + " is not ready"
	case setting == Auto && !enough:
		s.report.Why = fmt.Sprintf("nothing faster is as good; %s refused: recall %.3f at effort %d", e.name(), v.recall, v.effort)
	default:
		s.engine, s.effort = e, v.effort
		s.report.Engine, s.report.Forced, s.report.Recall, s.report.P50 = e.name(), setting != Auto, v.recall, v.p50
		switch {
		case setting == Auto:
			s.report.Why = fmt.Sprintf("as good as the exact scan, which takes %.2f ms", float64(v.exact)/float64(time.Millisecond))
		case v.recall >= minRecall:
			s.report.Why = "set by vector_index; it finds enough to serve by itself"
		default:
			s.report.Why = "set by vector_index, though it finds too little to serve by itself"
		}
	}
	return s
}
