//go:build accept

package rig

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/vecindex"
	"github.com/foldwatch/foldwatch/vecindex/dot"
)

// What the goals of vectors are measured on: unit vectors around 200 centres,
// made from a fixed seed; the queries are others of the same kind.
const (
	vectorK      = 10
	chunksOf     = 5 // vectors of each memory
	seedVectors  = 11
	seedQueries  = 12
	truthQueries = 100 // for which the ten nearest are looked up among the floats
)

// vectorDim is the dimension of all of them: 768, or what DIM says.
var vectorDim = func() int {
	if v, err := strconv.Atoi(os.Getenv("DIM")); err == nil {
		return v
	}
	return 768
}()

// vectorGoals is goals 6 and 10 for 10,000 and 100,000 vectors, and 1 % of them
// by a filter.
func (b *bench) vectorGoals(t *testing.T) {
	for _, n := range []int{10_000, 100_000} {
		s := newVectorSet(t, n, 1000)
		s.measure(b, t, "6", vecindex.Exact, "<= 3, aim 1.2")
		s.measure(b, t, "6", vecindex.Sketch, "<= 3, aim 1.2")
		s.measure(b, t, "6", vecindex.Auto, "<= 3, aim 1.2")
		if n == 100_000 {
			s.measure(b, t, "6", vecindex.Graph, "<= 3, aim 1.2")
			s.measure(b, t, "6", vecindex.CoderGraph, "forced")
		}
	}
}

// millionVectors is goal 6b. ENGINES names the ways to measure, with blanks
// between them: a graph of a million rows takes minutes to build.
func (b *bench) millionVectors(t *testing.T) {
	n := 1_000_000
	if v, err := strconv.Atoi(os.Getenv("VECTORS")); err == nil {
		n = v
	}
	s := newVectorSet(t, n, 200)
	ways := strings.Fields(os.Getenv("ENGINES"))
	if len(ways) == 0 {
		ways = []string{vecindex.Exact, vecindex.Sketch, vecindex.Auto}
	}
	for _, w := range ways {
		s.measure(b, t, "6b", w, "<= 0.5, aim 0.1")
	}
}

// A vectorSet is an index on disk with what is needed to judge it.
type vectorSet struct {
	n       int
	dir     string
	queries [][]float32
	truth   []map[string]bool // the ten nearest of the first queries, by floats
	rows    []byte            // the reference: bytes, one row after another
	scales  []float32
}

func newVectorSet(t *testing.T, n, queries int) *vectorSet {
	t.Helper()
	s := &vectorSet{n: n, dir: t.TempDir()}
	for i := range queries {
		s.queries = append(s.queries, clustered(seedQueries, i))
	}
	s.store(t)
	return s
}

func vectorKey(i int) string { return fmt.Sprintf("c:%016x", uint64(i)*0x9E3779B97F4A7C15) }

// store puts the vectors into an index, a batch at a time, and looks on the way
// which are nearest to the queries.
func (s *vectorSet) store(t *testing.T) {
	t.Helper()
	x, err := vecindex.Open(s.dir, "bench", vectorDim)
	if err != nil {
		t.Fatal(err)
	}
	stride := dot.Stride(vectorDim)
	s.rows, s.scales = make([]byte, s.n*stride), make([]float32, s.n)
	nearest := make([]nearestFloats, min(truthQueries, len(s.queries)))
	began, applied := time.Now(), time.Duration(0)
	const batch = 1000
	for first := 0; first < s.n; first += batch {
		put := make([]vecindex.Vec, min(batch, s.n-first))
		parallel(len(put), func(i int) {
			at := first + i
			put[i] = vecindex.Vec{Key: vectorKey(at), Memory: memoryOf(at), V: clustered(seedVectors, at)}
			s.scales[at] = dot.Quantize(s.rows[at*stride:(at+1)*stride], put[i].V)
		})
		parallel(len(nearest), func(q int) {
			for i, v := range put {
				nearest[q].offer(first+i, floatProduct(s.queries[q], v.V))
			}
		})
		applied += timed(func() { err = x.Apply(int64(first+1), put, nil) })
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range nearest {
		found := map[string]bool{}
		for _, h := range n {
			found[vectorKey(h.row)] = true
		}
		s.truth = append(s.truth, found)
	}
	t.Logf("%d vectors made in %v, of that stored in %v", s.n, time.Since(began), applied)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}

func memoryOf(i int) fold.ID {
	return fold.ID(fmt.Sprintf("%016x", uint64(i/chunksOf)*0xD6E8FEB86659FD93))
}

// measure opens the index with a way of search and compares it with one scan of
// the same bytes by one thread, query by query.
func (s *vectorSet) measure(b *bench, t *testing.T, goal, setting, base string) {
	t.Helper()
	before := resident()
	x, err := vecindex.Open(s.dir, "bench", vectorDim)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}()
	x.Serve(setting, nil)
	began, spent := time.Now(), ownCPU()
	if err := x.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	settled := time.Since(began)
	spent = ownCPU() - spent
	r := x.Report()
	var ours, scans, filtered spread
	found, exact := 0, 0
	only := map[fold.ID]bool{} // every hundredth memory
	for i := 0; i < s.n; i += 100 * chunksOf {
		only[memoryOf(i)] = true
	}
	for i, q := range s.queries {
		var hits []vecindex.Hit
		ours = append(ours, timed(func() { hits = x.Search(q, vectorK, nil) }))
		scans = append(scans, timed(func() { s.scan(q) }))
		if i < len(s.truth) {
			exact += len(s.truth[i])
			for _, h := range hits {
				if s.truth[i][h.Key] {
					found++
				}
			}
		}
		filtered = append(filtered, timed(func() { hits = x.Search(q, vectorK, &vecindex.Filter{Only: only}) }))
		if want := min(vectorK, len(only)*chunksOf); len(hits) != want {
			t.Fatalf("%d hits of a filter that lets %d pass", len(hits), len(only)*chunksOf)
		}
	}
	served := setting
	if setting == vecindex.Auto || r.Engine != setting {
		served = setting + " = " + r.Engine
	}
	what := fmt.Sprintf("%d vectors, %s, recall@10 %.4f, ", s.n, served, float64(found)/float64(exact))
	name := "one " + dot.Kernel() + " scan"
	b.add(precise(goal, what+"p50", ours.at(.5), name, scans.at(.5), "-"),
		precise(goal, what+"p99", ours.at(.99), name, scans.at(.99), base),
		precise(goal, fmt.Sprintf("%d vectors, %s, filter of 1 %%, p50", s.n, served), filtered.at(.5), "no filter", ours.at(.5), "<= 2"),
		precise(goal, fmt.Sprintf("%d vectors, %s, filter of 1 %%, p99", s.n, served), filtered.at(.99), "no filter", ours.at(.99), "<= 2"))
	after := resident()
	per := (after - before) / float64(s.n)
	b.add(share("10", fmt.Sprintf("%d vectors of %d, %s", s.n, vectorDim, served), per, "bytes of the components", float64(vectorDim), "B", "<= 1536 B, aim 1178 B"))
	t.Logf("%s settled in %v and %.1f seconds of a core: %+v", setting, settled, spent, r)
	runtime.KeepAlive(x)
}

