package checkout

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/foldwatch/foldwatch/daemon/embedding"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/eval"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/daemon/recall"
	"github.com/foldwatch/foldwatch/daemon/work"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

// What a weight is measured on: the user's own checkout, where nobody has to label
// anything. The message of a past commit is a question, its files are the answer;
// so are the first sentence of a doc comment and the function below, see [bench].
const (
	measureMost  = 120 // questions of each kind: of the newest commits
	measureLeast = 30  // fewer say nothing
	measureFiles = 10  // a commit of more says little about each
)

// What is searched for has a weight of its own: a model may know what people say of
// changes, and nothing of code.
const (
	ofFiles     = "commits"      // what files, and memories, are measured on
	ofFunctions = "doc comments" // and functions, and sections
)

// measureGrid are the weights that are tried; nothing is the first.
func measureGrid() []float64 { return []float64{0, .05, .1, .2, .35, .5, .8} }

// A trial is one question with what each weight of the grid makes of it.
type trial struct {
	question eval.Query
	scores   []float64 // nDCG@10
}

// A measuredWeight is what the vectors of a model were measured to be worth for one
// kind of results.
type measuredWeight struct {
	Weight float64 `json:"weight"`
	Why    string  `json:"why"`
	// Again is when it is measured again since there was too little to measure on;
	// zero for never.
	Again time.Time `json:"again,omitzero"`
}

// owed reports whether w, nil if nothing was measured, is to be measured.
func (w *measuredWeight) owed(now time.Time) bool {
	return w == nil || !w.Again.IsZero() && now.After(w.Again)
}

// noteWeight is the note that holds the weights of a model on the checkout.
const noteWeight = "vector weight"

// measuredWeights is what it holds; nil for what was not measured yet.
type measuredWeights struct {
	Identity  string          `json:"identity"`
	Files     *measuredWeight `json:"files,omitempty"`
	Functions *measuredWeight `json:"functions,omitempty"`
}

// knownWeights is what was measured of m on this checkout.
func (co *Checkout) knownWeights(ctx context.Context, m *embedding.Vectors) measuredWeights {
	var n measuredWeights
	text, err := co.Shared.State.Note(ctx, co.Record.Key, noteWeight)
	if err != nil || text == "" || json.Unmarshal([]byte(text), &n) != nil || n.Identity != m.Identity.String() {
		return measuredWeights{Identity: m.Identity.String()}
	}
	return n
}

// weightsOf returns how much the vectors of m count in a search for files and in one
// for functions, and why: what the user decided, else what was measured, else
// nothing. Those of the builtin embedder have the committed weights.
func (co *Checkout) weightsOf(ctx context.Context, m *embedding.Vectors) (files, functions measuredWeight) {
	if w, fixed := co.Models.Config(co.Record.Slug).Embedding.FixedWeight(); fixed {
		set := measuredWeight{Weight: w, Why: "set by embedding.weight"}
		return set, set
	}
	if m.Spec == embedding.BuiltinProvider {
		v := rank.DefaultWeights().Vectors()
		const why = "the default, as measured on the development sets"
		return measuredWeight{Weight: v.Whole, Why: why}, measuredWeight{Weight: v.Part, Why: why}
	}
	n, none := co.knownWeights(ctx, m), &measuredWeight{Why: "not measured yet on this checkout; to decide it: embedding.weight in config.toml"}
	return *cmp.Or(n.Files, none), *cmp.Or(n.Functions, none)
}

// owesWeight reports whether the worth of the vectors that answer is still to be
// measured.
func (co *Checkout) owesWeight(ctx context.Context, st *Stores) bool {
	m := st.Vectors.Serving()
	if m == nil || m.Spec == embedding.BuiltinProvider {
		return false
	}
	if _, fixed := co.Models.Config(co.Record.Slug).Embedding.FixedWeight(); fixed {
		return false
	}
	n := co.knownWeights(ctx, m)
	return n.Files.owed(co.Now()) || n.Functions.owed(co.Now())
}

