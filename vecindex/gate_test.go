package vecindex

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/vecindex/dot"
)

// A defect is a way with a fault; it takes no time.
type defect struct {
	fault string
	scan  func(t *table, a *ask, n, effort int) top
}

func (d defect) name() string                                { return d.fault }
func (d defect) efforts() []int                              { return []int{1, 2, 4} }
func (d defect) fits(*table) bool                            { return true }
func (d defect) propose(t *table, a *ask, n, effort int) top { return d.scan(t, a, n, effort) }

// TestGateFindsSeededDefects: the gate must refuse what it is there to refuse.
func TestGateFindsSeededDefects(t *testing.T) {
	const dim, n = 32, 2000
	r := rand.New(rand.NewPCG(51, 51))
	all := clusters(r, n+recentQueries, dim)
	x := open(t, dim)
	put(t, x, 0, all[:n])
	for _, q := range all[n:] {
		x.asked.add(q)
	}
	drops := func(every int) func(*table, *ask, int, int) top {
		return func(t *table, a *ask, n, _ int) top {
			out := newTop(n)
			for i, s := range t.scan(a, 4*n) {
				if (int(s.row)+i)%every != 0 {
					out.push(t, n, s)
				}
			}
			return out
		}
	}
	for _, tc := range []struct {
		way     defect
		refused bool
	}{
		{defect{"drops a third", drops(3)}, true},
		{defect{"drops a tenth", drops(10)}, true},
		{defect{"finds the worst", func(t *table, a *ask, n, _ int) top {
			out := newTop(n)
			for row := range int32(t.len()) {
				s := scored{-float32(a.q.One(t.ptr(row))) * t.scale[row], row}
				out.push(t, n, s)
			}
			return out
		}}, true},
		{defect{"finds its own vectors alone", func(t *table, a *ask, n, _ int) top { return t.scan(a, 1) }}, false}, // mended by the scan
		{defect{"finds nothing recent", func(t *table, a *ask, n, _ int) top {
			for _, q := range all[len(all)-recentQueries:] {
				if &q[0] == &a.v[0] || q[0] == a.v[0] && q[1] == a.v[1] {
					return t.scanBlocks(a, n, 0, 1)
				}
			}
			return t.scan(a, n)
		}}, true},
		{defect{"none", func(t *table, a *ask, n, _ int) top { return t.scan(a, n) }}, false},
		{defect{"needs effort", func(t *table, a *ask, n, effort int) top {
			if effort < 4 {
				return drops(2)(t, a, n, effort)
			}
			return t.scan(a, n)
		}}, false},
	} {
		t.Run(tc.way.fault, func(t *testing.T) {
			_, trials, err := x.measure(t.Context(), []way{tc.way})
			if err != nil || len(trials) != 1 {
				t.Fatalf("measure = %v, %v", trials, err)
			}
			r := trials[0]
			r.p50 = time.Microsecond
			s := choose(Auto, n, time.Millisecond, []trial{r})
			if refused := s.way == nil; refused != tc.refused {
				t.Errorf("recall %.3f at effort %d: refused %v, want %v: %+v", r.recall, r.effort, refused, tc.refused, s.report)
			}
			if tc.refused && (s.report.Engine != Exact || !strings.Contains(s.report.Why, tc.way.fault+" refused")) {
				t.Errorf("%+v", s.report)
			}
		})
	}
}

