package checkout

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/foldwatch/foldwatch/daemon/embedding"
	"github.com/foldwatch/foldwatch/daemon/eval"
	"github.com/foldwatch/foldwatch/daemon/work"
)

// What is searched for has a weight of its own: a model may know what people say of
// changes, and nothing of code.
const (
	ofFiles     = "commits"      // what files, and memories, are measured on
	ofFunctions = "doc comments" // and functions, and sections
)

// owesWeight reports whether the worth of the vectors that answer is still to be
// measured.
func (w worker) owesWeight(ctx context.Context, st *Stores) bool {
	m := st.Vectors.Serving()
	if m == nil || m.Spec == embedding.BuiltinProvider {
		return false
	}
	if _, fixed := w.Models.Config(w.Record.Slug).Embedding.FixedWeight(); fixed {
		return false
	}
	n := w.knownWeights(ctx, m)
	return n.Files.owed(w.Now()) || n.Functions.owed(w.Now())
}

// doMeasure measures what the vectors of a model are worth on this checkout. It
// gives way to a save, and begins again then; what was embedded is in the cache.
func (w worker) doMeasure(ctx context.Context, st *Stores) error {
	if !w.owesWeight(ctx, st) {
		return nil
	}
	m := st.Vectors.Serving()
	bound, done := w.yielding(ctx, false)
	defer done()
	n := w.knownWeights(ctx, m)
	for _, kind := range []struct {
		on     string
		trials func(context.Context, *Stores, *embedding.Vectors) ([]trial, error)
		weight **measuredWeight
	}{{ofFiles, w.commitTrials, &n.Files}, {ofFunctions, w.commentTrials, &n.Functions}} {
		if !(*kind.weight).owed(w.Now()) {
			continue
		}
		trials, err := kind.trials(bound, st, m)
		if err != nil {
			_, err = w.embedEnded(ctx, bound, err)
			return err // nil: with the vectors that come after the pause it is asked for again
		}
		got := measured(kind.on, trials)
		if len(trials) < measureLeast {
			got.Again = w.Now().Add(time.Hour)
		}
		*kind.weight = &got
		b, err := json.Marshal(n)
		if err != nil {
			return err
		}
		if err := w.State.SetNote(ctx, w.Record.Key, noteWeight, string(b)); err != nil {
			return err
		}
		w.Log.InfoContext(ctx, "Weight measured", "embedder", n.Identity, "on", kind.on, "weight", got.Weight, "why", got.Why)
		if st.Vectors.Serving() != m {
			return nil
		}
		st.Recall.Use(w.Searching(m))
	}
	return nil
}

// commitTrials asks the newest commits of what is indexed.
func (w worker) commitTrials(ctx context.Context, st *Stores, m *embedding.Vectors) ([]trial, error) {
	_, commits, err := st.Index.Commits(ctx)
	if err != nil {
		return nil, err
	}
	indexed := map[string]bool{}
	var questions []eval.Query
	for _, c := range slices.Backward(commits) {
		if len(questions) == measureMost {
			break
		}
		if len(c.Files) == 0 || len(c.Files) > measureFiles || !eval.Asks(c.Message) {
			continue
		}
		q := eval.Query{QID: c.Oid, Set: "a", Text: eval.Question(c.Message)}
		for _, f := range c.Files {
			if _, seen := indexed[f]; !seen {
				file, err := st.Index.FileByPath(ctx, f, false)
				indexed[f] = err == nil && file.State == "indexed"
			}
			if indexed[f] {
				q.Rel = append(q.Rel, eval.Target{Path: f})
			}
		}
		if len(q.Rel) > 0 {
			questions = append(questions, q)
		}
	}
	return tryAll(ctx, st.Recall, m, questions)
}

// measured decides the weight: the best on one half of the questions, if the other
// half confirms that it helps (the lower bound of the paired difference to words
// alone is above 0), else nothing.
// On is what the questions are.
func measured(on string, trials []trial) measuredWeight {
	if len(trials) < measureLeast {
		return measuredWeight{Why: fmt.Sprintf("not measured: it needs %d %s %s, this checkout has %d; to decide it: embedding.weight", measureLeast, on,
			map[string]string{ofFiles: "with a message and few files", ofFunctions: "above functions of some lines"}[on], len(trials))}
	}
	sums := make([]float64, len(measureGrid()))
	for i := 0; i < len(trials); i += 2 {
		for w, s := range trials[i].scores {
			sums[w] += s
		}
	}
	best := 1 // of the weights above 0
	for w := range sums {
		if w > 0 && sums[w] > sums[best]+1e-9 {
			best = w
		}
	}
	var with, without, gain []float64
	for i := 1; i < len(trials); i += 2 {
		s := trials[i].scores
		with, without, gain = append(with, s[best]), append(without, s[0]), append(gain, s[best]-s[0])
	}
	d := eval.Macro([][]float64{gain})
	on = fmt.Sprintf("%d %s of this checkout", len(trials), on)
	if sums[best] <= sums[0] || d.Low <= 0 {
		return measuredWeight{Why: fmt.Sprintf("measured on %s: it does not help (nDCG@10 %.3f with words alone, %+.3f [%+.3f, %+.3f] with weight %.2g)",
			on, eval.Macro([][]float64{without}).Mean, d.Mean, d.Low, d.High, measureGrid()[best])}
	}
	return measuredWeight{
		Weight: measureGrid()[best],
		Why: fmt.Sprintf("measured on %s: nDCG@10 %.3f, %.3f with words alone, %+.3f [%+.3f, %+.3f]", on,
			eval.Macro([][]float64{with}).Mean, eval.Macro([][]float64{without}).Mean, d.Mean, d.Low, d.High),
	}
}

// measureLater adds the measurement, when vectors are complete.
func (w worker) measureLater(ctx context.Context, st *Stores) {
	if w.owesWeight(ctx, st) {
		w.Add(work.Task{Kind: work.Measure, Priority: work.Later})
	}
}
