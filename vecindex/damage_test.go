package vecindex

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A kept is an index on disk, closed, and what it answers.
type kept struct {
	dir     string
	dim     int
	engine  string // that serves; a graph takes its time where races are looked for
	vecs    map[string][]float32
	seq     int64
	queries [][]float32
	want    [][]Hit
}

// keepOne makes one with a graph.
func keepOne(t *testing.T, n int) *kept {
	t.Helper()
	const dim = 16
	r := rand.New(rand.NewPCG(81, 81))
	all := clusters(r, n+12, dim)
	k := &kept{dir: t.TempDir(), dim: dim, engine: Graph, vecs: map[string][]float32{}, seq: 9, queries: all[n:]}
	x := k.open(t, k.dir)
	put(t, x, 0, all[:n])
	for i, v := range all[:n] {
		k.vecs[fmt.Sprintf("c:%07d", i)] = v
	}
	if err := x.Apply(k.seq, nil, []string{"c:0000003"}); err != nil {
		t.Fatal(err)
	}
	delete(k.vecs, "c:0000003")
	k.want = k.ask(t, x)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *kept) open(t *testing.T, dir string) *Index {
	t.Helper()
	x, err := Open(dir, "test", k.dim)
	if err != nil {
		t.Fatal(err)
	}
	x.Serve(k.engine, nil)
	return x
}

// ask has what is to serve do so, and asks.
func (k *kept) ask(t *testing.T, x *Index) (hits [][]Hit) {
	t.Helper()
	if err := x.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, q := range k.queries {
		hits = append(hits, x.Search(q, 10, nil))
	}
	return hits
}

