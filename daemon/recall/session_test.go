package recall

import (
	"math"
	"testing"

	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestWordsFirst ranks what stands between two that have the word much, and one that
// has it a little.
func TestWordsFirst(t *testing.T) {
	t.Parallel()
	hit := func(id fold.ID, count float64) rank.Hit {
		score := count / (1 + count)
		h := rank.Hit{Key: "m:" + string(id), Memory: id, Ideal: 1, K1: 1, Fielded: score, Expanded: score, Terms: []rank.TermCount{{Worth: 1, Count: count}}}
		if count > 0 {
			h.Coverage = 1
		}
		return h
	}
	c := rank.Candidates{
		Memories: []rank.Hit{hit("a", 8), hit("b", 0), hit("c", 8), hit("d", .1)},
		Places:   map[string]rank.Place{"m:a": {Group: "session x", Ordinal: 0}, "m:b": {Group: "session x", Ordinal: 1}, "m:c": {Group: "session x", Ordinal: 2}},
		Strength: map[fold.ID]float64{"b": .9, "d": .1},
	}
	opt := rank.Options{StrengthWeight: .05}
	ranked := rank.Rank(c, opt)
	if len(ranked) != 4 || ranked[2].ID != "b" {
		t.Fatalf("ranked: %+v", ranked)
	}
	got := demoteNeighbours(ranked, opt)
	if len(got) != 4 || got[2].ID != "d" || got[3].ID != "b" || got[3].Score > got[2].Score+1e-9 {
		t.Errorf("words first: %+v", got)
	}
	sum := .05 * got[3].Strength
	for _, term := range got[3].Terms() {
		sum += .95 * term.Value * term.Weight
	}
	if math.Abs(sum-got[3].Score) > 1e-9 {
		t.Errorf("the terms of what steps back are %v, its score is %v", sum, got[3].Score)
	}
	if one := demoteNeighbours(ranked[2:3], opt); len(one) != 1 || one[0].Score != ranked[2].Score {
		t.Errorf("alone it keeps its score: %+v", one)
	}
}
