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
	"strconv"
	"testing"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/vecindex"
)

// A model is what the index must hold, as a map.
type model struct {
	t      *testing.T
	r      *rand.Rand
	dim    int
	dir    string
	engine string
	x      *vecindex.Index
	vecs   map[string]vecindex.Vec
	seq    int64
	near   [][]float32 // centres

	worst float64
	done  map[string]int
}

// TestRandomOperations does random operations and compares with the model: after
// each thousand what is found against what is near. OPERATIONS says how many;
// `make vectors` does 100,000.
func TestRandomOperations(t *testing.T) {
	n := 2000
	if v, err := strconv.Atoi(os.Getenv("OPERATIONS")); err == nil {
		n = v
	}
	for i, engine := range []string{vecindex.Auto, vecindex.Graph, vecindex.Sketch, vecindex.CoderGraph} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			m := &model{t: t, r: rand.New(rand.NewPCG(61, uint64(i))), dim: 24 + 8*i, dir: t.TempDir(), engine: engine, worst: 1, done: map[string]int{}}
			m.vecs = map[string]vecindex.Vec{}
			for range 40 {
				m.near = append(m.near, unit(m.r, m.dim))
			}
			m.open()
			for op := 1; op <= n/4; op++ {
				m.step()
				if op%1000 == 0 || op == n/4 {
					m.compare()
				}
			}
			if err := m.x.Close(); err != nil {
				t.Error(err)
			}
			t.Logf("%d operations %v, %d vectors, worst recall@10 %.3f, %+v", n/4, m.done, len(m.vecs), m.worst, m.x.Report())
		})
	}
}

func (m *model) open() {
	m.t.Helper()
	x, err := vecindex.Open(m.dir, "model", m.dim)
	if err != nil {
		m.t.Fatal(err)
	}
	m.x = x
	x.Serve(m.engine, nil)
	if x.Rebuilt != "" && (x.Len() != 0 || x.Seq() != 0) {
		m.t.Fatalf("rebuilt: %d vectors, seq %d", x.Len(), x.Seq())
	}
	if x.Seq() == 0 { // the caller stores all of it again
		m.done["begun anew"]++
		m.apply(slices.Collect(maps.Values(m.vecs)), nil)
	}
	if x.Len() != len(m.vecs) {
		m.t.Fatalf("opened: %d vectors, want %d", x.Len(), len(m.vecs))
	}
}

func (m *model) vector() []float32 {
	c, v := m.near[m.r.IntN(len(m.near))], make([]float32, m.dim)
	for d := range v {
		v[d] = c[d] + .15*float32(m.r.NormFloat64())
	}
	return scaled(v)
}

func (m *model) key() string { return fmt.Sprintf("c:%05d", m.r.IntN(6000)) }

func (m *model) some(n int) []string {
	var keys []string
	for key := range m.vecs { // any
		if keys = append(keys, key); len(keys) >= n {
			break
		}
	}
	return keys
}

func (m *model) apply(put []vecindex.Vec, drop []string) {
	m.t.Helper()
	m.seq++
	if err := m.x.Apply(m.seq, put, drop); err != nil {
		m.t.Fatal(err)
	}
	for _, key := range drop {
		delete(m.vecs, key)
	}
	for _, v := range put {
		m.vecs[v.Key] = v
	}
}

func (m *model) step() {
	m.t.Helper()
	did := "search"
	switch n := m.r.IntN(1000); {
	case n < 450:
		did = "put"
		var put []vecindex.Vec
		for range 1 + m.r.IntN(8) {
			put = append(put, vecindex.Vec{Key: m.key(), Memory: fold.ID(fmt.Sprintf("m%02d", m.r.IntN(100))), V: m.vector()})
		}
		m.apply(put, nil)
	case n < 650:
		did = "delete"
		m.apply(nil, append(m.some(1+m.r.IntN(5)), "c:none"))
	case n < 700:
		did = "replace"
		var put []vecindex.Vec
		drop := m.some(4)
		for _, key := range drop {
			put = append(put, vecindex.Vec{Key: key, Memory: m.vecs[key].Memory, V: m.vector()})
		}
		m.apply(put, drop[:len(drop)/2])
	case n < 760:
		did = "no vector"
		m.refuse()
	case n < 770:
		did = "snapshot"
		if err := m.x.Snapshot(); err != nil {
			m.t.Fatal(err)
		}
	case n < 773:
		did = "compact"
		if err := m.x.Compact(); err != nil {
			m.t.Fatal(err)
		}
	case n < 776:
		did = "reopen"
		m.close()
		m.open()
	case n < 780:
		did = "damage"
		m.close()
		m.damage()
		m.open()
	case n < 783:
		did = "crash"
		m.crash()
	default:
		m.search()
	}
	m.done[did]++
}

func (m *model) close() {
	m.t.Helper()
	if err := m.x.Close(); err != nil {
		m.t.Fatal(err)
	}
}

