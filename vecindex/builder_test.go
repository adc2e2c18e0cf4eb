package vecindex

import (
	"math/rand/v2"
	"testing"
)

func TestPlan(t *testing.T) {
	for _, tc := range []struct {
		setting   string
		rows, dim int
		want      string
	}{
		{Auto, 0, 768, Exact},
		{Auto, 49_999, 768, Exact},
		{Auto, 50_000, 768, Sketch},
		{Auto, 199_999, 768, Sketch},
		{Auto, 200_000, 768, Graph},
		{Auto, 299_999, 128, Exact}, // shorter rows are scanned sooner
		{Auto, 300_000, 128, Sketch},
		{Auto, 1_200_000, 128, Graph},
		{Exact, 1_200_000, 768, Exact},
		{Sketch, 0, 768, Sketch},
		{Graph, 10, 128, Graph},
		{CoderGraph, 10, 128, CoderGraph},
	} {
		if got := plan(tc.setting, tc.rows, tc.dim); got != tc.want {
			t.Errorf("plan(%s, %d, %d) = %s, want %s", tc.setting, tc.rows, tc.dim, got, tc.want)
		}
	}
}

func TestReplan(t *testing.T) {
	for _, tc := range []struct {
		built string
		rows  int
		want  string
	}{
		{Sketch, 50_000, Sketch},
		{Sketch, 42_000, Sketch},
		{Sketch, 41_000, Exact},
		{Graph, 168_000, Graph},
		{Graph, 166_000, Sketch},
		{Graph, 20_000, Exact},
		{Sketch, 199_999, Sketch},
		{Sketch, 200_000, Graph},
	} {
		if got := replan(tc.built, Auto, tc.rows, 768); got != tc.want {
			t.Errorf("%s is built, %d rows: %s, want %s", tc.built, tc.rows, got, tc.want)
		}
	}
}

func TestOutdated(t *testing.T) {
	at := tableVersion{generation: 1, rows: 1000, dead: 0}
	for _, tc := range []struct {
		now  tableVersion
		want bool
	}{
		{at, false},
		{tableVersion{1, 1064, 0}, false},
		{tableVersion{1, 1249, 0}, false},
		{tableVersion{1, 1260, 0}, true},
		{tableVersion{1, 1000, 160}, false},
		{tableVersion{1, 1000, 180}, true},
		{tableVersion{1, 1100, 140}, true},
		{tableVersion{2, 1000, 0}, true},
	} {
		if got := at.outdated(tc.now); got != tc.want {
			t.Errorf("%v.outdated(%v) = %t", at, tc.now, got)
		}
	}
	if !(tableVersion{}).outdated(tableVersion{generation: 1}) {
		t.Error("what was never checked is not outdated")
	}
}

// TestWhatServesIsCheckedAgainAsRowsChange: the report follows the rows, and few
// changes are not worth a check.
func TestWhatServesIsCheckedAgainAsRowsChange(t *testing.T) {
	const dim = 32
	all := clusters(rand.New(rand.NewPCG(52, 52)), 900, dim)
	x := open(t, dim)
	put(t, x, 0, all[:300])
	x.Serve(Sketch, nil)
	if err := x.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := x.Report(); r.Engine != Sketch || r.Recall < minRecall || r.P50 <= 0 || r.Exact <= 0 {
		t.Fatalf("%+v", r)
	}
	x.builder.close() // from here on the test is the builder's goroutine
	round := func() tableVersion {
		x.builder.update(t.Context(), false)
		return x.builder.checked
	}
	first := round()
	put(t, x, 300, all[300:350])
	if at := round(); at != first {
		t.Errorf("50 of 350 rows are new: checked again, %+v", at)
	}
	if s := x.state.serving.Load().engine.(*sketch); s.rows != 350 {
		t.Errorf("the sketch has %d rows of 350", s.rows)
	}
	put(t, x, 350, all[350:])
	if at := round(); at.rows != 900 {
		t.Errorf("after 600 new rows it was checked with %d", at.rows)
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

// TestGraphThatFindsTooLittleIsBuiltAgain spoils the links of a graph that serves:
// once rows came to it, its check fails and a new one is built.
func TestGraphThatFindsTooLittleIsBuiltAgain(t *testing.T) {
	const dim, n = 24, 900
	all := clusters(rand.New(rand.NewPCG(54, 54)), n, dim)
	x := open(t, dim)
	put(t, x, 0, all[:n-200])
	x.Serve(Graph, nil)
	if err := x.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	x.builder.close()
	spoilt := graphOf(x)
	for _, b := range spoilt.lowest {
		for i := range b {
			b[i] = noLink
		}
	}
	put(t, x, n-200, all[n-200:])
	x.builder.update(t.Context(), false)
	if g := graphOf(x); g == spoilt || x.state.serving.Load().engine != g {
		t.Error("the spoilt graph serves")
	}
	if r := x.Report(); r.Engine != Graph || r.Recall < targetRecall {
		t.Errorf("%+v", r)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}
