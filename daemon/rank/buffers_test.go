package rank_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestBuffersChangeNothing ranks many searches with the same buffers, one after the other,
// and each without: order, scores and terms are the same.
func TestBuffersChangeNothing(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	buffers := &rank.Buffers{}
	for n := range 60 {
		c := rank.Candidates{Votes: map[fold.ID]float64{}, Strength: map[fold.ID]float64{}, Places: map[string]rank.Place{}}
		hits := func(prefix string, most int) (out []rank.Hit) {
			for range rnd.IntN(most + 1) {
				id := rnd.IntN(40)
				h := hit(fmt.Sprintf("%s%d", prefix, id), fmt.Sprintf("%016x", id%20), rnd.Float64(), rnd.Float64())
				h.Exact, h.Body, h.Name, h.Prose = rnd.Float64(), rnd.Float64(), rnd.Float64(), id%3 == 0
				out = append(out, h)
				c.Strength[h.Memory], c.Votes[h.Memory] = rnd.Float64(), float64(id%4)
				c.Places[h.Key] = rank.Place{Group: string(h.Memory), Ordinal: id}
			}
			return out
		}
		c.Files, c.Chunks, c.Memories = hits("m:f", 30), hits("c:", 60), hits("m:", 30*(n%2))
		for i := range rnd.IntN(20) {
			c.Vectors = append(c.Vectors, rank.Near{Key: fmt.Sprintf("c:%d", i), Memory: fold.ID(fmt.Sprintf("%016x", i%20)), Score: rnd.Float64()})
		}
		opt := rank.Options{StrengthWeight: .05, Fusion: []rank.Fusion{rank.Linear, rank.RRF}[n/2%2]}
		want, chunks := rank.Rank(c, opt), rank.RankChunks(c, opt)
		c.Buffers = buffers
		got, gotChunks := rank.Rank(c, opt), rank.RankChunks(c, opt)
		evidence := cmpopts.IgnoreTypes(rank.Evidence{})
		if d := cmp.Diff(want, got, evidence) + cmp.Diff(chunks, gotChunks, evidence); d != "" {
			t.Fatalf("search %d: -want +got %s", n, d)
		}
		for i := range want {
			if d := cmp.Diff(want[i].Terms(), got[i].Terms()); d != "" {
				t.Fatalf("search %d, what made result %d: -want +got %s", n, i, d)
			}
		}
		buffers.Release()
	}
}
