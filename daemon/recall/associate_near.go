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
	vectorPassages   = 16 // chunks of a memory whose vectors are asked, the longest
	vectorCandidates = 48 // chunks near each; the farthest says what is near anyway
	vectorTaken      = 8  // of them that may be alike
)

// tie is what a cosine counts between chunks: what was measured for a model. Those
// of the built-in embedder find nothing alone, here as in a search.
func (m *Meaning) cosineWeight() float64 {
	if m.Weights == nil {
		return 0
	}
	return m.Weights.Part
}

// addVectorSimilarities adds to what the rare words of a memory's chunks find what is near them
// in meaning, as far as cosines count in this checkout: where they count nothing,
// words alone decide.
func addVectorSimilarities(m *Meaning, id fold.ID, ends []chunkEnd, alike [][]textindex.Alike) {
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

// withVectorHits returns what words say is alike with what hits, best first, add to it: a
// share of what is left to one, by the weight w of a cosine and how much nearer a
// chunk is than the farthest of hits.
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