// doMeasure measures what the vectors of a model are worth on this checkout. It
// gives way to a save, and begins again then; what was embedded is in the cache.
func (co *Checkout) doMeasure(ctx context.Context, st *Stores) error {
	if !co.owesWeight(ctx, st) {
		return nil
	}
	m := st.Vectors.Serving()
	bound, done := co.yielding(ctx, false)
	defer done()
	n := co.knownWeights(ctx, m)
	for _, kind := range []struct {
		on     string
		trials func(context.Context, *Stores, *embedding.Vectors) ([]trial, error)
		weight **measuredWeight
	}{{ofFiles, co.commitTrials, &n.Files}, {ofFunctions, co.commentTrials, &n.Functions}} {
		if !(*kind.weight).owed(co.Now()) {
			continue
		}
		trials, err := kind.trials(bound, st, m)
		if err != nil {
			_, err = co.embedEnded(ctx, bound, err)
			return err // nil: with the vectors that come after the pause it is asked for again
		}
		w := measured(kind.on, trials)
		if len(trials) < measureLeast {
			w.Again = co.Now().Add(time.Hour)
		}
		*kind.weight = &w
		b, err := json.Marshal(n)
		if err != nil {
			return err
		}
		if err := co.Shared.State.SetNote(ctx, co.Record.Key, noteWeight, string(b)); err != nil {
			return err
		}
		co.Log.InfoContext(ctx, "Weight measured", "embedder", n.Identity, "on", kind.on, "weight", w.Weight, "why", w.Why)
		if st.Vectors.Serving() != m {
			return nil
		}
		st.Recall.Use(co.Searching(m))
	}
	return nil
}

// commitTrials asks the newest commits of what is indexed.
func (co *Checkout) commitTrials(ctx context.Context, st *Stores, m *embedding.Vectors) ([]trial, error) {
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

// tryAll scores the questions with each weight; too few are not asked.
func tryAll(ctx context.Context, door *recall.Door, m *embedding.Vectors, questions []eval.Query) ([]trial, error) {
	out := make([]trial, len(questions))
	texts := make([]string, len(questions))
	for i, q := range questions {
		out[i].question, texts[i] = q, q.Text
	}
	if len(out) < measureLeast {
		return out, nil
	}
	if _, err := m.Embedder.Embed(ctx, texts, embed.Query); err != nil {
		return nil, err
	}
	for i := range out {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var err error
		if out[i].scores, err = tryWeights(ctx, door, out[i].question); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// tryWeights scores one question with each weight. The channel of past commits is
// left out: it knows the answer.
func tryWeights(ctx context.Context, door *recall.Door, q eval.Query) ([]float64, error) {
	req := wire.SearchRequest{Query: q.Text, Source: "file", ChunksFirst: !q.Files()}
	found, err := door.Candidates(ctx, req, recall.Channels{recall.Words, recall.Vectors})
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
		table.SetVectors(rank.Vectors{Whole: w, Part: w})
		opt := rank.Options{Weights: &table, Limit: 2 * eval.Depth}
		var names []string
		if q.Files() {
			for _, r := range rank.Rank(found.Candidates, opt) {
				if p := path[string(r.ID)]; p != "" {
					names = append(names, p)
				}
			}
		} else {
			for _, r := range rank.RankChunks(found.Candidates, opt) {
				if p := found.At[r.Key]; p.Start > 0 {
					names = append(names, eval.Span(p.Path, p.Start, p.End))
				}
			}
		}
		scores = append(scores, q.Score(names).NDCG10)
	}
	return scores, nil
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
func (co *Checkout) measureLater(ctx context.Context, st *Stores) {
	if co.owesWeight(ctx, st) {
		co.Add(work.Task{Kind: work.Measure, Priority: work.Later})
	}
}
