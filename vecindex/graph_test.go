package vecindex

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/testdata/fulltest"
)

// clusters returns n unit vectors around 200 centres, as the goals have them.
func clusters(r *rand.Rand, n, dim int) [][]float32 {
	centres := make([][]float32, 200)
	for i := range centres {
		centres[i] = make([]float32, dim)
		for d := range dim {
			centres[i][d] = float32(r.NormFloat64())
		}
	}
	all := make([][]float32, n)
	for i := range all {
		c, v, square := centres[r.IntN(200)], make([]float32, dim), 0.0
		for d := range v {
			v[d] = c[d] + float32(r.NormFloat64())
			square += float64(v[d]) * float64(v[d])
		}
		for d := range v {
			v[d] /= float32(math.Sqrt(square))
		}
		all[i] = v
	}
	return all
}

// TestGraphRecall finds out how good the graph is without index or check around
// it. VECTORS and DIM make it larger.
func TestGraphRecall(t *testing.T) {
	n, dim := 1200, 64
	if v, err := strconv.Atoi(os.Getenv("VECTORS")); err == nil {
		n = v
	}
	if v, err := strconv.Atoi(os.Getenv("DIM")); err == nil {
		dim = v
	}
	r := rand.New(rand.NewPCG(31, 31))
	all := clusters(r, n+100, dim)
	x := open(t, dim)
	for i := 0; i < n; i += 1000 {
		var put []Vec
		for j, v := range all[i:min(i+1000, n)] {
			put = append(put, Vec{Key: fmt.Sprintf("c:%07d", i+j), Memory: "m", V: v})
		}
		if err := x.Apply(1, put, nil); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	g, err := buildGraph(t.Context(), x.state.table.frozen())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d rows of %d dimensions linked in %v", n, dim, time.Since(start))
	var want [][]Hit
	exact := timeOf(all[n:], func(v []float32) { want = append(want, x.by(&serving{}, v, 10, nil)) })
	t.Logf("scan: %v", exact)
	best := 0.0
	for _, w := range []engine{g, newSketch(x.state.table)} {
		for _, effort := range w.efforts() {
			var got [][]Hit
			took := timeOf(all[n:], func(v []float32) {
				got = append(got, x.by(&serving{engine: w, effort: effort}, v, 10, nil))
			})
			recall := recallOf(want, got)
			t.Logf("%s %d: recall %.3f, %v", w.name(), effort, recall, took)
			if best = max(best, recall); recall >= .998 {
				break
			}
		}
		if best < .99 {
			t.Errorf("%s finds %.3f at best", w.name(), best)
		}
	}
}

func timeOf(queries [][]float32, f func([]float32)) time.Duration {
	var took []time.Duration
	for _, q := range queries {
		start := time.Now()
		f(q)
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

func open(t testing.TB, dim int) *Index {
	t.Helper()
	x, err := Open(t.TempDir(), "test", dim)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func put(t testing.TB, x *Index, from int, vecs [][]float32) {
	t.Helper()
	var put []Vec
	for i, v := range vecs {
		put = append(put, Vec{Key: fmt.Sprintf("c:%07d", from+i), Memory: fold.ID(fmt.Sprintf("m%d", (from+i)%50)), V: v})
	}
	if err := x.Apply(int64(from), put, nil); err != nil {
		t.Fatal(err)
	}
}

// TestGraphServesAndComesBack: forced, with rows that come later, after
// compaction, and from its file.
func TestGraphServesAndComesBack(t *testing.T) {
	const dim = 24
	n := fulltest.Pick(1400, 2400)
	dir := t.TempDir()
	all := clusters(rand.New(rand.NewPCG(32, 32)), n+60, dim)
	x, err := Open(dir, "test", dim)
	if err != nil {
		t.Fatal(err)
	}
	put(t, x, 0, all[:n*7/12])
	x.Serve(Graph, nil)
	good := func(x *Index, what string) {
		t.Helper()
		if err := x.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := x.Report(); r.Engine != Graph || !r.Forced || r.Recall < .99 {
			t.Errorf("%s: %+v", what, r)
		}
		var want, got [][]Hit
		for _, q := range all[n:] {
			want = append(want, x.by(&serving{}, q, 10, nil))
			got = append(got, x.Search(q, 10, nil))
		}
		if r := recallOf(want, got); r < .99 {
			t.Errorf("%s: recall %.3f", what, r)
		}
	}
	good(x, "built")
	put(t, x, n*7/12, all[n*7/12:n])
	good(x, "with rows that came later")
	var drop []string
	for i := range n {
		if i%5 > 0 { // more than 1,024: fewer tombstones wait
			drop = append(drop, fmt.Sprintf("c:%07d", i))
		}
	}
	if err := x.Apply(9, nil, drop[:n/4]); err != nil {
		t.Fatal(err)
	}
	good(x, "with tombstones")
	if err := x.Apply(10, nil, drop); err != nil { // compacts
		t.Fatal(err)
	}
	if x.state.table.deadCount != 0 {
		t.Fatalf("%d tombstones", x.state.table.deadCount)
	}
	good(x, "compacted")
	nodes := graphOf(x).nodes.Load()
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if x, err = Open(dir, "test", dim); err != nil {
		t.Fatal(err)
	}
	g, err := loadGraph(dir, x.state.table)
	if err != nil || g == nil || g.nodes.Load() != nodes {
		t.Fatalf("loadGraph = %v, %v", g, err)
	}
	x.Serve(Graph, nil)
	good(x, "reopened")
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestGraphIsTheSameForTheSameRows: in whatever order they came.
func TestGraphIsTheSameForTheSameRows(t *testing.T) {
	const dim, n = 32, 500
	r := rand.New(rand.NewPCG(33, 33))
	all := clusters(r, n, dim)
	links := func(order []int) map[string][]string {
		x := open(t, dim)
		for _, i := range order {
			put(t, x, i, all[i:i+1])
		}
		g, err := buildGraph(t.Context(), x.state.table)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string][]string{}
		for row, key := range x.state.table.keys {
			for l := range g.layers(int32(row)) + 1 {
				for _, to := range g.links(int32(row), l) {
					if to != noLink {
						out[key] = append(out[key], fmt.Sprint(l, x.state.table.keys[to]))
					}
				}
			}
			slices.Sort(out[key])
		}
		return out
	}
	a, b := links(r.Perm(n)), links(r.Perm(n))
	differ := 0
	for key := range a {
		if !slices.Equal(a[key], b[key]) {
			differ++
		}
	}
	if differ > 0 {
		t.Errorf("%d of %d nodes are linked otherwise", differ, n)
	}
}

// TestDamagedGraphIsBuiltAgain: flips, cuts and holes, none of them read.
func TestDamagedGraphIsBuiltAgain(t *testing.T) {
	const dim, n = 16, 600
	r := rand.New(rand.NewPCG(34, 34))
	x := open(t, dim)
	put(t, x, 0, clusters(r, n, dim))
	g, err := buildGraph(t.Context(), x.state.table)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.save(x.store.dir, x.state.table); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(x.store.dir, graphName)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := decodeGraph(bytes.NewReader(good), x.state.table); err != nil || !slices.EqualFunc(back.lowest, g.lowest, slices.Equal) || back.entry.Load() != g.entry.Load() {
		t.Fatalf("what was saved does not come back: %v", err)
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
			clear(b[at:min(at+64, len(b))])
			if slices.Equal(b, good) {
				continue
			}
		}
		if g, err := decodeGraph(bytes.NewReader(b), x.state.table); err == nil || g != nil {
			t.Fatalf("damage %d is not found out", i)
		}
	}
	if err := os.WriteFile(path, good[:len(good)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	x.Serve(Graph, nil)
	if err := x.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := x.Report(); r.Engine != Graph || r.Recall < .99 {
		t.Errorf("%+v", r)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}
