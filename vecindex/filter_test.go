package vecindex

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/vecindex/dot"
)

// filterEngines are what may serve when a filter comes.
var filterEngines = []string{Exact, Sketch, Graph, CoderGraph}

// filterSet is an index of n vectors of as many memories, a few of which a filter
// names, and one engine that serves.
func filterSet(t testing.TB, engine string, n, dim int) (x *Index, queries [][]float32) {
	t.Helper()
	all := clusters(rand.New(rand.NewPCG(95, 95)), n+8, dim)
	x = open(t, dim)
	for first := 0; first < n; first += 1000 {
		var put []Vec
		for i, v := range all[first:min(first+1000, n)] {
			put = append(put, Vec{Key: fmt.Sprintf("c:%07d", first+i), Memory: memoryAt(first + i), V: v})
		}
		if err := x.Apply(int64(first+1), put, nil); err != nil {
			t.Fatal(err)
		}
	}
	x.Serve(engine, nil)
	if err := x.Settle(context.Background()); err != nil {
		t.Fatal(err)
	}
	if r := x.Report(); r.Engine != engine {
		t.Fatalf("%+v", r)
	}
	return x, all[n:]
}

func memoryAt(i int) fold.ID { return fold.ID(fmt.Sprintf("m%07d", i)) }

// oneIn is a filter that lets one row in every pass.
func oneIn(every, n int) *Filter {
	f := &Filter{Only: map[fold.ID]bool{}}
	for i := 0; i < n; i += every {
		f.Only[memoryAt(i)] = true
	}
	return f
}

// looks searches by what serves and says at how many rows it looked.
func (x *Index) looks(v []float32, k int, f *Filter) (hits []Hit, looked int64) {
	x.state.mu.RLock()
	defer x.state.mu.RUnlock()
	pass, n := x.state.table.passing(f)
	q := &query{v: v, bytes: dot.NewQuery(v), pass: pass, passing: n}
	hits, _ = x.state.serving.Load().search(x.state.table, q, k)
	return hits, q.scored.Load()
}

// TestASelectiveFilterFindsAllThereIs has one row in a hundred pass: whatever
// serves, as many are found as there are, the nearest of them, and no more rows
// are looked at than twice what a search without the filter looks at.
func TestASelectiveFilterFindsAllThereIs(t *testing.T) {
	const n, dim = 1000, 16
	for _, engine := range filterEngines {
		if engine == CoderGraph && runtime.GOOS == "windows" {
			continue
		}
		t.Run(engine, func(t *testing.T) {
			x, queries := filterSet(t, engine, n, dim)
			defer x.Close()
			var free, filtered int64
			for _, every := range []int{100, 20, 4} {
				f := oneIn(every, n)
				free, filtered = 0, 0
				for _, q := range queries {
					for _, k := range []int{1, 10, n} {
						want := x.by(&serving{}, q, k, f)
						hits, looked := x.looks(q, k, f)
						if len(hits) != min(k, n/every) || len(hits) != len(want) {
							t.Fatalf("one in %d: %d hits of %d for k = %d", every, len(hits), n/every, k)
						}
						for _, h := range hits {
							if !f.Only[h.Memory] {
								t.Fatalf("one in %d: found %s", every, h.Key)
							}
						}
						if every > 4 && !slices.Equal(hits, want) { // then all that pass are scanned
							t.Fatalf("one in %d: %v, want %v", every, hits, want)
						}
						if k == 10 {
							filtered += looked
							_, looked = x.looks(q, k, nil)
							free += looked
						}
					}
				}
				t.Logf("one in %d pass: %d rows a search, %d without a filter", every, filtered/int64(len(queries)), free/int64(len(queries)))
				if every == 100 && filtered > 2*free {
					t.Errorf("a filter of 1 %% has %d rows looked at, %d without", filtered, free)
				}
				if every == 100 && filtered != int64(len(queries))*n/100 {
					t.Errorf("%d rows looked at, want those that pass and no other", filtered)
				}
			}
		})
	}
}

// BenchmarkFilter has each engine search with and without a filter of 1 %. VECTORS
// and DIM make it larger.
func BenchmarkFilter(b *testing.B) {
	n, dim := 20_000, 256
	if v, err := strconv.Atoi(os.Getenv("VECTORS")); err == nil {
		n = v
	}
	if v, err := strconv.Atoi(os.Getenv("DIM")); err == nil {
		dim = v
	}
	for _, engine := range filterEngines {
		if engine == CoderGraph && runtime.GOOS == "windows" {
			continue
		}
		x, queries := filterSet(b, engine, n, dim)
		for name, f := range map[string]*Filter{"none": nil, "1 in 100": oneIn(100, n), "1 in 10": oneIn(10, n), "1 in 4": oneIn(4, n)} {
			b.Run(engine+"/"+name, func(b *testing.B) {
				var took []time.Duration
				for i := 0; b.Loop(); i++ {
					start := time.Now()
					x.Search(queries[i%len(queries)], checkedK, f)
					took = append(took, time.Since(start))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
			})
		}
		if err := x.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// TestManyResultsAreScanned asks for so many that the sketch would look at most of
// the rows, one by one.
func TestManyResultsAreScanned(t *testing.T) {
	const n, dim = 4000, 32
	x, queries := filterSet(t, Sketch, n, dim)
	defer x.Close()
	s := *x.state.serving.Load()
	s.effort = 100
	x.state.serving.Store(&s)
	for _, tc := range []struct {
		k    int
		want int64
	}{{10, 100}, {40, 400}, {100, n}} {
		for _, q := range queries {
			hits, looked := x.looks(q, tc.k, nil)
			if (looked == n) != (tc.want == n) || len(hits) != tc.k {
				t.Errorf("%d hits of %d, %d rows looked at, want some %d", len(hits), tc.k, looked, tc.want)
			}
		}
	}
}
