package vecindex_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/vecindex"
)

const identity = "builtin/hash@1"

func open(t testing.TB, dir string, dim int) *vecindex.Index {
	t.Helper()
	x, err := vecindex.Open(dir, identity, dim)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// unit returns a random vector of unit length; latent > 0 makes it lie near a
// subspace, as embeddings do.
func unit(r *rand.Rand, dim int) []float32 {
	v, sum := make([]float32, dim), 0.0
	for i := range v {
		v[i] = float32(r.NormFloat64())
		sum += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

func vecs(r *rand.Rand, n, dim int) []vecindex.Vec {
	out := make([]vecindex.Vec, n)
	for i := range out {
		out[i] = vecindex.Vec{Key: fmt.Sprintf("c:%05d", i), Memory: fold.ID(fmt.Sprintf("m%03d", i%100)), V: unit(r, dim)}
	}
	return out
}

func dot(a, b []float32) float64 {
	s := 0.0
	for i := range a {
		s += float64(a[i]) * float64(b[i])
	}
	return s
}

func TestSearchFindsWhatBruteForceFinds(t *testing.T) {
	for _, dim := range []int{1, 7, 8, 100, 256} {
		r := rand.New(rand.NewPCG(1, uint64(dim)))
		all := vecs(r, 3000, dim)
		x := open(t, t.TempDir(), dim)
		if err := x.Apply(1, all, nil); err != nil {
			t.Fatal(err)
		}
		found, asked := 0, 0
		for range 30 {
			q := unit(r, dim)
			score := make(map[string]float64, len(all))
			for _, v := range all {
				score[v.Key] = dot(q, v.V)
			}
			worst := slices.Sorted(maps.Values(score))[len(all)-10]
			hits := x.Search(q, 10, nil)
			if len(hits) != 10 {
				t.Fatalf("dim %d: %d hits, want 10", dim, len(hits))
			}
			for _, h := range hits {
				want, known := score[h.Key]
				if !known || math.Abs(h.Score-want) > .01 {
					t.Errorf("dim %d: score %v, want about %v", dim, h.Score, want)
				}
				asked++
				if want >= worst-.001-.016/math.Sqrt(float64(dim)) { // what 8 bits cannot tell apart
					found++
				}
			}
		}
		if found < asked {
			t.Errorf("dim %d: %d of %d hits belong there", dim, found, asked)
		}
	}
}

func TestFilterActsInsideTheScan(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	x := open(t, t.TempDir(), 64)
	if err := x.Apply(1, vecs(r, 2000, 64), nil); err != nil {
		t.Fatal(err)
	}
	hits := x.Search(unit(r, 64), 15, &vecindex.Filter{Only: map[fold.ID]bool{"m042": true, "m999": true}})
	if len(hits) != 15 {
		t.Fatalf("%d hits, want 15 of the 20 allowed", len(hits))
	}
	for i, h := range hits {
		if h.Memory != "m042" || i > 0 && h.Score > hits[i-1].Score {
			t.Errorf("hit %d = %+v", i, h)
		}
	}
}

func TestTiesAreOrderedByKey(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	v := unit(r, 32)
	put := make([]vecindex.Vec, 500)
	for i, n := range r.Perm(500) {
		put[i] = vecindex.Vec{Key: fmt.Sprintf("c:%03d", n), V: v}
	}
	x := open(t, t.TempDir(), 32)
	if err := x.Apply(1, put, nil); err != nil {
		t.Fatal(err)
	}
	for i, h := range x.Search(v, 5, nil) {
		if want := fmt.Sprintf("c:%03d", i); h.Key != want {
			t.Errorf("hit %d = %s, want %s", i, h.Key, want)
		}
	}
}

func TestApplyRefusesWhatIsNoVector(t *testing.T) {
	x := open(t, t.TempDir(), 4)
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, v := range [][]float32{nil, {1, 0, 0}, {1, 0, 0, 0, 0}, {0, 0, 0, 0}, {nan, 0, 0, 1}, {inf, 0, 0, 0}, {2, 0, 0, 0}, {.1, 0, 0, 0}} {
		if err := x.Apply(9, []vecindex.Vec{{Key: "a", V: []float32{1, 0, 0, 0}}, {Key: "b", V: v}}, nil); !errors.Is(err, fold.ErrInvalid) {
			t.Errorf("Apply(%v) = %v, want ErrInvalid", v, err)
		}
		if hits := x.Search(v, 3, nil); hits != nil {
			t.Errorf("Search(%v) = %v, want none", v, hits)
		}
	}
	if err := x.Apply(9, []vecindex.Vec{{V: []float32{1, 0, 0, 0}}}, nil); !errors.Is(err, fold.ErrInvalid) {
		t.Errorf("Apply without a key = %v, want ErrInvalid", err)
	}
	if x.Len() != 0 || x.Seq() != 0 {
		t.Errorf("Len, Seq = %d, %d, want 0, 0", x.Len(), x.Seq())
	}
}

func TestReplaceDropCompactAndReopen(t *testing.T) {
	r, dir := rand.New(rand.NewPCG(4, 4)), t.TempDir()
	x := open(t, dir, 48)
	all := vecs(r, 5000, 48)
	if err := x.Apply(1, all, nil); err != nil {
		t.Fatal(err)
	}
	var drop []string
	for _, v := range all[1000:4500] {
		drop = append(drop, v.Key)
	}
	again := all[:500]
	for i := range again {
		again[i].V = unit(r, 48)
	}
	if err := x.Apply(2, again, append(drop, "c:none")); err != nil { // compacts
		t.Fatal(err)
	}
	if err := x.Apply(3, nil, []string{all[4600].Key}); err != nil { // leaves a tombstone
		t.Fatal(err)
	}
	want := 5000 - 3500 - 1
	q := unit(r, 48)
	hits := x.Search(q, 20, nil)
	if v, ok := x.Vector(all[3].Key); !ok || dot(v, all[3].V) < .999 {
		t.Errorf("Vector(%s) = %v, %v", all[3].Key, v, ok)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	y := open(t, dir, 48)
	if y.Rebuilt != "" || y.Len() != want || y.Seq() != 3 || y.Engine() != "exact" {
		t.Errorf("reopened: Rebuilt %q, Len %d, Seq %d, want none, %d, 3", y.Rebuilt, y.Len(), y.Seq(), want)
	}
	if d := cmp.Diff(hits, y.Search(q, 20, nil)); d != "" {
		t.Errorf("reopened: -want +got %s", d)
	}
	if err := y.Compact(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(hits, y.Search(q, 20, nil)); d != "" {
		t.Errorf("compacted: -want +got %s", d)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 3 {
		t.Errorf("files %v, want the snapshot and the originals of two generations", names)
	}
}

func TestOtherIdentityBeginsAnew(t *testing.T) {
	r, dir := rand.New(rand.NewPCG(5, 5)), t.TempDir()
	x := open(t, dir, 16)
	if err := x.Apply(1, vecs(r, 10, 16), nil); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	y, err := vecindex.Open(dir, "other", 16)
	if err != nil || y.Len() != 0 || y.Seq() != 0 || !strings.Contains(y.Rebuilt, identity) {
		t.Errorf("Open(other) = %+v, %v", y, err)
	}
}

func TestDamagedSnapshotIsRefused(t *testing.T) {
	r, dir := rand.New(rand.NewPCG(6, 6)), t.TempDir()
	x := open(t, dir, 24)
	if err := x.Apply(5, vecs(r, 40, 24), nil); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "vectors.snap")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		b := slices.Clone(good)
		switch i % 4 {
		case 0, 1:
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		case 2:
			b = b[:r.IntN(len(b))]
		case 3:
			at := r.IntN(len(b))
			clear(b[at:min(at+512, len(b))])
			if slices.Equal(b, good) {
				continue
			}
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		y := open(t, dir, 24)
		if y.Rebuilt == "" || y.Len() != 0 || y.Seq() != 0 {
			t.Fatalf("damage %d: Rebuilt %q, Len %d, Seq %d", i, y.Rebuilt, y.Len(), y.Seq())
		}
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 2 {
		t.Errorf("files %v, want one set aside and the originals", names)
	}
}

// TestConcurrentUse has everything done at once, for each engine, and the index
// closed in the middle of it.
func TestConcurrentUse(t *testing.T) {
	for _, engine := range []string{vecindex.Auto, vecindex.Sketch, vecindex.Graph, vecindex.CoderGraph} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(7, 7))
			x := open(t, t.TempDir(), 32)
			all, q := vecs(r, 2000, 32), unit(r, 32)
			x.Serve(engine, nil)
			var wg sync.WaitGroup
			wg.Go(func() {
				for i := range 40 {
					part := all[i*50 : i*50+50]
					if err := x.Apply(int64(i), part, []string{all[max(0, i*50-25)].Key}); err != nil {
						t.Error(err)
					}
					if i == 20 {
						if err := x.Settle(t.Context()); err != nil {
							t.Error(err)
						}
					}
				}
			})
			for range 2 {
				wg.Go(func() {
					for range 150 {
						x.Search(q, 5, nil)
						x.Search(q, 5, &vecindex.Filter{Only: map[fold.ID]bool{"m003": true}})
						x.Vector(all[3].Key)
						x.Report()
					}
				})
			}
			wg.Go(func() {
				for range 5 {
					if err := errors.Join(x.Snapshot(), x.Compact()); err != nil {
						t.Error(err)
					}
					x.SnapshotWithin(0)
				}
			})
			wg.Wait()
			for range 3 { // those that come too late find nothing, and no harm
				wg.Go(func() {
					for i := range 50 {
						x.Search(q, 5, nil)
						_ = x.Apply(int64(i), all[:5], nil)
						_ = x.Compact()
						x.SnapshotWithin(0)
					}
				})
			}
			if err := x.Close(); err != nil {
				t.Error(err)
			}
			wg.Wait()
		})
	}
}

func BenchmarkSearch120k(b *testing.B) {
	r := rand.New(rand.NewPCG(8, 8))
	x := open(b, b.TempDir(), 256)
	if err := x.Apply(1, vecs(r, 120_000, 256), nil); err != nil {
		b.Fatal(err)
	}
	q := unit(r, 256)
	b.ReportAllocs()
	for b.Loop() {
		x.Search(q, 50, nil)
	}
}

// TestPutOfTheSameVectorChangesNothing: what is embedded again, to the same
// vector, leaves no tombstone behind.
func TestPutOfTheSameVectorChangesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	x := open(t, t.TempDir(), 64)
	all := vecs(r, 50, 64)
	for seq := range int64(3) {
		if err := x.Apply(seq, all, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := x.Dead(); n != 0 {
		t.Errorf("%d tombstones after the same vectors were put again", n)
	}
	moved := all[7]
	moved.Memory = "other"
	turned := all[8]
	turned.V = all[9].V
	if err := x.Apply(4, []vecindex.Vec{moved, turned, all[9]}, nil); err != nil {
		t.Fatal(err)
	}
	if n := x.Dead(); n != 2 || x.Len() != len(all) {
		t.Errorf("%d tombstones and %d vectors, want 2 and %d", n, x.Len(), len(all))
	}
	if hits := x.Search(all[9].V, 2, nil); len(hits) != 2 || hits[0].Key != "c:00008" || hits[1].Key != "c:00009" {
		t.Errorf("nearest to what two keys have: %v", hits)
	}
	if hits := x.Search(all[7].V, 1, nil); len(hits) != 1 || hits[0].Memory != "other" {
		t.Errorf("a vector that went to another memory: %v", hits)
	}
}
