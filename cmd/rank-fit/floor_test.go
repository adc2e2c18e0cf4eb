//go:build accept

package main

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/daemon/eval"
	"github.com/foldwatch/foldwatch/daemon/eval/corpus"
	"github.com/foldwatch/foldwatch/daemon/recall"
)

// TestDefaultsStayAboveTheFloors asks traefik and the conversations through the
// daemon's own search. The corpora hold manuals and code together, and results show
// three chunks of a file: the bounds are a little below what that path was measured
// to find. That of set c stands below the mark for it, .595, which is not reached.
func TestDefaultsStayAboveTheFloors(t *testing.T) {
	dir := os.Getenv("FOLDWATCH_EVAL")
	if dir == "" || testing.Short() {
		t.Skip("takes minutes: FOLDWATCH_EVAL says where the evaluation sets are")
	}
	sets, err := corpus.ReadSets(dir)
	if err != nil {
		t.Fatal(err)
	}
	var repos []string
	for _, q := range sets.Queries("d") {
		if n := len(repos); n == 0 || repos[n-1] != q.Repo {
			repos = append(repos, q.Repo)
		}
	}
	corpora, missing, err := sets.Prepare(t.Context(), t.TempDir(), corpus.Choice{Repos: append(repos, "traefik")})
	if err != nil || len(missing) > 0 {
		t.Skipf("corpora cannot be had here: %v, %v", missing, err)
	}
	s, err := corpus.Open(t.Context(), corpus.Options{}, corpora...)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	questions := sets.Queries("", append(repos, "traefik")...)
	run, err := s.Run(t.Context(), questions, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	floors := map[string]struct{ ndcg, recall float64 }{"a": {.63, .76}, "b": {.54, .72}, "c": {.53, .69}, "d": {.555, .73}}
	for _, r := range eval.Report(questions, run, eval.ReportOptions{}) {
		got, floor := r.Macro, floors[r.Set]
		t.Logf("set %s: nDCG@10 %.3f [%.3f, %.3f], recall@10 %.3f", r.Set, got.NDCG10.Mean, got.NDCG10.Low, got.NDCG10.High, got.Recall10.Mean)
		if got.NDCG10.Mean < floor.ndcg || got.Recall10.Mean < floor.recall {
			t.Errorf("set %s is below its floor %v", r.Set, floor)
		}
	}
}

// TestSearchesOfTenThousandChunksAreFast asks hugo, with its manual 10,000 chunks,
// one question after the other. It is for a machine that does nothing else.
func TestSearchesOfTenThousandChunksAreFast(t *testing.T) {
	dir := os.Getenv("FOLDWATCH_EVAL")
	if dir == "" || testing.Short() {
		t.Skip("takes minutes: FOLDWATCH_EVAL says where the evaluation sets are")
	}
	sets, err := corpus.ReadSets(dir)
	if err != nil {
		t.Fatal(err)
	}
	corpora, missing, err := sets.Prepare(t.Context(), t.TempDir(), corpus.Choice{Sets: "ab", Repos: []string{"hugo"}})
	if err != nil || len(missing) > 0 {
		t.Skipf("hugo cannot be had here: %v, %v", missing, err)
	}
	s, err := corpus.Open(t.Context(), corpus.Options{}, corpora...)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var took []time.Duration
	for _, q := range sets.Queries("ab", "hugo") {
		start := time.Now()
		if _, err := s.Answer(t.Context(), q, recall.Channels{recall.Words}); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	p50, p95 := took[len(took)/2], took[len(took)*95/100]
	t.Logf("%d questions: p50 %v, p95 %v", len(took), p50, p95)
	if p95 > 20*time.Millisecond {
		t.Errorf("p95 = %v, want at most 20 ms", p95)
	}
}
