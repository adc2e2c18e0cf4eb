package rank

import (
	"cmp"
	"slices"
)

// A Scored is one key and its score; larger is better.
type Scored struct {
	Key   string
	Score float64
}

// sortScored orders by falling score, ties by key, so that equal input gives
// equal output on every machine.
func sortScored(s []Scored) {
	slices.SortFunc(s, func(a, b Scored) int {
		if c := cmp.Compare(b.Score, a.Score); c != 0 {
			return c
		}
		return cmp.Compare(a.Key, b.Key)
	})
}

// fuseK is the k of reciprocal rank fusion in the literature.
const fuseK = 60

// Fuse merges rankings by reciprocal rank fusion: a key scores the sum over
// rankings of 1/(k+rank), rank from 1 (Cormack, Clarke, Büttcher, SIGIR 2009).
// A key that occurs twice in one ranking counts at its better place. It is
// selectable (fusion = "rrf"); the default is a weighted sum, which wins
// on every set that was measured.
func Fuse(k float64, rankings ...[]string) []Scored {
	sum := map[string]float64{}
	for _, r := range rankings {
		seen := make(map[string]bool, len(r))
		for i, key := range r {
			if !seen[key] {
				seen[key] = true
				sum[key] += 1 / (k + float64(i+1))
			}
		}
	}
	out := make([]Scored, 0, len(sum))
	for key, s := range sum {
		out = append(out, Scored{key, s})
	}
	sortScored(out)
	return out
}

// topShare is what the best, second and third chunk of a file count.
var topShare = [...]float64{1, .5, .25}

// TopSum returns the best score plus half the second plus a quarter of the
// third: what a file or memory gets from its chunks (+0.026 nDCG@10 over the
// best alone on commit→files). It does not change scores.
func TopSum(scores []float64) float64 {
	var top [len(topShare)]float64
	for _, s := range scores {
		for i := range top {
			if s > top[i] {
				copy(top[i+1:], top[i:len(top)-1])
				top[i] = s
				break
			}
		}
	}
	sum := 0.0
	for i, s := range top {
		sum += topShare[i] * s
	}
	return sum
}
