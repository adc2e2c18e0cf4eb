package vecindex_test

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestScoresAreCosines(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	all := vecs(r, 50, 128)
	x := open(t, t.TempDir(), 128)
	if err := x.Apply(1, all, nil); err != nil {
		t.Fatal(err)
	}
	q := unit(r, 128)
	got := x.Scores(q, []string{all[7].Key, "c:absent", all[3].Key})
	want := []float64{dot(q, all[7].V), 0, dot(q, all[3].V)}
	if len(got) != len(want) {
		t.Fatalf("Scores = %v, want %v", got, want)
	}
	for i := range want {
		if math.Abs(got[i]-want[i]) > .01 {
			t.Errorf("score %d = %v, want about %v", i, got[i], want[i])
		}
	}
	if got := x.Scores(q[:5], []string{all[0].Key}); got != nil {
		t.Errorf("scores of what is no vector here = %v", got)
	}
}
