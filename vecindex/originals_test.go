package vecindex_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/vecindex"
)

// originalsOf returns the one file of originals in dir.
func originalsOf(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "originals-*"))
	if err != nil || len(names) != 1 {
		t.Fatalf("originals %v, %v", names, err)
	}
	return names[0]
}

// TestDamagedOriginalsAreFoundOut: answers stay right, by the bytes, and the
// next start begins anew.
func TestDamagedOriginalsAreFoundOut(t *testing.T) {
	const dim, n = 96, 300
	r := rand.New(rand.NewPCG(21, 21))
	all := vecs(r, n, dim)
	for _, tc := range []struct {
		name   string
		damage func(path string, b []byte) error
	}{
		{"flipped", func(p string, b []byte) error {
			for i := 1 << 16; i < len(b); i += 150 {
				b[i] ^= 0x40
			}
			return os.WriteFile(p, b, 0o600)
		}},
		{"zeroed", func(p string, b []byte) error {
			clear(b[1<<16:])
			return os.WriteFile(p, b, 0o600)
		}},
		{"cut off", func(p string, _ []byte) error { return os.Truncate(p, 1<<16) }},
		{"shifted", func(p string, b []byte) error {
			copy(b[1<<16:], b[1<<16+4+2*dim:])
			return os.WriteFile(p, b, 0o600)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			x := open(t, dir, dim)
			if err := x.Apply(7, all, nil); err != nil {
				t.Fatal(err)
			}
			if err := x.Snapshot(); err != nil {
				t.Fatal(err)
			}
			path := originalsOf(t, dir)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := tc.damage(path, slices.Clone(b)); err != nil { // in place: what is mapped changes
				t.Fatal(err)
			}
			for _, v := range all[:50] {
				hits := x.Search(v.V, 3, nil)
				if len(hits) != 3 || hits[0].Key != v.Key || math.Abs(hits[0].Score-1) > .02 {
					t.Fatalf("nearest to %s: %v", v.Key, hits)
				}
				if got, ok := x.Vector(v.Key); !ok || dot(got, v.V) < .999 {
					t.Fatalf("Vector(%s) is %v of it", v.Key, dot(got, v.V))
				}
			}
			if why := x.Report().Why; !strings.Contains(why, "damaged") {
				t.Errorf("Report().Why = %q", why)
			}
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			y := open(t, dir, dim)
			if y.Rebuilt == "" || y.Len() != 0 || y.Seq() != 0 {
				t.Fatalf("reopened: Rebuilt %q, Len %d, Seq %d", y.Rebuilt, y.Len(), y.Seq())
			}
			if err := y.Apply(9, all, nil); err != nil {
				t.Fatal(err)
			}
			if err := y.Close(); err != nil {
				t.Fatal(err)
			}
			if z := open(t, dir, dim); z.Rebuilt != "" || z.Len() != n || z.Seq() != 9 {
				t.Errorf("mended: Rebuilt %q, Len %d, Seq %d", z.Rebuilt, z.Len(), z.Seq())
			}
		})
	}
}

// TestOriginalsThatAreGoneBeginAnew covers what is seen at the opening.
func TestOriginalsThatAreGoneBeginAnew(t *testing.T) {
	const dim = 40
	all := vecs(rand.New(rand.NewPCG(22, 22)), 100, dim)
	for name, damage := range map[string]func(string) error{
		"removed":       os.Remove,
		"cut off":       func(p string) error { return os.Truncate(p, 1<<16+10) },
		"empty":         func(p string) error { return os.Truncate(p, 0) },
		"another table": func(p string) error { return os.WriteFile(p, make([]byte, 1<<20), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			x := open(t, dir, dim)
			if err := x.Apply(7, all, nil); err != nil {
				t.Fatal(err)
			}
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			if err := damage(originalsOf(t, dir)); err != nil {
				t.Fatal(err)
			}
			y := open(t, dir, dim)
			if y.Rebuilt == "" || y.Len() != 0 || y.Seq() != 0 {
				t.Fatalf("Rebuilt %q, Len %d, Seq %d", y.Rebuilt, y.Len(), y.Seq())
			}
			if err := y.Apply(8, all, nil); err != nil || len(y.Search(all[0].V, 5, nil)) != 5 {
				t.Errorf("Apply = %v; found %v", err, y.Search(all[0].V, 5, nil))
			}
		})
	}
}