func TestChoose(t *testing.T) {
	const scan = 2 * time.Millisecond
	good := trial{way: &bySketch{}, effort: 256, recall: .991, p50: time.Millisecond}
	graph := trial{way: &byGraph{}, effort: 64, recall: .99, p50: scan / 10}
	fair := trial{way: &byGraph{}, effort: 2048, recall: .98, p50: scan / 10}
	poor := trial{way: &byGraph{}, effort: 2048, recall: .96, p50: scan / 10}
	slow := trial{way: &byGraph{}, effort: 2048, recall: 1, p50: scan}
	for _, tc := range []struct {
		name    string
		setting string
		trials  []trial
		want    Report
		why     string
	}{
		{"few rows", Auto, nil, Report{Engine: Exact, Recall: 1, P50: scan}, "5 vectors need nothing faster"},
		{"set to exact", Exact, nil, Report{Engine: Exact, Forced: true, Recall: 1, P50: scan}, "set by vector_index"},
		{"one that passes", Auto, []trial{good}, Report{Engine: Sketch, Recall: .991, P50: good.p50}, "as good as the exact scan, which takes 2.00 ms"},
		{"the faster of two", Auto, []trial{good, graph}, Report{Engine: Graph, Recall: .99, P50: graph.p50}, "as good"},
		{"in the other order", Auto, []trial{graph, good}, Report{Engine: Graph, Recall: .99, P50: graph.p50}, "as good"},
		{"the one that finds more", Auto, []trial{fair, good}, Report{Engine: Sketch, Recall: .991, P50: good.p50}, "as good"},
		{"in the other order", Auto, []trial{good, fair}, Report{Engine: Sketch, Recall: .991, P50: good.p50}, "as good"},
		{"one that finds enough", Auto, []trial{fair}, Report{Engine: Graph, Recall: .98, P50: fair.p50}, "as good"},
		{"too little found", Auto, []trial{poor}, Report{Engine: Exact, Recall: 1, P50: scan}, "hnsw refused: recall 0.960"},
		{"too slow", Auto, []trial{slow}, Report{Engine: Exact, Recall: 1, P50: scan}, "hnsw refused: recall 1.000, p50 2.00 ms"},
		{"one refused, one not", Auto, []trial{poor, good}, Report{Engine: Sketch, Recall: .991, P50: good.p50}, "hnsw refused"},
		{"forced and poor", Graph, []trial{poor}, Report{Engine: Graph, Forced: true, Recall: .96, P50: poor.p50}, "would not let it serve"},
		{"forced and good", Graph, []trial{graph}, Report{Engine: Graph, Forced: true, Recall: .99, P50: graph.p50}, "would let it serve"},
		{"forced, not built", Graph, nil, Report{Engine: Exact, Recall: 1, P50: scan}, "hnsw is not ready"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := choose(tc.setting, 5, scan, tc.trials).report
			if !strings.Contains(got.Why, tc.why) {
				t.Errorf("why %q, want %q", got.Why, tc.why)
			}
			tc.want.Exact = scan
			if got.Why = ""; got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}

// TestWhatServesIsMeasuredAgainAsRowsChange: the report follows the rows.
func TestWhatServesIsMeasuredAgainAsRowsChange(t *testing.T) {
	const dim = 32
	all := clusters(rand.New(rand.NewPCG(52, 52)), 900, dim)
	x := open(t, dim)
	x.Serve(Sketch, nil)
	put(t, x, 0, all[:300])
	if err := x.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := x.Report(); r.Engine != Sketch || r.Recall < gateRecall || r.P50 <= 0 || r.Exact <= 0 {
		t.Fatalf("%+v", r)
	}
	last := func() int {
		x.mu.RLock()
		defer x.mu.RUnlock()
		return x.measured.times
	}
	before := last()
	put(t, x, 300, all[300:])
	for deadline := time.Now().Add(20 * time.Second); ; {
		if time.Now().After(deadline) {
			t.Fatal("not measured again")
		}
		if err := x.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if last() > before {
			break
		}
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if err := x.Settle(t.Context()); err == nil {
		t.Error("Settle after Close = nil")
	}
	if err := x.Apply(1, []Vec{{Key: "c:1", Memory: "m", V: all[0]}}, nil); err == nil {
		t.Error("Apply after Close = nil")
	}
	if hits := x.Search(all[0], 3, nil); len(hits) != 0 {
		t.Errorf("Search after Close = %v", hits)
	}
	if err := x.Close(); err != nil {
		t.Errorf("second Close = %v", err)
	}
}

// TestToAndFroIsNotMeasuredAgain: a few vectors that come and go, as between two
// branches, are few however often they do.
func TestToAndFroIsNotMeasuredAgain(t *testing.T) {
	const dim, few = 32, 20
	all := clusters(rand.New(rand.NewPCG(53, 53)), 1000, dim)
	x := open(t, dim)
	defer x.Close()
	put(t, x, 0, all)
	x.Serve(Sketch, nil)
	// The tending goroutine alone may ask for more, and takes one turn at a time.
	turn := func() (times int) {
		t.Helper()
		x.gate(t.Context(), []way{x.sketchWay}, false)
		x.mu.RLock()
		defer x.mu.RUnlock()
		return x.measured.times
	}
	if err := x.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	x.stopTending()
	before := turn()
	drop := make([]string, few)
	vecs := make([]Vec, few)
	for i := range few {
		drop[i] = fmt.Sprintf("c:branch%d", i)
		vecs[i] = Vec{Key: drop[i], Memory: "m", V: all[i]}
	}
	for i := range 20 { // 800 changes of 1000 rows
		if err := x.Apply(int64(10+2*i), vecs, nil); err != nil {
			t.Fatal(err)
		}
		if err := x.Apply(int64(11+2*i), nil, drop); err != nil {
			t.Fatal(err)
		}
	}
	if after := turn(); after != before {
		t.Errorf("%d vectors to and fro were measured %d times", few, after-before)
	}
	if x.drift.n != few {
		t.Errorf("%d rows differ, want %d", x.drift.n, few)
	}
	for i := range 200 { // a fifth of all
		if err := x.Apply(100, []Vec{{Key: fmt.Sprint("c:more", i), Memory: "m", V: all[i]}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if after := turn(); after != before+1 {
		t.Errorf("after a fifth of the rows it was measured %d times, want 1", after-before)
	}
}

// TestAGraphGoesByBytes: rows of few dimensions are scanned before anybody
// notices, so more of them are needed to make a graph worth its minutes.
func TestAGraphGoesByBytes(t *testing.T) {
	if dot.Kernel() == "go" {
		t.Skip("SKIP: without machine code for the scan all bounds are lower")
	}
	for _, tc := range []struct {
		setting       string
		live, dim     int
		sketch, graph bool
	}{
		{Auto, sketchFrom - 1, 768, false, false},
		{Auto, sketchFrom, 128, true, false},
		{Auto, 199_999, 768, true, false},
		{Auto, 200_000, 768, true, true},
		{Auto, 500_000, 128, true, false},
		{Auto, 1_200_000, 128, true, true},
		{Graph, 10, 128, false, true},
		{Exact, 1_200_000, 768, false, false},
	} {
		if sketch, graph := wants(tc.setting, tc.live, tc.dim); sketch != tc.sketch || graph != tc.graph {
			t.Errorf("%s, %d rows of %d bytes: sketch %t, graph %t, want %t, %t", tc.setting, tc.live, tc.dim, sketch, graph, tc.sketch, tc.graph)
		}
	}
}
