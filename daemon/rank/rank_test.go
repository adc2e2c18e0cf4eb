package rank_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
)

func TestFuse(t *testing.T) {
	got := rank.Fuse(60, []string{"a", "b", "a"}, []string{"b", "c"})
	want := []rank.Scored{{Key: "b", Score: 1./62 + 1./61}, {Key: "a", Score: 1. / 61}, {Key: "c", Score: 1. / 62}}
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-12)); d != "" {
		t.Errorf("Fuse: -want +got %s", d)
	}
}

func TestTopSum(t *testing.T) {
	for _, tc := range []struct {
		in   []float64
		want float64
	}{{nil, 0}, {[]float64{2}, 2}, {[]float64{1, 4, 2, 1}, 5.25}, {[]float64{4, 2, 1, 1, 1}, 5.25}} {
		if got := rank.TopSum(tc.in); got != tc.want {
			t.Errorf("TopSum(%v) = %v, want %v", tc.in, got, tc.want)
		}
	}
}

func hit(key, memory string, fielded, coverage float64) rank.Hit {
	return rank.Hit{Key: key, Memory: fold.ID(memory), Fielded: fielded, Coverage: coverage}
}

func order(r []rank.Ranked) (ids []string) {
	for _, m := range r {
		ids = append(ids, string(m.ID))
	}
	return ids
}

func TestThreeChunksBeatOne(t *testing.T) {
	c := rank.Candidates{
		Files:  []rank.Hit{hit("m:f1", "f1", 5, 1), hit("m:f2", "f2", 5, 1)},
		Chunks: []rank.Hit{hit("c:1", "f1", 4, 1), hit("c:2", "f2", 3.9, 1), hit("c:3", "f2", 3.9, 1), hit("c:4", "f2", 1, 1)},
	}
	got := rank.Rank(c, rank.Options{})
	if d := cmp.Diff([]string{"f2", "f1"}, order(got)); d != "" {
		t.Errorf("order: %s", d)
	}
	if len(got[0].Chunks) != 3 || got[0].Chunks[0].Key != "c:2" {
		t.Errorf("chunks of f2: %+v", got[0].Chunks)
	}
}

func TestParentAndNeighboursSupportAChunk(t *testing.T) {
	c := rank.Candidates{
		Files:  []rank.Hit{hit("m:f1", "f1", 5, 1)},
		Chunks: []rank.Hit{hit("c:1", "f1", 4, 1), hit("c:2", "f2", 4, 1), hit("c:3", "f2", 3, 1), hit("c:4", "f3", 4, 1)},
		Places: map[string]rank.Place{"c:2": {Group: "f2", Ordinal: 6}, "c:3": {Group: "f2", Ordinal: 7}},
	}
	var keys []string
	for _, r := range rank.RankChunks(c, rank.Options{}) {
		keys = append(keys, r.Key)
	}
	if d := cmp.Diff([]string{"c:1", "c:2", "c:4", "c:3"}, keys); d != "" {
		t.Errorf("order: %s", d)
	}
}

func TestMemoriesAndFilesShareOneScale(t *testing.T) {
	c := rank.Candidates{
		Files:    []rank.Hit{hit("m:f1", "f1", 9, .3)}, // has a third of the question
		Chunks:   []rank.Hit{hit("c:1", "f1", 7, .3)},
		Memories: []rank.Hit{hit("m:m1", "m1", 4, 1), hit("m:m2", "m2", 1, .5)},
	}
	if d := cmp.Diff([]string{"m1", "f1", "m2"}, order(rank.Rank(c, rank.Options{}))); d != "" {
		t.Errorf("order: %s", d)
	}
}

