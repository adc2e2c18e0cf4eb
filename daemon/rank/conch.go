package rank

import (
	"math"
	"time"
)

// Constants of Conch's recall (seed 002).
const (
	// ConchCosine is what a cosine must be above to count.
	ConchCosine = 0.3
	// conchAssociated is what a place among the associations counts, beside one
	// among the memories.
	conchAssociated = 0.8
)

// A Recalled is what Conch's recall knows of one memory beside how it was found.
type Recalled struct {
	Strength float64   // in [0, 1], see [Strength]
	Accessed time.Time // when it was last used or changed
}

// A Recall is one question of Conch's `recall`: what its three searches found,
// larger scores being better.
type Recall struct {
	Words      []Scored // BM25 with b = 0.5, which is that of memories
	Near       []Scored // cosines; those up to [ConchCosine] are dropped
	Associated []Scored // BM25 of the associations

	Known    map[string]Recalled // by key; those that are missing are as new
	Now      time.Time
	HalfLife time.Duration // of recency; 0 means DefaultHalfLife. Conch's own is 24 h
	Limit    int           // 0 means all
}

// Conch ranks as Conch's `recall` does: reciprocal rank fusion with k = 60 of words
// and vectors, and of associations at 0.8, times strength, times recency, which is
// 2^(-age/half-life) of the time since the last use. Ties are ordered by key. It is
// no default: multiplying by age costs half of what is found (retrieval.md 1.10).
func Conch(r Recall) []Scored {
	var near []Scored
	for _, s := range r.Near {
		if s.Score > ConchCosine {
			near = append(near, s)
		}
	}
	sum := map[string]float64{}
	for _, l := range []struct {
		found []Scored
		share float64
	}{{r.Words, 1}, {near, 1}, {r.Associated, conchAssociated}} {
		for _, s := range Fuse(fuseK, places(l.found)) {
			sum[s.Key] += l.share * s.Score
		}
	}
	out := make([]Scored, 0, len(sum))
	for key, score := range sum {
		if m, ok := r.Known[key]; ok {
			score *= unit(m.Strength) * recency(r.Now.Sub(m.Accessed), r.HalfLife)
		}
		out = append(out, Scored{key, score})
	}
	sortScored(out)
	return limit(out, r.Limit)
}

// places returns the keys of what was found, best first.
func places(found []Scored) []string {
	sorted := make([]Scored, 0, len(found))
	for _, s := range found {
		if s.Score > 0 { // false for NaN
			sorted = append(sorted, s)
		}
	}
	sortScored(sorted)
	keys := make([]string, len(sorted))
	for i, s := range sorted {
		keys[i] = s.Key
	}
	return keys
}

// recency halves with each half-life; a time in the future counts as now.
func recency(age, halfLife time.Duration) float64 {
	if halfLife <= 0 {
		halfLife = DefaultHalfLife
	}
	return math.Exp2(-float64(max(age, 0)) / float64(halfLife))
}
