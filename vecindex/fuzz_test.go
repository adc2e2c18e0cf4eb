package vecindex

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// summed returns b with the sum that proves it right, so that what is behind it
// is decoded.
func summed(b []byte) []byte {
	sum := sha256.Sum256(b)
	return append(bytes.Clone(b), sum[:]...)
}

// FuzzDecode decodes snapshots with a right checksum: whatever they hold, the
// answer is an index that works or an error.
func FuzzDecode(f *testing.F) {
	const dim = 5
	x := open(f, dim)
	put(f, x, 0, clusters(rand.New(rand.NewPCG(71, 71)), 6, dim))
	if err := x.Apply(9, nil, []string{"c:0000002"}); err != nil {
		f.Fatal(err)
	}
	var b bytes.Buffer
	if err := encode(&b, x.state.table, "test", 7); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(snapshotMark))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		table, seq, err := decode(bytes.NewReader(summed(b)), "test", dim)
		if err != nil {
			return
		}
		x := &Index{dim: dim, state: newState(table, seq)}
		if table.live() != len(table.rows) || table.live()+table.deadCount != table.len() || table.dead.count() != table.deadCount {
			t.Fatalf("%d rows, %d live, %d dead", table.len(), table.live(), table.deadCount)
		}
		var again bytes.Buffer
		if err := encode(&again, table, "test", seq); err != nil {
			t.Fatal(err)
		}
		if _, _, err := decode(bytes.NewReader(summed(again.Bytes())), "test", dim); err != nil {
			t.Fatalf("what was decoded and encoded does not decode: %v", err)
		}
		// The originals are others' business: without any, the bytes answer.
		if table.originals, err = openOriginals(t.TempDir(), table.generation, dim, 0); err != nil {
			t.Fatal(err)
		}
		if err := table.originals.reserve(table.len()); err != nil {
			t.Fatal(err)
		}
		v := []float32{1, 0, 0, 0, 0}
		if hits := x.Search(v, 10, nil); len(hits) != min(10, table.live()) {
			t.Fatalf("%d hits of %d", len(hits), table.live())
		}
		if err := table.originals.close(); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzDecodeGraph decodes graphs with a right checksum, and walks over them.
func FuzzDecodeGraph(f *testing.F) {
	const dim = 8
	x := open(f, dim)
	put(f, x, 0, clusters(rand.New(rand.NewPCG(72, 72)), 60, dim))
	g, err := buildGraph(f.Context(), x.state.table)
	if err != nil {
		f.Fatal(err)
	}
	var b bytes.Buffer
	if err := g.encode(&b, x.state.table); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:80])
	f.Fuzz(func(t *testing.T, b []byte) {
		// The generation is drawn anew for each run, and neither it nor the sum of
		// the rows is what is fuzzed.
		b = bytes.Clone(b)
		if at := len(graphMark); len(b) >= at+20+sha256.Size {
			binary.LittleEndian.PutUint64(b[at:], x.state.table.generation)
			nodes := binary.LittleEndian.Uint32(b[at+8:])
			copy(b[at+20:], x.state.table.scaleSum(int(min(nodes, uint32(x.state.table.len())))))
		}
		g, err := decodeGraph(bytes.NewReader(summed(b)), x.state.table)
		if err != nil {
			return
		}
		hits := x.by(&serving{engine: g, effort: 50}, x.state.table.vector(3), 10, nil)
		if len(hits) != 10 {
			t.Fatalf("%d hits", len(hits))
		}
		k := &walker{}
		if g.nodes.Load() > 0 {
			g.insert(x.state.table, k, int32(g.nodes.Load())-1)
		}
		if err := g.encode(io.Discard, x.state.table); err != nil {
			t.Fatal(err)
		}
	})
}

// TestOpenNeverFailsForWhatLiesThere: files of any content in the folder.
func TestOpenNeverFailsForWhatLiesThere(t *testing.T) {
	r := rand.New(rand.NewPCG(73, 73))
	for range 60 {
		dir := t.TempDir()
		for _, name := range []string{snapshotName, graphName, damagedName, originalsName(r.Uint64()), "vectors-1.tmp"} {
			b := make([]byte, r.IntN(300))
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			if r.IntN(2) == 0 {
				b = append([]byte(snapshotMark), b...)
			}
			if r.IntN(2) == 0 {
				b = summed(b)
			}
			if r.IntN(4) > 0 {
				if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		x, err := Open(dir, "test", 8)
		if err != nil || x.Len() != 0 {
			t.Fatalf("Open = %v, %v", x, err)
		}
		x.Serve(Graph, nil)
		put(t, x, 0, clusters(r, 20, 8))
		if err := x.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
