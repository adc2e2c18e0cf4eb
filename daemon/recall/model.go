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

// A Model is an embedding model with the index of its vectors, and how much its
// cosines count.
type Model struct {
	Vectors *vecindex.Index
	Embed   embed.Embedder
	// Weights are the measured weights of a cosine in a score, see [rank.Weights]. Nil
	// means the built-in embedder with the committed weights.
	Weights *rank.Vectors
}

// Use makes m the model of all searches that begin from now on. The index of the model
// before must stay open for searches that run.
func (s *Service) Use(m Model) { s.model.Store(&m) }

// weights returns the committed weights with the measured ones of a cosine.
func (m Model) weights() rank.Weights {
	w := rank.DefaultWeights()
	if m.Weights != nil {
		w.SetVectors(*m.Weights)
	}
	return w
}

// searchesVectors reports whether a search asks the vector index. Vectors of the built-in
// embedder only help to order what words found: alone they find little (retrieval.md 1.6).
func (s *Service) searchesVectors(channels Channels) bool {
	if m := s.model.Load(); m.Weights != nil {
		return m.Weights.Any() || slices.Contains(channels, Vectors)
	}
	return slices.Contains(channels, Vectors) && !slices.Contains(channels, Words)
}

// cosines returns the cosines of the chunks among hits, by the built-in embedder; none if
// another model is in use, whose vectors were searched.
func (s *Service) cosines(ctx context.Context, query string, hits []textindex.Hit) ([]vecindex.Hit, error) {
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

// combinedWeights returns the weights of a search of several checkouts. Cosines of two
// models cannot be compared, so vectors count as little as in the checkout where they
// count least.
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

// weightsForQuestion returns the weights for a question. If it is a single name, such as
// ERR_42_7 or maxOpenConns, a memory that has the name ranks before those that only have
// its words, however often.
func weightsForQuestion(table rank.Weights, words []askedWord) rank.Weights {
	if len(words) == 1 && words[0].name() {
		table.Memory[rank.Exact] = max(table.Memory[rank.Exact], table.Memory[rank.Window])
	}
	return table
}
