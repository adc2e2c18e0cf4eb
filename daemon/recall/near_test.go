package recall

import (
	"math"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestWhatIsOnlyNearIsNotRelevant shows that the best of what shares no word
// with the question does not count as a match.
func TestWhatIsOnlyNearIsNotRelevant(t *testing.T) {
	near := rank.Candidates{
		Vectors:  []rank.Near{{Key: "m:0/a", Memory: "0/a", Score: .4}, {Key: "m:0/b", Memory: "0/b", Score: .31}, {Key: "c:0/x", Memory: "0/a", Score: .4}},
		Strength: map[fold.ID]float64{"0/a": 1, "0/b": 1},
	}
	for _, chunksFirst := range []bool{false, true} {
		got := rankCandidates(near, wire.SearchRequest{ChunksFirst: chunksFirst}, rank.Options{StrengthWeight: .05})
		if len(got) != 2 || got[0].ID != "0/a" {
			t.Fatalf("order = %+v", got)
		}
		for _, r := range got {
			sum := 0.0
			for _, term := range r.Terms() {
				sum += term.Value * term.Weight
			}
			if r.Relevance > .2+1e-9 || math.Abs(sum-r.Relevance) > 1e-9 || math.Abs(r.Score-rank.Blend(.05, r.Relevance, r.Strength)) > 1e-9 {
				t.Errorf("relevance %v, terms %v, score %v", r.Relevance, sum, r.Score)
			}
		}
	}
	if got := rankCandidates(near, wire.SearchRequest{}, rank.Options{MinScore: .5}); len(got) != 0 {
		t.Errorf("order with a minimum = %+v", got)
	}
	worded := near
	worded.Memories = []rank.Hit{{Key: "m:0/b", Memory: "0/b", Fielded: 3, Coverage: 1}}
	if got := rankCandidates(worded, wire.SearchRequest{}, rank.Options{}); got[0].ID != "0/b" || got[0].Relevance < .5 {
		t.Errorf("order with a word = %+v", got)
	}
}
