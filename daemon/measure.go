package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/eval"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/daemon/recall"
	"github.com/foldwatch/foldwatch/meta"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

// What a weight is measured on: past commits of the user's own checkout, whose
// message is a question and whose files are the answer. Nobody has to label them.
const (
	measureMost  = 120 // newest commits
	measureLeast = 30  // fewer say nothing
	measureFiles = 10  // a commit of more says little about each
	measureWords = 3   // of a message
)

// measureGrid are the weights that are tried; nothing is the first.
func measureGrid() []float64 { return []float64{0, .05, .1, .2, .35, .5, .8} }

// A trial is one question with what each weight of the grid makes of it.
type trial struct {
	question eval.Query
	scores   []float64 // nDCG@10
}

// owesWeight reports whether the worth of the vectors that answer is still to be
// measured.
func (co *checkout) owesWeight(ctx context.Context, st *stores) bool {
	m := st.serves()
	if m == nil || m.spec == builtinProvider {
		return false
	}
	if _, fixed := co.embedders.config(co.rec.Slug).Embedding.FixedWeight(); fixed {
		return false
	}
	n, known := co.knownWeight(ctx, m)
	return !known || !n.Again.IsZero() && co.now().After(n.Again)
}

// doMeasure measures what the vectors of a model are worth on this checkout. It
// gives way to a save, and begins again then; vectors of questions are kept.
func (co *checkout) doMeasure(ctx context.Context, _ *meta.Job, _ func(meta.JobProgress)) error {
	st, err := co.stores(ctx)
	if err != nil || !co.owesWeight(ctx, st) {
		return err
	}
	m := st.serves()
	bound, done := co.yielding(ctx, false)
	defer done()
	trials, err := co.trials(bound, st, m)
	if err != nil {
		if _, err := co.embedEnded(ctx, bound, err); err != nil {
			return err
		}
		return nil // with the vectors that come after the pause it is asked for again
	}
	n := measured(trials)
	if n.Identity = m.identity.String(); len(trials) < measureLeast {
		n.Again = co.now().Add(time.Hour)
	}
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if err := co.parts.state.SetNote(ctx, co.rec.Key, noteWeight, string(b)); err != nil {
		return err
	}
	if st.serves() == m {
		st.recall.Use(co.searching(m))
	}
	co.log.InfoContext(ctx, "Weight measured", "embedder", n.Identity, "weight", n.Weight, "why", n.Why)
	return nil
}

// trials asks the newest commits of what is indexed.
func (co *checkout) trials(ctx context.Context, st *stores, m *meaning) ([]trial, error) {
	_, commits, err := st.index.PastCommits(ctx)
	if err != nil {
		return nil, err
	}
	indexed := map[string]bool{}
	var out []trial
	for _, c := range slices.Backward(commits) {
		if len(out) == measureMost {
			break
		}
		if len(strings.Fields(c.Message)) < measureWords || len(c.Files) == 0 || len(c.Files) > measureFiles {
			continue
		}
		q := eval.Query{QID: c.Oid, Set: "a", Text: firstBytes(c.Message, 2<<10)}
		for _, f := range c.Files {
			if _, seen := indexed[f]; !seen {
				file, err := st.index.FileByPath(ctx, f, false)
				indexed[f] = err == nil && file.State == "indexed"
			}
			if indexed[f] {
				q.Rel = append(q.Rel, eval.Target{Path: f})
			}
		}
		if len(q.Rel) > 0 {
			out = append(out, trial{question: q})
		}
	}
	if len(out) < measureLeast {
		return out, nil
	}
	texts := make([]string, len(out))
	for i, t := range out {
		texts[i] = t.question.Text
	}
	if _, err := m.embedder.Embed(ctx, texts, embed.Query); err != nil {
		return nil, err
	}
	for i := range out {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if out[i].scores, err = co.tryWeights(ctx, st, out[i].question); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func firstBytes(s string, n int) string {
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "")
	}
	return s
}

// tryWeights scores one question with each weight. The channel of past commits is
// left out: it knows the answer.
func (co *checkout) tryWeights(ctx context.Context, st *stores, q eval.Query) ([]float64, error) {
	found, err := st.recall.Candidates(ctx, wire.SearchRequest{Query: q.Text, Source: "file"}, recall.Channels{recall.Words, recall.Vectors})
	if err != nil {
		return nil, err
	}
	path := map[string]string{}
	for _, p := range found.At {
		if p.Path != "" {
			path[string(p.Memory)] = p.Path
		}
	}
	scores := make([]float64, 0, len(measureGrid()))
	for _, w := range measureGrid() {
		table := rank.DefaultWeights()
		table.SetVector(w)
		var names []string
		for _, r := range rank.Rank(found.Candidates, rank.Options{Weights: &table, Limit: 2 * eval.Depth}) {
			if p := path[string(r.ID)]; p != "" {
				names = append(names, p)
			}
		}
		scores = append(scores, q.Score(names).NDCG10)
	}
	return scores, nil
}

// measured decides the weight: the best on one half of the questions, if the other
// half confirms that it helps (the lower bound of the paired difference to words
// alone is above 0), else nothing.
func measured(trials []trial) measuredWeight {
	if len(trials) < measureLeast {
		return measuredWeight{Why: fmt.Sprintf("measured on this checkout needs %d commits with a message and few files, it has %d; to decide it: embedding.weight", measureLeast, len(trials))}
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
	on := fmt.Sprintf("%d commits of this checkout", len(trials))
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

// measureLater queues the measurement, when vectors are complete.
func (co *checkout) measureLater(ctx context.Context, st *stores) error {
	if !co.owesWeight(ctx, st) {
		return nil
	}
	bound, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, err := co.enqueue(bound, jobMeasure, prioLater, struct{}{}, jobMeasure)
	return err
}
