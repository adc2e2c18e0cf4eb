package recall

import (
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/vecindex"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

// A Meaning is what finds by meaning: an index, the embedder whose vectors it
// holds, and how much its answers count.
type Meaning struct {
	Vectors *vecindex.Index
	Embed   embed.Embedder
	// Weight is that of a cosine beside the other terms of a score, see
	// [rank.Weights]; negative is the committed one.
	Weight float64
}

// Use has searches that begin from now on find by m. The index that was used
// before must stay open for those that have begun.
func (d *Door) Use(m Meaning) { d.meaning.Store(&m) }

// weights are the committed ones, with the weight of vectors that was measured.
func (m Meaning) weights() rank.Weights {
	w := rank.DefaultWeights()
	if m.Weight >= 0 {
		w.SetVector(m.Weight)
	}
	return w
}

// weightsOf are those of a search in several checkouts: cosines of two models
// cannot be compared, so that vectors count as much as in the checkout where they
// count least.
func weightsOf(doors []*Door) rank.Weights {
	var w rank.Weights
	for i, d := range doors {
		own := d.meaning.Load().weights()
		switch {
		case i == 0:
			w = own
		case own.VectorWeight() < w.VectorWeight():
			w.SetVector(own.VectorWeight())
		}
	}
	return w
}
