package rank_test

import (
	"math"
	"testing"

	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestHintsOrderCandidates has memories with the same words and different hints.
func TestHintsOrderCandidates(t *testing.T) {
	c := rank.Candidates{Hints: map[fold.ID]rank.Hint{
		"a asks": {Asks: 1}, "c named": {Person: 1}, "d then": {Time: 1}, "e alone": {Person: 1, Time: 1, Linked: 1}, "f linked": {Linked: 1},
	}}
	for _, id := range []fold.ID{"a asks", "b plain", "c named", "d then", "f linked"} {
		c.Memories = append(c.Memories, rank.Hit{Key: "m:" + string(id), Memory: id, Fielded: 2, Coverage: 1})
	}
	c.Memories = append(c.Memories, rank.Hit{Key: "m:e alone", Memory: "e alone"}) // beside one that was found
	ranked := rank.Rank(c, rank.Options{})
	var got []fold.ID
	for _, r := range ranked {
		got = append(got, r.ID)
		sum := 0.0
		for _, term := range r.Terms() {
			sum += term.Value * term.Weight
		}
		if math.Abs(sum-r.Relevance) > 1e-9 {
			t.Errorf("%s: terms add up to %v, relevance is %v", r.ID, sum, r.Relevance)
		}
	}
	want := []fold.ID{"c named", "d then", "f linked", "b plain", "a asks"}
	if len(got) != len(want) {
		t.Fatalf("ranked %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("ranked %v, want %v", got, want)
		}
	}
}
