package checkout

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// trialsOf makes n questions; with adds to the score of words for each weight of the
// grid but the first.
func trialsOf(n int, with func(i, w int, words float64) float64) []trial {
	random := rand.New(rand.NewPCG(1, 2))
	out := make([]trial, n)
	for i := range out {
		words := random.Float64()
		for w := range measureGrid() {
			s := words
			if w > 0 {
				s = with(i, w, words)
			}
			out[i].scores = append(out[i].scores, s)
		}
	}
	return out
}

func TestMeasuredWeight(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, tc := range []struct {
		name   string
		trials []trial
		want   float64
		why    string
	}{
		{"too few", trialsOf(measureLeast-1, func(_, _ int, s float64) float64 { return 1 }), 0, "needs 30 commits"},
		{"it helps", trialsOf(100, func(_, w int, s float64) float64 { return min(1, s+.1-.01*float64(max(w-3, 3-w))) }), .2, "nDCG@10"},
		{"it hurts", trialsOf(100, func(_, w int, s float64) float64 { return s * .9 }), 0, "does not help"},
		{"a random embedder", trialsOf(100, func(_, _ int, s float64) float64 { return s + (random.Float64()-.5)*.2 }), 0, "does not help"},
		{"it changes nothing", trialsOf(100, func(_, _ int, s float64) float64 { return s }), 0, "does not help"},
		{"one half alone", trialsOf(100, func(i, _ int, s float64) float64 {
			if i%2 == 0 {
				return s + .3
			}
			return s - .1
		}), 0, "does not help"},
	} {
		got := measured(ofFiles, tc.trials)
		if got.Weight != tc.want || !strings.Contains(got.Why, tc.why) {
			t.Errorf("%s: %+v, want weight %v because %q", tc.name, got, tc.want, tc.why)
		}
	}
}
