package recall

import (
	"cmp"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/textindex"
	"github.com/foldwatch/foldwatch/vecindex"
)

const (
	vectorPassages   = 16 // chunks of a memory whose vectors are searched for, the longest ones
	vectorCandidates = 48 // hits for each; the farthest of them is the baseline of the cosines
	vectorTaken      = 8  // hits that may count as similar
)

// cosineWeight returns the measured weight of a cosine between chunks. Cosines of the
// built-in embedder count nothing here.
func (m *Model) cosineWeight() float64 {
	if m.Weights == nil {
		return 0
	}
	return m.Weights.Part
}

// addVectorSimilarities adds chunks with a close vector to those that share rare words,
// as far as cosines count for this model.
func addVectorSimilarities(m *Model, id fold.ID, ends []chunkEnd, alike [][]textindex.Alike) {
	w := m.cosineWeight()
	if w <= 0 {
		return
	}
	order := make([]int, len(ends))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := ends[a].chunk, ends[b].chunk
		return cmp.Compare(y.EndByte-y.StartByte, x.EndByte-x.StartByte)
	})
	for _, i := range order[:min(len(order), vectorPassages)] {
		v, ok := m.Vectors.Vector(ends[i].key)
		if !ok {
			continue // not embedded yet
		}
		hits := m.Vectors.Search(v, vectorCandidates, &vecindex.Filter{Not: map[fold.ID]bool{id: true}})
		alike[i] = withVectorHits(alike[i], hits, w)
	}
}

// withVectorHits adds to alike the share of each hit: the weight w times how much closer
// it is than the farthest hit, of what is missing to 1. Hits come best first.
func withVectorHits(alike []textindex.Alike, hits []vecindex.Hit, w float64) []textindex.Alike {
	if len(hits) == 0 {
		return alike
	}
	floor := max(hits[len(hits)-1].Score, 0)
	for _, h := range hits[:min(len(hits), vectorTaken)] {
		if !strings.HasPrefix(h.Key, "c:") || floor >= 1 {
			continue
		}
		i := slices.IndexFunc(alike, func(a textindex.Alike) bool { return a.Key == h.Key })
		if i < 0 {
			i = len(alike)
			alike = append(alike, textindex.Alike{Key: h.Key, Memory: h.Memory})
		}
		cos := (min(h.Score, 1) - floor) / (1 - floor)
		alike[i].Share += min(w, 1) * cos * (1 - alike[i].Share)
	}
	slices.SortFunc(alike, func(a, b textindex.Alike) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Key, b.Key))
	})
	return alike
}