// refuse offers what is no vector.
func (m *model) refuse() {
	m.t.Helper()
	v := m.vector()
	switch m.r.IntN(6) {
	case 0:
		v[m.r.IntN(m.dim)] = float32(math.NaN())
	case 1:
		clear(v)
	case 2:
		v = v[:m.r.IntN(m.dim)]
	case 3:
		v = append(v, v...)
	case 4:
		v[0] = float32(math.Inf(1))
	case 5:
		v[0] = 1e30
	}
	put := []vecindex.Vec{{Key: "c:good", Memory: "m", V: m.vector()}, {Key: m.key(), Memory: "m", V: v}}
	if err := m.x.Apply(m.seq+1, put, m.some(2)); !errors.Is(err, fold.ErrInvalid) {
		m.t.Fatalf("Apply(%v) = %v", v, err)
	}
	if hits := m.x.Search(v, 5, nil); hits != nil {
		m.t.Fatalf("Search(%v) = %v", v, hits)
	}
	if m.x.Len() != len(m.vecs) || m.x.Seq() != m.seq {
		m.t.Fatalf("refused, and yet %d vectors, seq %d; want %d, %d", m.x.Len(), m.x.Seq(), len(m.vecs), m.seq)
	}
}

// damage changes one file at random.
func (m *model) damage() {
	m.t.Helper()
	names, err := filepath.Glob(filepath.Join(m.dir, "*"))
	if err != nil || len(names) == 0 {
		m.t.Fatal(names, err)
	}
	path := names[m.r.IntN(len(names))]
	b, err := os.ReadFile(path)
	if err != nil {
		m.t.Fatal(err)
	}
	switch n := len(b); m.r.IntN(4) {
	case 0:
		for range 1 + n/1000 {
			b[m.r.IntN(n)] ^= 1 << m.r.IntN(8)
		}
	case 1:
		b = b[:m.r.IntN(n)]
	case 2:
		at := m.r.IntN(n)
		clear(b[at:min(at+m.r.IntN(1<<16), n)])
	case 3:
		b = nil
	}
	if b == nil {
		err = os.Remove(path)
	} else {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// crash takes the files as they are at some moment, rows behind the snapshot
// included, and goes on with them.
func (m *model) crash() {
	m.t.Helper()
	if err := m.x.Snapshot(); err != nil {
		m.t.Fatal(err)
	}
	then, seq := maps.Clone(m.vecs), m.seq
	for range 5 {
		m.apply([]vecindex.Vec{{Key: m.key(), Memory: "m", V: m.vector()}}, m.some(2))
	}
	dir := m.t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(m.dir)); err != nil {
		m.t.Fatal(err)
	}
	m.close()
	m.dir, m.vecs, m.seq = dir, then, seq
	m.open()
	if m.x.Rebuilt == "" && m.x.Seq() < seq {
		m.t.Fatalf("seq %d after a crash, want %d", m.x.Seq(), seq)
	}
}

// search checks what every answer must be.
func (m *model) search() {
	m.t.Helper()
	k, q := 1+m.r.IntN(30), m.vector()
	var f *vecindex.Filter
	want := len(m.vecs)
	if m.r.IntN(2) == 0 {
		f = &vecindex.Filter{Only: map[fold.ID]bool{}}
		for range 1 + m.r.IntN(60) {
			f.Only[fold.ID(fmt.Sprintf("m%02d", m.r.IntN(100)))] = true
		}
		want = 0
		for _, v := range m.vecs {
			if f.Only[v.Memory] {
				want++
			}
		}
	}
	hits := m.x.Search(q, k, f)
	if len(hits) != min(k, want) {
		m.t.Fatalf("%d hits, want %d of %d", len(hits), min(k, want), want)
	}
	for i, h := range hits {
		v, ok := m.vecs[h.Key]
		if !ok || v.Memory != h.Memory || f != nil && !f.Only[h.Memory] || math.Abs(h.Score-dot(q, v.V)) > .02 {
			m.t.Fatalf("hit %d: %+v, is %v", i, h, v.Memory)
		}
		if i > 0 && (h.Score > hits[i-1].Score || h.Score == hits[i-1].Score && h.Key <= hits[i-1].Key) {
			m.t.Fatalf("hit %d out of order: %+v after %+v", i, h, hits[i-1])
		}
	}
}

// compare measures recall against all vectors as they were put, before and after
// what is built in the background is there.
func (m *model) compare() {
	m.t.Helper()
	m.recall("at once")
	if err := m.x.Settle(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
	m.recall("settled")
	r := m.x.Report()
	if r.Engine != vecindex.Exact && !r.Forced && r.Recall < .97 {
		m.t.Errorf("serves without force: %+v", r)
	}
}

func (m *model) recall(when string) {
	m.t.Helper()
	found, all := 0, 0
	for range 20 {
		q := m.vector()
		scores := make([]float64, 0, len(m.vecs))
		for _, v := range m.vecs {
			scores = append(scores, dot(q, v.V))
		}
		slices.Sort(scores)
		slices.Reverse(scores)
		k := min(10, len(scores))
		hits := m.x.Search(q, k, nil)
		all += k
		for _, h := range hits {
			if dot(q, m.vecs[h.Key].V) >= scores[k-1]-1e-4 {
				found++
			}
		}
	}
	recall := float64(found) / float64(max(all, 1))
	m.worst = min(m.worst, recall)
	if recall < .97 && m.x.Engine() != vecindex.CoderGraph {
		m.t.Errorf("recall@10 %.3f %s, %+v", recall, when, m.x.Report())
	}
}