// copied returns a copy in which one file is what change makes of it.
func (k *kept) copied(t *testing.T, name string, change func([]byte) []byte) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(k.dir)); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), change(b), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// judge opens what is damaged: it answers as before, or tells that it is damaged
// and begins anew, now or at the next start.
func (k *kept) judge(t *testing.T, dir, what string) (told bool) {
	t.Helper()
	x := k.open(t, dir)
	if x.Rebuilt != "" {
		if x.Len() != 0 || x.Seq() != 0 {
			t.Errorf("%s: begun anew (%s) with %d vectors, seq %d", what, x.Rebuilt, x.Len(), x.Seq())
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		return true
	}
	if x.Len() != len(k.vecs) || x.Seq() != k.seq {
		t.Errorf("%s: %d vectors, seq %d", what, x.Len(), x.Seq())
	}
	got := k.ask(t, x)
	told = strings.Contains(x.Report().Why, "damaged")
	if d := cmp.Diff(k.want, got); d != "" && !told {
		t.Errorf("%s: silently answers otherwise: -want +got %s", what, d)
	}
	k.right(t, got, what)
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	if told {
		y := k.open(t, dir)
		if y.Rebuilt == "" || y.Len() != 0 || y.Seq() != 0 {
			t.Errorf("%s: told, but the next start has %d vectors, %q", what, y.Len(), y.Rebuilt)
		}
		if err := y.Close(); err != nil {
			t.Error(err)
		}
	}
	return told
}

// right checks that every hit has the score its vector has, as bytes tell it.
func (k *kept) right(t *testing.T, got [][]Hit, what string) {
	t.Helper()
	for i, hits := range got {
		if len(hits) != min(10, len(k.vecs)) {
			t.Errorf("%s: %d hits", what, len(hits))
		}
		for _, h := range hits {
			v, sum := k.vecs[h.Key], 0.0
			for d := range v {
				sum += float64(v[d]) * float64(k.queries[i][d])
			}
			if v == nil || math.Abs(h.Score-sum) > .02 {
				t.Errorf("%s: %s has score %.4f, is %.4f", what, h.Key, h.Score, sum)
			}
		}
	}
}

func (k *kept) files(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(k.dir)
	if err != nil || len(entries) != 3 {
		t.Fatalf("files %v, %v; want the snapshot, the originals and the graph", entries, err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// serveFor has the graph serve where its file is what is damaged, else the scan: of
// so few vectors both find the same.
func (k *kept) serveFor(name string) {
	if k.engine = Exact; name == graphName {
		k.engine = Graph
	}
}

// TestFlippedBytesAreToldOrHarmless is fault F21: bits flipped at random in each
// file. FLIPS says how many in each; `make vectors` does 1,000.
func TestFlippedBytesAreToldOrHarmless(t *testing.T) {
	n := 16
	if v, err := strconv.Atoi(os.Getenv("FLIPS")); err == nil {
		n = v
	}
	k := keepOne(t, 100)
	r := rand.New(rand.NewPCG(82, 82))
	for _, name := range k.files(t) {
		told := 0
		k.serveFor(name)
		for i := range n {
			var at int
			dir := k.copied(t, name, func(b []byte) []byte {
				from := 0
				if strings.HasPrefix(name, originalsPrefix) && i%4 != 0 {
					from = headBytes // else most would be in the hole behind the header
				}
				at = from + r.IntN(len(b)-from)
				b[at] ^= 1 << r.IntN(8)
				return b
			})
			if k.judge(t, dir, fmt.Sprintf("%s, byte %d flipped", name, at)) {
				told++
			}
		}
		t.Logf("%s: %d of %d flips told", name, told, n)
		if name == snapshotName && told != n {
			t.Errorf("%d of %d flips of the snapshot told", told, n)
		}
	}
}

// TestFilesCutAtEachBlock is fault F21: each file cut off where a disk would.
func TestFilesCutAtEachBlock(t *testing.T) {
	k := keepOne(t, 100)
	for _, name := range k.files(t) {
		k.serveFor(name)
		info, err := os.Stat(filepath.Join(k.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for at := int64(0); at < info.Size(); at += 4096 {
			dir := k.copied(t, name, func(b []byte) []byte { return b[:at] })
			if told := k.judge(t, dir, fmt.Sprintf("%s cut at %d", name, at)); !told && name != graphName {
				t.Errorf("%s cut at %d is not told", name, at)
			}
		}
		dir := k.copied(t, name, func(b []byte) []byte { return b })
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if name == snapshotName { // nothing is there then, and the caller begins with seq 0
			if x := k.open(t, dir); x.Len() != 0 || x.Seq() != 0 || x.Close() != nil {
				t.Errorf("without a snapshot: %d vectors, seq %d", x.Len(), x.Seq())
			}
			continue
		}
		k.judge(t, dir, name+" removed")
	}
}

// TestWrongCountIsRefused is fault F21: the number of rows is another, and the
// checksum right all the same.
func TestWrongCountIsRefused(t *testing.T) {
	k := keepOne(t, 60)
	at := len(snapshotMark) + 2 + len("test") + 4 + 8
	for _, count := range []uint64{0, 1, 59, 61, 1 << 20, 1 << 31, math.MaxUint64} {
		dir := k.copied(t, snapshotName, func(b []byte) []byte {
			b = b[:len(b)-32]
			if got := binary.LittleEndian.Uint64(b[at:]); got != 60 {
				t.Fatalf("count %d in the snapshot", got)
			}
			binary.LittleEndian.PutUint64(b[at:], count)
			return summed(b)
		})
		if x := k.open(t, dir); !strings.Contains(x.Rebuilt, "damaged") || x.Len() != 0 || x.Seq() != 0 || x.Close() != nil {
			t.Errorf("count %d: %q, %d vectors", count, x.Rebuilt, x.Len())
		}
	}
}

// branch opens a copy of k, as a crash or a backup leaves one, puts and drops, and
// closes it.
func (k *kept) branch(t *testing.T, from int, put [][]float32, drop []string, compact bool) *kept {
	t.Helper()
	b := &kept{dir: t.TempDir(), dim: k.dim, engine: Graph, vecs: map[string][]float32{}, seq: k.seq + 1, queries: k.queries}
	if err := os.CopyFS(b.dir, os.DirFS(k.dir)); err != nil {
		t.Fatal(err)
	}
	maps.Copy(b.vecs, k.vecs)
	x := b.open(t, b.dir)
	var vecs []Vec
	for i, v := range put {
		key := fmt.Sprintf("c:%07d", from+i)
		vecs, b.vecs[key] = append(vecs, Vec{Key: key, Memory: "m", V: v}), v
	}
	for _, key := range drop {
		delete(b.vecs, key)
	}
	if err := x.Apply(b.seq, vecs, drop); err != nil {
		t.Fatal(err)
	}
	if compact {
		if err := x.Compact(); err != nil {
			t.Fatal(err)
		}
	}
	b.want = b.ask(t, x)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestFilesOfDifferentTimesDoNotMix takes the snapshot, the originals and the
// graph each of another moment of one index: what a backup, a crash or a lost
// write may leave. What is opened is what the snapshot says, or is told.
func TestFilesOfDifferentTimesDoNotMix(t *testing.T) {
	const n, dim = 50, 16
	r := rand.New(rand.NewPCG(83, 83))
	first := keepOne(t, n)
	one := first.branch(t, n, clusters(r, 20, dim), []string{"c:0000007"}, false)
	times := []*kept{
		first,
		one,
		first.branch(t, n, clusters(r, 20, dim), nil, false), // other vectors, in the same places under the same keys
		one.branch(t, n+20, clusters(r, 10, dim), []string{"c:0000001", "c:0000065"}, true),
	}
	times = append(times, times[3].branch(t, n+30, clusters(r, 15, dim), []string{"c:0000002"}, false))
	read := func(k *kept, pattern string) (name string, b []byte) {
		t.Helper()
		// What was compacted may lie there in two generations: the last one counts.
		x, err := Open(k.dir, "test", dim)
		if err != nil || x.Rebuilt != "" {
			t.Fatalf("%q, %v", x.Rebuilt, err)
		}
		if name = pattern; pattern == originalsPrefix {
			name = originalsName(x.state.table.generation)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		if b, err = os.ReadFile(filepath.Join(k.dir, name)); err != nil {
			t.Fatal(err)
		}
		return name, b
	}
	told, same := 0, 0
	for i, snap := range times {
		for j, orig := range times {
			for g, graph := range times {
				if snap.engine = Graph; i != j {
					snap.engine = Exact // what the originals say is scanned
					if g != i {
						continue
					}
				}
				dir := t.TempDir()
				for pattern, of := range map[string]*kept{snapshotName: snap, originalsPrefix: orig, graphName: graph} {
					name, b := read(of, pattern)
					if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				// The graph decides in what order rows are found, not what is right.
				if snap.judge(t, dir, fmt.Sprintf("snapshot %d, originals %d, graph %d", i, j, g)) {
					told++
				} else {
					same++
				}
			}
		}
	}
	t.Logf("%d mixes told, %d answer as the snapshot did", told, same)
	if same < 2*len(times) || told < 2*len(times) {
		t.Errorf("%d mixes told, %d answer as before", told, same)
	}
	// A graph of the same generation, and of no more rows, that are others.
	times[1].engine = Exact
	x := times[1].open(t, times[1].dir)
	defer x.Close()
	b, err := os.ReadFile(filepath.Join(times[2].dir, graphName))
	if err != nil {
		t.Fatal(err)
	}
	if g, err := decodeGraph(bytes.NewReader(b), x.state.table); g != nil || err == nil || !strings.Contains(err.Error(), "other rows") {
		t.Errorf("a graph of other rows is taken: %v", err)
	}
}

// TestOriginalsOfAnotherGenerationAreRefused: by their header, whatever their name.
func TestOriginalsOfAnotherGenerationAreRefused(t *testing.T) {
	a, b := keepOne(t, 60), keepOne(t, 60)
	find := func(k *kept) string {
		names := k.files(t)
		return names[slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(n, originalsPrefix) })]
	}
	other, err := fs.ReadFile(os.DirFS(b.dir), find(b))
	if err != nil {
		t.Fatal(err)
	}
	dir := a.copied(t, find(a), func([]byte) []byte { return other })
	if !a.judge(t, dir, "originals of another index") {
		t.Error("not told")
	}
}
