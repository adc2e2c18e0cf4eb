package vecindex

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// A defect is an engine with a fault.
type defect struct {
	fault string
	scan  func(t *table, q *query, effort int) top
}

func (d defect) name() string                                   { return d.fault }
func (d defect) efforts() []int                                 { return []int{1, 2, 4} }
func (d defect) fits(*table) bool                               { return true }
func (d defect) extend(context.Context, *table) (engine, error) { return d, nil }

func (d defect) propose(t *table, q *query, effort int, offer func(scored)) int {
	for _, s := range d.scan(t, q, effort) {
		offer(s)
	}
	return t.len()
}

// TestCheckFindsSeededDefects: the check must refuse what it is there to refuse.
func TestCheckFindsSeededDefects(t *testing.T) {
	const dim, n = 32, 2000
	n10 := candidates(checkedK)
	x := open(t, dim)
	put(t, x, 0, clusters(rand.New(rand.NewPCG(51, 51)), n, dim))
	drops := func(every int) func(*table, *query, int) top {
		return func(t *table, q *query, _ int) top {
			out := newTop(n10)
			for i, s := range t.scan(q, 4*n10) {
				if (int(s.row)+i)%every != 0 {
					out.push(t, n10, s)
				}
			}
			return out
		}
	}
	for _, tc := range []struct {
		engine  defect
		refused bool
	}{
		{defect{"drops a third", drops(3)}, true},
		{defect{"drops a tenth", drops(10)}, true},
		{defect{"finds the worst", func(t *table, q *query, _ int) top {
			out := newTop(n10)
			for row := range int32(t.len()) {
				out.push(t, n10, scored{-float32(q.bytes.One(t.ptr(row))) * t.scale[row], row})
			}
			return out
		}}, true},
		{defect{"finds one alone", func(t *table, q *query, _ int) top { return t.scan(q, 1) }}, false}, // the scan helps
		{defect{"finds what is stored alone", func(t *table, q *query, _ int) top {
			best := t.scan(q, n10)
			for _, s := range best {
				if t.byBytes(q.v, s.row) > .99 {
					return best
				}
			}
			return t.scanBlocks(q, n10, 0, 1)
		}}, true},
		{defect{"finds the first rows alone", func(t *table, q *query, _ int) top { return t.scanBlocks(q, n10, 0, 1) }}, true},
		{defect{"none", func(t *table, q *query, _ int) top { return t.scan(q, n10) }}, false},
		{defect{"needs effort", func(t *table, q *query, effort int) top {
			if effort < 4 {
				return drops(2)(t, q, effort)
			}
			return t.scan(q, n10)
		}}, false},
	} {
		t.Run(tc.engine.fault, func(t *testing.T) {
			v, err := check(t.Context(), x.state, tc.engine, n)
			if err != nil {
				t.Fatal(err)
			}
			s := decide(Auto, n, tc.engine, v, nil)
			if refused := s.engine == nil; refused != tc.refused {
				t.Errorf("recall %.3f at effort %d: refused %v, want %v: %+v", v.recall, v.effort, refused, tc.refused, s.report)
			}
			if tc.refused && (s.report.Engine != Exact || !strings.Contains(s.report.Why, tc.engine.fault+" refused")) {
				t.Errorf("%+v", s.report)
			}
		})
	}
}

func TestDecide(t *testing.T) {
	const scan, walk, rows = 2 * time.Millisecond, 200 * time.Microsecond, 100_000
	exact := Report{Engine: Exact, Recall: 1, P50: scan}
	for _, tc := range []struct {
		name    string
		setting string
		rows    int
		engine  engine
		effort  int
		recall  float64
		failure error
		want    Report
		why     string
	}{
		{"few rows", Auto, 5, nil, 0, 1, nil, exact, "5 vectors need nothing faster"},
		{"set to exact", Exact, rows, nil, 0, 1, nil, Report{Engine: Exact, Forced: true, Recall: 1, P50: scan}, "set by vector_index"},
		{"finds enough", Auto, rows, &graph{}, 2048, .971, nil, Report{Engine: Graph, Recall: .971, P50: walk}, "as good as the exact scan, which takes 2.00 ms"},
		{"finds too little", Auto, rows, &graph{}, 2048, .96, nil, exact, "hnsw refused: recall 0.960 at effort 2048"},
		{"no faster than the scan", Auto, rows, &sketch{}, 16384, 1, nil, exact, "sketch refused: recall 1.000 at effort 16384"},
		{"the same of more rows", Auto, 2 * rows, &sketch{}, 16384, 1, nil, Report{Engine: Sketch, Recall: 1, P50: walk}, "as good"},
		{"forced, finds too little", Graph, rows, &graph{}, 2048, .96, nil, Report{Engine: Graph, Forced: true, Recall: .96, P50: walk}, "finds too little"},
		{"forced, finds enough", Graph, rows, &graph{}, 48, .99, nil, Report{Engine: Graph, Forced: true, Recall: .99, P50: walk}, "finds enough"},
		{"forced, few rows", Sketch, 5, &sketch{}, 256, 1, nil, Report{Engine: Sketch, Forced: true, Recall: 1, P50: walk}, "finds enough"},
		{"forced, failed", CoderGraph, rows, nil, 0, 1, errPanicked, exact, "panicked too often"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := decide(tc.setting, tc.rows, tc.engine, checkResult{tc.effort, tc.recall, walk, scan}, tc.failure)
			got := s.report
			if !strings.Contains(got.Why, tc.why) {
				t.Errorf("why %q, want %q", got.Why, tc.why)
			}
			tc.want.Exact = scan
			if got.Why = ""; got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
			if serves := tc.want.Engine != Exact; (s.engine != nil) != serves || serves && s.effort != tc.effort {
				t.Errorf("%v serves at effort %d", s.engine, s.effort)
			}
		})
	}
}