// TestOriginalsOrderWhatBytesCannot: vectors that differ by less than a byte's
// step are told apart.
func TestOriginalsOrderWhatBytesCannot(t *testing.T) {
	const dim = 64
	r := rand.New(rand.NewPCG(23, 23))
	x := open(t, t.TempDir(), dim)
	base := unit(r, dim)
	var put []vecindex.Vec
	for i := range 20 {
		v := slices.Clone(base)
		v[i] += .003 * float32(i)
		put = append(put, vecindex.Vec{Key: fmt.Sprintf("c:%02d", i), Memory: "m", V: scaled(v)})
	}
	if err := x.Apply(1, put, nil); err != nil {
		t.Fatal(err)
	}
	hits := x.Search(base, 10, nil)
	for i, h := range hits {
		at := slices.IndexFunc(put, func(v vecindex.Vec) bool { return v.Key == h.Key })
		if want := dot(base, put[at].V); math.Abs(h.Score-want) > 2e-4 {
			t.Errorf("hit %d: score %v, want %v", i, h.Score, want)
		}
	}
}

func scaled(v []float32) []float32 {
	n := math.Sqrt(dot(v, v))
	for i := range v {
		v[i] = float32(float64(v[i]) / n)
	}
	return v
}

// TestFilters compares each filter with what it says, before and after
// compaction.
func TestFilters(t *testing.T) {
	const dim, n = 32, 3000
	r := rand.New(rand.NewPCG(24, 24))
	x := open(t, t.TempDir(), dim)
	var put []vecindex.Vec
	for i := range n {
		m := fold.ID(fmt.Sprintf("m%03d", i%200))
		key := fmt.Sprintf("c:%05d", i)
		if i < 200 {
			key = "m:" + string(m)
		}
		put = append(put, vecindex.Vec{Key: key, Memory: m, V: unit(r, dim)})
	}
	if err := x.Apply(1, put, nil); err != nil {
		t.Fatal(err)
	}
	var drop []string
	live := map[string]vecindex.Vec{}
	for i, v := range put {
		if i%5 == 1 {
			drop = append(drop, v.Key)
		} else {
			live[v.Key] = v
		}
	}
	if err := x.Apply(2, nil, drop); err != nil {
		t.Fatal(err)
	}
	some := func(share float64) map[fold.ID]bool {
		ids := map[fold.ID]bool{"none": true}
		for i := range 200 {
			if r.Float64() < share {
				ids[fold.ID(fmt.Sprintf("m%03d", i))] = r.Float64() < .9
			}
		}
		return ids
	}
	for round := range 2 {
		for i, f := range []*vecindex.Filter{
			nil,
			{},
			{Only: some(.01)},
			{Only: some(.1)},
			{Only: some(.9)},
			{Not: some(.01)},
			{Not: some(.9)},
			{Memories: true},
			{Memories: true, Not: some(.5)},
			{Memories: true, Only: some(.5)},
			{Only: some(.6), Not: some(.6)},
			{Only: map[fold.ID]bool{}},
		} {
			q, want := unit(r, dim), 0
			for key, v := range live {
				if f == nil || (f.Only == nil || f.Only[v.Memory]) && !f.Not[v.Memory] && (!f.Memories || key[0] == 'm') {
					want++
				}
			}
			hits := x.Search(q, n, f)
			if len(hits) != want {
				t.Errorf("round %d, filter %d: %d hits, want %d", round, i, len(hits), want)
			}
			for _, h := range hits {
				if f != nil && (f.Only != nil && !f.Only[h.Memory] || f.Not[h.Memory] || f.Memories && h.Key[0] != 'm') || live[h.Key].Memory != h.Memory {
					t.Errorf("round %d, filter %d: found %+v", round, i, h)
				}
			}
		}
		if err := x.Compact(); err != nil {
			t.Fatal(err)
		}
	}
}
