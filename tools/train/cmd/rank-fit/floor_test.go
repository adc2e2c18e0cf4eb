//go:build accept

package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/daemon/eval"
	"github.com/foldwatch/foldwatch/daemon/eval/corpus"
	"github.com/foldwatch/foldwatch/daemon/recall"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/tools/train/sets"
	"github.com/foldwatch/foldwatch/vecindex/embedtest"
)

// measured are sets whose corpora can be had here, and a search of them. CLONES is
// a folder of git repositories, for corpora that no package registry has: without
// it only traefik and the conversations are asked.
type measured struct {
	*corpus.Searcher

	questions []eval.Query
	all       bool // repositories
}

func measure(t *testing.T, only string, opt corpus.Options) measured {
	t.Helper()
	dir := os.Getenv("FOLDWATCH_EVAL")
	if dir == "" || testing.Short() {
		t.Skip("SKIP: takes minutes: FOLDWATCH_EVAL says where the evaluation sets are")
	}
	all, err := sets.ReadSets(dir)
	if err != nil {
		t.Fatal(err)
	}
	choice := sets.Choice{Sets: only, Clones: os.Getenv("CLONES"), History: true}
	if choice.Clones == "" {
		choice.Repos = append(choice.Repos, "traefik")
		for _, q := range all.Queries("d") {
			if !slices.Contains(choice.Repos, q.Repo) {
				choice.Repos = append(choice.Repos, q.Repo)
			}
		}
	}
	corpora, missing, err := all.Prepare(t.Context(), t.TempDir(), choice)
	if err != nil {
		t.Fatal(err)
	}
	if len(missing) > 0 {
		t.Skipf("SKIP: corpora cannot be had here: %v", missing)
	}
	s, err := corpus.Open(t.Context(), opt, corpora...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return measured{s, all.Queries(only, choice.Repos...), choice.Clones != ""}
}

func (m measured) run(t *testing.T, channels ...recall.Channel) eval.Run {
	t.Helper()
	run, err := m.Run(t.Context(), m.questions, channels, nil)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// TestDefaultsStayAboveTheFloors asks through the daemon's own search, as everybody
// gets it and by words alone: what else is asked must not make it worse. Of one
// repository too few questions are known for the narrow bound of all of them.
func TestDefaultsStayAboveTheFloors(t *testing.T) {
	m := measure(t, "", corpus.Options{})
	words, all := m.run(t, recall.Words), m.run(t)
	floors, least := map[string]float64{"a": .7, "b": .57, "c": .56, "d": .555}, -.02
	if m.all {
		floors, least = map[string]float64{"a": .625, "b": .425, "c": .595, "d": .555}, -.005
	}
	for _, r := range eval.Report(m.questions, all, eval.ReportOptions{Base: words}) {
		got := r.Macro.NDCG10
		t.Logf("set %s: nDCG@10 %.3f [%.3f, %.3f], recall@10 %.3f, over words %+.3f [%+.3f, %+.3f]", r.Set, got.Mean, got.Low, got.High,
			r.Macro.Recall10.Mean, r.Gain.NDCG10.Mean, r.Gain.NDCG10.Low, r.Gain.NDCG10.High)
		if got.Mean < floors[r.Set] {
			t.Errorf("set %s: nDCG@10 %.3f is below its floor %.3f", r.Set, got.Mean, floors[r.Set])
		}
		if r.Gain.NDCG10.Low < least {
			t.Errorf("set %s: worse than by words alone: %+v", r.Set, r.Gain.NDCG10)
		}
	}
}

// TestRandomVectorsDoNoHarm plugs in a model that knows nothing, and waits until
// the daemon has measured what its vectors are worth.
func TestRandomVectorsDoNoHarm(t *testing.T) {
	model := &embedtest.Provider{Kind: "ollama", Model: "tiny", Dim: 32}
	cfg := conf.Default()
	cfg.Embedding.Provider, cfg.Embedding.Model = "chance", "tiny"
	cfg.Providers["chance"] = conf.Provider{Kind: "ollama", URL: model.Serve(t), Model: "tiny"}
	m := measure(t, "abc", corpus.Options{Config: &cfg})
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for slug, past := range projects(m.questions) {
		for deadline := time.Now().Add(2 * time.Minute); ; <-look.C {
			st, err := m.Daemon.ProjectStatus(t.Context(), fold.LocalScope(), slug)
			if err != nil {
				t.Fatal(err)
			}
			if e := st.Embedder; e != nil && e.Model == "tiny" && (strings.HasPrefix(e.WeightWhy, "measured on") ||
				!past && strings.HasPrefix(e.WeightWhy, "not measured: it needs")) {
				t.Logf("%s: weight %v: %s", slug, e.Weight, e.WeightWhy)
				break
			} else if time.Now().After(deadline) {
				t.Fatalf("%s: nothing was measured: %+v", slug, e)
			}
		}
	}
	// Past commits help, which is not what is asked here.
	words, both := m.run(t, recall.Words), m.run(t, recall.Words, recall.Vectors)
	for _, r := range eval.Report(m.questions, both, eval.ReportOptions{Base: words}) {
		t.Logf("set %s over words: %+.3f [%+.3f, %+.3f]", r.Set, r.Gain.NDCG10.Mean, r.Gain.NDCG10.Low, r.Gain.NDCG10.High)
		if r.Gain.NDCG10.Low < -.005 {
			t.Errorf("set %s: random vectors make it worse: %+v", r.Set, r.Gain.NDCG10)
		}
	}
}

// projects are those that questions are asked of, and whether they have a past: only
// those of set a do.
func projects(questions []eval.Query) map[string]bool {
	out := map[string]bool{}
	for _, q := range questions {
		slug := corpus.Slug(q)
		out[slug] = out[slug] || q.Set == "a"
	}
	return out
}

// TestSearchesOfTenThousandChunksAreFast asks hugo, with its manual 10,000 chunks,
// one question after the other. It is for a machine that does nothing else.
func TestSearchesOfTenThousandChunksAreFast(t *testing.T) {
	dir := os.Getenv("FOLDWATCH_EVAL")
	if dir == "" || testing.Short() {
		t.Skip("SKIP: takes minutes: FOLDWATCH_EVAL says where the evaluation sets are")
	}
	all, err := sets.ReadSets(dir)
	if err != nil {
		t.Fatal(err)
	}
	corpora, missing, err := all.Prepare(t.Context(), t.TempDir(), sets.Choice{Sets: "ab", Repos: []string{"hugo"}})
	if err != nil || len(missing) > 0 {
		t.Skipf("SKIP: hugo cannot be had here: %v, %v", missing, err)
	}
	s, err := corpus.Open(t.Context(), corpus.Options{}, corpora...)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var took []time.Duration
	for _, q := range all.Queries("ab", "hugo") {
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