// resident returns what the process holds after everything that is not needed
// any more is given back: what Go has allocated, without files that are mapped.
func resident() float64 {
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// scan is the reference of goals 6 and 6b: the products of the query's bytes with
// those of all rows by the machine code of package dot, and the ten largest, on
// one thread.
func (s *vectorSet) scan(v []float32) nearestFloats {
	q, stride := dot.NewQuery(v), dot.Stride(vectorDim)
	var products [1024]int32
	var best nearestFloats
	for first := 0; first < s.n; first += len(products) {
		part := products[:min(len(products), s.n-first)]
		q.Rows(part, s.rows[first*stride:])
		for i, p := range part {
			if f := float32(p) * s.scales[first+i]; len(best) < vectorK || f > best[vectorK-1].product {
				best.offer(first+i, f)
			}
		}
	}
	return best
}

type nearFloat struct {
	row     int
	product float32
}

// nearestFloats are the ten largest products, the largest first.
type nearestFloats []nearFloat

func (n *nearestFloats) offer(row int, product float32) {
	s := *n
	if len(s) == vectorK && product <= s[vectorK-1].product {
		return
	}
	at, _ := slices.BinarySearchFunc(s, product, func(h nearFloat, p float32) int { return cmp.Compare(p, h.product) })
	s = slices.Insert(s, at, nearFloat{row, product})
	*n = s[:min(len(s), vectorK)]
}

func floatProduct(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	return s0 + s1 + s2 + s3
}

// clustered returns the i-th vector of a seed, always the same.
func clustered(seed uint64, i int) []float32 {
	centres := centresOf()
	r := rand.New(rand.NewPCG(seed, uint64(i)))
	c, v, square := centres[r.IntN(len(centres))], make([]float32, vectorDim), 0.0
	for d := range v {
		f := float64(c[d]) + r.NormFloat64()
		v[d] = float32(f)
		square += f * f
	}
	for d := range v {
		v[d] /= float32(math.Sqrt(square))
	}
	return v
}

var centresOf = sync.OnceValue(func() [][]float32 {
	r := rand.New(rand.NewPCG(9, 10))
	centres := make([][]float32, 200)
	for i := range centres {
		centres[i] = make([]float32, vectorDim)
		for d := range centres[i] {
			centres[i][d] = float32(r.NormFloat64())
		}
	}
	return centres
})

// parallel calls f for 0 to n-1 on all cores.
func parallel(n int, f func(i int)) {
	var wg sync.WaitGroup
	cores := runtime.NumCPU()
	for c := range cores {
		wg.Go(func() {
			for i := c; i < n; i += cores {
				f(i)
			}
		})
	}
	wg.Wait()
}

// precise is ratio for what takes less than a millisecond.
func precise(goal, what string, ours time.Duration, name string, reference time.Duration, base string) row {
	r := ratio(goal, what, ours, name, reference, base)
	r.ours, r.reference = fmt.Sprintf("%.3f ms", ms(ours)), fmt.Sprintf("%s %.3f ms", name, ms(reference))
	return r
}
