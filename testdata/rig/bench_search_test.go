//go:build accept

package rig

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/vecindex"
)

// search is goal 6 for two sizes, and goal 6c: both channels end to end, against
// an empty round trip.
func (b *bench) search(t *testing.T) {
	b.vectorScan(t, 10_000)
	b.vectorScan(t, 100_000)
	a := b.arena(t, "gosrc", func(m *machine) corpus { return m.goSource() })
	a.index("--file-memories", "local")
	a.rest()
	var search, ping spread
	for range 5 {
		for _, q := range queries(200) {
			search = append(search, timed(func() {
				if _, err := a.cl.Search(t.Context(), "gosrc", wire.SearchRequest{Query: q}); err != nil {
					t.Fatal(err)
				}
			}))
			ping = append(ping, timed(func() {
				if err := a.cl.Ping(t.Context()); err != nil {
					t.Fatal(err)
				}
			}))
		}
	}
	b.add(ratio("6c", fmt.Sprintf("search over the socket, p50 of %d", len(search)), search.at(.5), "empty round trip", ping.at(.5), "-"),
		ratio("6c", "search over the socket, p99", search.at(.99), "its own p50", search.at(.5), "-"))
}

// vectorScan is goal 6: the index of package vecindex against a plain exact scan
// of the same vectors in float32, with the recall of the ten nearest.
func (b *bench) vectorScan(t *testing.T, n int) {
	t.Helper()
	const dim, k, asked = 256, 10, 60
	all, qs := clustered(n, dim), clustered(n+asked, dim)[n:]
	x, err := vecindex.Open(t.TempDir(), "bench", dim)
	if err != nil {
		t.Fatal(err)
	}
	put := make([]vecindex.Vec, n)
	for i, v := range all {
		put[i] = vecindex.Vec{Key: fmt.Sprintf("c:%07d", i), Memory: "m", V: v}
	}
	if err := x.Apply(1, put, nil); err != nil {
		t.Fatal(err)
	}
	var ours, plain spread
	found := 0
	for _, q := range qs {
		var hits []vecindex.Hit
		ours = append(ours, timed(func() { hits = x.Search(q, k, nil) }))
		var want map[int]bool
		plain = append(plain, timed(func() { want = exactScan(all, q, k) }))
		for _, h := range hits {
			var i int
			if _, err := fmt.Sscanf(h.Key, "c:%d", &i); err == nil && want[i] {
				found++
			}
		}
	}
	recall := float64(found) / float64(k*len(qs))
	what := fmt.Sprintf("%d vectors of %d, recall@10 %.3f, ", n, dim, recall)
	b.add(ratio("6", what+"p50", ours.at(.5), "plain float32 scan", plain.at(.5), "-"),
		ratio("6", what+"p99", ours.at(.99), "plain float32 scan", plain.at(.99), "<= 3"))
}

// clustered returns n unit vectors around 200 centres, always the same.
func clustered(n, dim int) [][]float32 {
	r := rand.New(rand.NewPCG(11, 12))
	centres := make([][]float64, 200)
	for i := range centres {
		centres[i] = make([]float64, dim)
		for d := range centres[i] {
			centres[i][d] = r.NormFloat64()
		}
	}
	all := make([][]float32, n)
	for i := range all {
		c, v, square := centres[i%len(centres)], make([]float32, dim), 0.0
		for d := range v {
			f := c[d] + r.NormFloat64()
			v[d] = float32(f)
			square += f * f
		}
		for d := range v {
			v[d] /= float32(math.Sqrt(square))
		}
		all[i] = v
	}
	return all
}

// exactScan returns the rows of the k largest products with q.
func exactScan(all [][]float32, q []float32, k int) map[int]bool {
	type hit struct {
		row   int
		score float32
	}
	best := make([]hit, 0, k+1)
	for row, v := range all {
		var a, b, c, d float32
		for i := 0; i+3 < len(v); i += 4 {
			a += v[i] * q[i]
			b += v[i+1] * q[i+1]
			c += v[i+2] * q[i+2]
			d += v[i+3] * q[i+3]
		}
		score := a + b + c + d
		if len(best) == k && score <= best[k-1].score {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, score, func(h hit, s float32) int { return cmp.Compare(s, h.score) })
		best = slices.Insert(best, at, hit{row, score})
		best = best[:min(len(best), k)]
	}
	rows := make(map[int]bool, k)
	for _, h := range best {
		rows[h.row] = true
	}
	return rows
}