func TestStrengthIsBlendedIn(t *testing.T) {
	c := rank.Candidates{
		Memories: []rank.Hit{hit("m:a", "a", 2, 1), hit("m:b", "b", 1.98, 1)},
		Strength: map[fold.ID]float64{"a": .01, "b": 1},
	}
	if d := cmp.Diff([]string{"a", "b"}, order(rank.Rank(c, rank.Options{}))); d != "" {
		t.Errorf("without strength: %s", d)
	}
	if d := cmp.Diff([]string{"b", "a"}, order(rank.Rank(c, rank.Options{StrengthWeight: .05}))); d != "" {
		t.Errorf("with strength: %s", d)
	}
}

func TestVectorsCountByTheirWeight(t *testing.T) {
	c := rank.Candidates{
		Memories: []rank.Hit{hit("m:a", "a", 2, 1)},
		Vectors:  []rank.Near{{Key: "m:b", Memory: "b", Score: .9}, {Key: "m:a", Memory: "a", Score: .1}},
	}
	if d := cmp.Diff([]string{"a"}, order(rank.Rank(c, rank.Options{}))); d != "" {
		t.Errorf("weight 0: %s", d)
	}
	w := rank.DefaultWeights()
	w.SetVectors(rank.Vectors{Whole: 5, Part: 5})
	if d := cmp.Diff([]string{"b", "a"}, order(rank.Rank(c, rank.Options{Weights: &w}))); d != "" {
		t.Errorf("weight 5: %s", d)
	}
	if d := cmp.Diff([]string{"a", "b"}, order(rank.Rank(c, rank.Options{Weights: &w, Fusion: rank.RRF}))); d != "" {
		t.Errorf("rrf: %s", d)
	}
}

func TestRankIsTotalAndDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		score := rapid.OneOf(rapid.Float64Range(0, 20), rapid.Just(0.), rapid.Just(math.NaN()))
		var c rank.Candidates
		c.Places, c.Strength, c.Votes = map[string]rank.Place{}, map[fold.ID]float64{}, map[fold.ID]float64{}
		draw := func(name, prefix string) (hits []rank.Hit) {
			for i := range rapid.IntRange(0, 8).Draw(t, name) {
				m := fmt.Sprintf("m%d", rapid.IntRange(0, 5).Draw(t, "m"))
				key := prefix + m
				if prefix == "c:" {
					key = fmt.Sprintf("c:%d", i)
				}
				c.Places[key] = rank.Place{Group: m, Ordinal: i}
				c.Strength[fold.ID(m)] = score.Draw(t, "s")
				hits = append(hits, rank.Hit{Key: key, Memory: fold.ID(m), Fielded: score.Draw(t, "f"), Exact: score.Draw(t, "e"), Name: score.Draw(t, "n"), Coverage: score.Draw(t, "c") / 20})
			}
			return hits
		}
		c.Files, c.Memories, c.Chunks = draw("files", "m:"), draw("memories", "m:"), draw("chunks", "c:")
		c.Votes["m1"], c.Associated = score.Draw(t, "v"), []fold.ID{"m2", "m9"}
		opt := rank.Options{StrengthWeight: .05, Fusion: rapid.SampledFrom([]rank.Fusion{rank.Linear, rank.RRF}).Draw(t, "fusion")}
		got := rank.Rank(c, opt)
		for i, r := range got {
			sum := 0.0
			for _, term := range r.Terms() {
				if !(term.Value >= 0 && term.Value <= 1) {
					t.Fatalf("term %+v", term)
				}
				sum += term.Value * term.Weight
			}
			if !(r.Score >= 0 && r.Score <= 1 && r.Relevance >= 0 && r.Relevance <= 1) || math.Abs(sum-r.Relevance) > 1e-9 {
				t.Fatalf("result %+v, terms sum to %v", r, sum)
			}
			if i > 0 && r.Score > got[i-1].Score {
				t.Fatalf("result %d is out of order", i)
			}
		}
		terms := cmp.Transformer("terms", rank.Evidence.Terms)
		if d := cmp.Diff(got, rank.Rank(c, opt), terms); d != "" {
			t.Fatalf("ranked twice: %s", d)
		}
	})
}
