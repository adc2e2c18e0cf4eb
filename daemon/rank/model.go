package rank

import (
	"slices"
	"strings"
)

// A model scores the samples of one ranking.
type model struct {
	samples []Sample
	weights func(*Sample) *Row
	total   float64 // of the weights that can add up to a relevance
	live    [numFeatures]bool
	fused   map[string]float64 // relevance by key, where rankings are fused
}

func newModel(samples []Sample, fusion Fusion, weights func(*Sample) *Row) *model {
	m := &model{samples: samples, weights: weights}
	rows := map[*Row]bool{}
	for i := range samples {
		rows[weights(&samples[i])] = true
		for f, v := range samples[i].Values {
			m.live[f] = m.live[f] || v > 0
		}
	}
	// Features that say nothing in this search do not make its results worse, and
	// rows that are ranked together share one scale.
	for row := range rows {
		sum := 0.0
		for f, w := range row {
			if m.live[f] {
				sum += max(w, 0)
			}
		}
		m.total = max(m.total, sum)
	}
	if fusion == RRF {
		m.fuse()
	}
	return m
}

// found reports whether s has evidence of its own that counts. A vector without weight
// finds nothing.
func (m *model) found(s *Sample) bool {
	w := m.weights(s)
	for f, v := range s.Values {
		switch Feature(f) {
		case Vector, Votes, Messages, Associated:
			if v > 0 && w[f] > 0 {
				return true
			}
		case File, FileExact, FileTop, Neighbour, Session: // evidence of others
		case Person, Time, Asks, Linked: // hints only order what was found
		default:
			if v > 0 {
				return true
			}
		}
	}
	return false
}

// relevance returns the weighted mean of the values of s times share, with its evidence.
func (m *model) relevance(s *Sample, share float64) (float64, Evidence) {
	e := Evidence{m, s, share, 1}
	if m.fused != nil {
		return unit(m.fused[s.Key] * share), e
	}
	if m.total == 0 {
		return 0, Evidence{}
	}
	weights, sum := m.weights(s), 0.0
	for f, v := range s.Values {
		if v != 0 && m.live[f] {
			sum += v * (weights[f] / m.total * share)
		}
	}
	if !(sum > 0) {
		return 0, Evidence{} // negative weights outweigh the others
	}
	return unit(sum), e
}

// terms returns the summands of the relevance of s.
func (m *model) terms(s *Sample, share float64) []Term {
	if m.fused != nil {
		return []Term{{fused, m.fused[s.Key], share}}
	}
	weights, terms := m.weights(s), make([]Term, 0, 16)
	for f, v := range s.Values {
		// Values of 0 are listed too, so that scores can be compared.
		if w := weights[f] / m.total * share; w != 0 && m.live[f] {
			terms = append(terms, Term{featureNames[f], v, w})
		}
	}
	return terms
}

// channels are the features whose rankings are fused: one for each channel of a search.
var channels = []Feature{Words, Window, Exact, ChunkTop, Votes, Vector, Associated}

// fuse computes the relevances by reciprocal rank fusion of the channels that have a
// weight; the first of the ranking has 1.
func (m *model) fuse() {
	var rankings [][]string
	for _, f := range channels {
		var found []Scored
		for i := range m.samples {
			s := &m.samples[i]
			always := f == Words || f == Exact || f == ChunkTop
			if v := s.Values[f]; v > 0 && (always || m.weights(s)[f] > 0) {
				found = append(found, Scored{s.Key, v})
			}
		}
		sortScored(found)
		keys := make([]string, len(found))
		for i, s := range found {
			keys[i] = s.Key
		}
		rankings = append(rankings, keys)
	}
	m.fused = make(map[string]float64, len(m.samples))
	best := 0.0
	for _, s := range Fuse(fuseK, rankings...) {
		m.fused[s.Key] = s.Score
		best = max(best, s.Score)
	}
	for key, v := range m.fused {
		m.fused[key] = unit(v / best)
	}
}

// A share makes the scores of files and of other memories comparable. BM25 of the two
// kinds is not on one scale, but coverage is: the best of each kind gets the share of the
// question that it covers, relative to the other kind. For files the best chunk counts,
// since a whole file has a bit of everything. Where cosines count in all kinds, a kind gets
// at least the cosine of its nearest.
type share struct{ files, others float64 }

func shares(c Candidates, w Weights) share {
	s := share{coverage(c.Chunks), coverage(c.Memories)}
	if len(c.Chunks) == 0 {
		s.files = coverage(c.Files)
	}
	if w.Vectors().Whole > 0 {
		files := c.fileIDs()
		for _, n := range c.Vectors {
			if files[n.Memory] {
				s.files = max(s.files, unit(n.Score))
			} else {
				s.others = max(s.others, unit(n.Score))
			}
		}
	}
	most := max(s.files, s.others)
	return share{s.files / most, s.others / most}
}

// coverage returns the coverage of the best of hits, and at least a minimum.
func coverage(hits []Hit) float64 {
	const least = .01
	if len(hits) == 0 {
		return least
	}
	best := slices.MaxFunc(hits, func(a, b Hit) int {
		switch {
		case a.Fielded > b.Fielded:
			return 1
		case a.Fielded < b.Fielded:
			return -1
		}
		return strings.Compare(b.Key, a.Key)
	})
	if !(best.Coverage > least) {
		return least
	}
	return unit(best.Coverage)
}
