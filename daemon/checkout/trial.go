package checkout

import (
	"context"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/embedding"
	"github.com/foldwatch/foldwatch/daemon/eval"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/daemon/recall"
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

// measureGrid are the weights that are tried; nothing is the first.
func measureGrid() []float64 { return []float64{0, .05, .1, .2, .35, .5, .8} }

// A trial is one question with what each weight of the grid makes of it.
type trial struct {
	question eval.Query
	scores   []float64 // nDCG@10
}

// tryAll scores the questions with each weight; too few are not asked.
func tryAll(ctx context.Context, door *recall.Service, m *embedding.Vectors, questions []eval.Query) ([]trial, error) {
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
func tryWeights(ctx context.Context, door *recall.Service, q eval.Query) ([]float64, error) {
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
