package recall

import (
	"context"
	"slices"

	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/textindex"
	"github.com/foldwatch/foldwatch/vecindex"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

// A Meaning is what finds by meaning: an index, the embedder whose vectors it
// holds, and how much its answers count.
type Meaning struct {
	Vectors *vecindex.Index
	Embed   embed.Embedder
	// Weights are those of a cosine beside the other terms of a score, see
	// [rank.Weights]; nil means the committed ones.
	Weights *rank.Vectors
}

// Use has searches that begin from now on find by m. The index that was used
// before must stay open for those that have begun.
func (s *Door) Use(m Meaning) { s.model.Store(&m) }

// weights are the committed ones, with the weight of vectors that was measured.
func (m Meaning) weights() rank.Weights {
	w := rank.DefaultWeights()
	if m.Weights != nil {
		w.SetVectors(*m.Weights)
	}
	return w
}

// searchesVectors reports whether a search looks for what is near by its vectors. Those of
// the committed table only help to order what words found: alone they find little
// (retrieval.md 1.6).
func (s *Door) searchesVectors(channels Channels) bool {
	if m := s.model.Load(); m.Weights != nil {
		return m.Weights.Any() || slices.Contains(channels, Vectors)
	}
	return slices.Contains(channels, Vectors) && !slices.Contains(channels, Words)
}

// cosines returns how near the chunks among hits are, where the committed table
// counts it.
func (s *Door) cosines(ctx context.Context, query string, hits []textindex.Hit) ([]vecindex.Hit, error) {
	m := s.model.Load()
	if m.Weights != nil {
		return nil, nil
	}
	var keys []string
	var owners []fold.ID
	for _, h := range hits {
		if h.Chunk != "" {
			keys, owners = append(keys, h.Key), append(owners, h.Memory)
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	vecs, err := m.Embed.Embed(ctx, []string{query}, embed.Query)
	if err != nil || len(vecs) == 0 || vecs[0] == nil {
		return nil, err
	}
	var out []vecindex.Hit
	for i, s := range m.Vectors.Scores(vecs[0], keys) {
		if s > 0 {
			out = append(out, vecindex.Hit{Key: keys[i], Memory: owners[i], Score: s})
		}
	}
	return out, nil
}

// combinedWeights are those of a search in several checkouts: cosines of two models
// cannot be compared, so that in each kind of results vectors count as much as in
// the checkout where they count least.
func combinedWeights(tables []rank.Weights) rank.Weights {
	w := rank.DefaultWeights()
	for i, own := range tables {
		if i == 0 {
			w = own
		} else {
			w.LimitVectors(own)
		}
	}
	return w
}

// weightsForQuestion are those of a question. One that is a name and nothing else, such as
// ERR_42_7 or maxOpenConns, is answered by the memory that has it whole, before those
// that only have its words, however often.
func weightsForQuestion(table rank.Weights, asked []askedWord) rank.Weights {
	if len(asked) == 1 && asked[0].name() {
		table.Memory[rank.Exact] = max(table.Memory[rank.Exact], table.Memory[rank.Window])
	}
	return table
}
