package recall

import (
	"math"
	"testing"

	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/textindex"
	"github.com/foldwatch/foldwatch/vecindex"
)

// TestNearChunksAreAlikeByTheirWeight has a chunk that words find, one that both
// find, and one that is only near.
func TestNearChunksAreAlikeByTheirWeight(t *testing.T) {
	words := func() []textindex.Alike {
		return []textindex.Alike{{Key: "c:word", Memory: "a", Share: .5, Terms: []string{"x"}}, {Key: "c:both", Memory: "b", Share: .4, Terms: []string{"y"}}}
	}
	hits := []vecindex.Hit{
		{Key: "c:both", Memory: "b", Score: .9},
		{Key: "c:near", Memory: "c", Score: .8},
		{Key: "m:whole", Memory: "d", Score: .8},
		{Key: "c:far", Memory: "e", Score: .6},
	}
	got := withVectorHits(words(), hits, .4)
	share := map[fold.ID]float64{}
	for _, a := range got {
		share[a.Memory] = a.Share
	}
	if got[0].Memory != "b" || got[0].Share <= .4 || got[0].Share >= 1 || got[0].Terms[0] != "y" {
		t.Errorf("first is %+v, want what both find", got[0])
	}
	if share["a"] != .5 || math.Abs(share["c"]-.4*.5) > 1e-9 || share["e"] != 0 {
		t.Errorf("shares %v", share)
	}
	if _, ok := share["d"]; ok {
		t.Error("a file as a whole is no chunk")
	}
	ends := []chunkEnd{{key: "c:own"}}
	alike := [][]textindex.Alike{words()}
	addVectorSimilarities(&Model{Weights: &rank.Vectors{}}, "o", ends, alike) // asks no index
	if len(alike[0]) != 2 || alike[0][0].Share != .5 {
		t.Errorf("cosines that count nothing change %+v", alike[0])
	}
}

// TestVectorsTieWhatSharesNoWord goes through an index of vectors.
func TestVectorsTieWhatSharesNoWord(t *testing.T) {
	x, err := vecindex.Open(t.TempDir(), "test", 4)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}()
	vec := func(key string, id fold.ID, v ...float32) vecindex.Vec {
		return vecindex.Vec{Key: key, Memory: id, V: v}
	}
	if err := x.Apply(1, []vecindex.Vec{
		vec("c:own", "o", 1, 0, 0, 0), vec("c:own2", "o", 1, 0, 0, 0), vec("c:near", "n", .98, .199, 0, 0), vec("c:far", "f", 0, 0, 1, 0),
	}, nil); err != nil {
		t.Fatal(err)
	}
	alike := [][]textindex.Alike{nil, nil}
	addVectorSimilarities(&Model{Vectors: x, Weights: &rank.Vectors{Part: .5}}, "o", []chunkEnd{{key: "c:own"}, {key: "c:unknown"}}, alike)
	if len(alike[0]) == 0 || alike[0][0].Memory != "n" || alike[0][0].Share < minSimilarity || len(alike[1]) != 0 {
		t.Errorf("alike are %+v", alike)
	}
	for _, a := range alike[0] {
		if a.Memory == "o" || a.Memory == "f" && a.Share > 0 {
			t.Errorf("alike is %+v", a)
		}
	}
}
