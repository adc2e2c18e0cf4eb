package recall

import (
	"fmt"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestPlacesAreNotHiddenByTheirFile: the five best functions of one file come
// before the best of the next, and all are shown where places are asked for.
func TestPlacesAreNotHiddenByTheirFile(t *testing.T) {
	result := func(id string, relevance ...float64) rank.Ranked {
		r := rank.Ranked{ID: fold.ID(id)}
		for i, v := range relevance {
			r.Chunks = append(r.Chunks, rank.RankedChunk{Key: fmt.Sprint(id, i), Relevance: v})
		}
		return r
	}
	for _, c := range []struct {
		name   string
		places bool
		limit  int
		want   string
	}{
		{"files", false, 6, "[3 3 1]"},
		{"places", true, 6, "[5 3 1]"},
		{"two places", true, 2, "[3 3 1]"},
		{"all places", true, 20, "[6 4 1]"},
	} {
		ranked := []rank.Ranked{
			result("a", .9, .8, .7, .6, .5, .1),
			result("b", .4, .3, .2, .1),
			result("c", .05),
		}
		limitChunks(ranked, wire.SearchRequest{ChunksFirst: c.places, Limit: c.limit})
		var got []int
		for _, r := range ranked {
			got = append(got, len(r.Chunks))
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: chunks shown = %v, want %s", c.name, got, c.want)
		}
	}
}
