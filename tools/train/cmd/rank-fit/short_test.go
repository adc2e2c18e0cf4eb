package main

import (
	"os"
	"testing"

	"github.com/foldwatch/foldwatch/daemon/eval"
	"github.com/foldwatch/foldwatch/daemon/eval/corpus"
	"github.com/foldwatch/foldwatch/daemon/recall"
	"github.com/foldwatch/foldwatch/tools/train/sets"
)

// TestOneConversationIsFound is the short form of what `make eval` asks of all sets:
// the first questions of one conversation, by words alone and as everybody gets it.
func TestOneConversationIsFound(t *testing.T) {
	dir := os.Getenv("FOLDWATCH_EVAL")
	if dir == "" {
		t.Skip("SKIP: FOLDWATCH_EVAL does not name the folder of the evaluation sets")
	}
	if testing.Short() {
		t.Skip("SKIP: runs a daemon")
	}
	t.Parallel()
	all, err := sets.ReadSets(dir)
	if err != nil {
		t.Fatal(err)
	}
	questions := all.Queries("d")
	if len(questions) == 0 {
		t.Skip("SKIP: the sets hold no conversation")
	}
	name := questions[0].Repo
	questions = all.Queries("d", name)
	questions = questions[:min(len(questions), 100)]
	corpora, _, err := all.Prepare(t.Context(), t.TempDir(), sets.Choice{Sets: "d", Repos: []string{name}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := corpus.Open(t.Context(), corpus.Options{Dir: t.TempDir()}, corpora...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	words, err := s.Run(t.Context(), questions, recall.Channels{recall.Words}, nil)
	if err != nil {
		t.Fatal(err)
	}
	every, err := s.Run(t.Context(), questions, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := eval.Report(questions, every, eval.ReportOptions{Base: words})[0]
	t.Logf("%s: nDCG@10 %.3f, over words %+.3f", name, r.Macro.NDCG10.Mean, r.Gain.NDCG10.Mean)
	if r.Macro.NDCG10.Mean < .5 || r.Gain.NDCG10.Low < -.005 {
		t.Errorf("%s: %+v, over words %+v", name, r.Macro.NDCG10, r.Gain.NDCG10)
	}
}
