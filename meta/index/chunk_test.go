package index

import (
	"errors"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

func someChunks(n int) []fold.Chunk {
	const memory = "0123456789abcdef"
	all := make([]fold.Chunk, n)
	for i := range all {
		hash := fold.ChunkHash([]byte{byte(i), byte(i >> 8)})
		all[i] = fold.Chunk{
			MemoryID: memory, ID: fold.ChunkID(memory, "f", i, hash), Hash: hash,
			StartLine: 1 + 10*i, EndLine: 10 + 10*i, StartByte: 300 * i, EndByte: 300*i + 300,
			NodeType: "function", NodeName: "Server.handle" + strconv.Itoa(i), Parent: "Server", Language: "go",
			Doc: "Handle answers one request.", Hidden: i%7 == 3,
		}
	}
	return all
}

func TestChunksAreStoredLosslessly(t *testing.T) {
	odd := someChunks(3)
	odd[0].ID, odd[0].Hash = "c1", "" // not of the usual form
	odd[1].ID = "0123456789ABCDEF"
	odd[2].StartByte, odd[2].EndByte, odd[2].StartLine, odd[2].EndLine = 4, 1, -2, -9
	for _, want := range [][]fold.Chunk{{}, someChunks(1), someChunks(40), odd} {
		value := encodeChunks(nil, want)
		got, err := decodeChunks("0123456789abcdef", value)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%d chunks: %v, -want +got %s", len(want), err, d)
		}
		for n := range len(value) {
			if _, err := decodeChunks("0123456789abcdef", value[:n]); !errors.Is(err, sqlite.ErrDamaged) {
				t.Fatalf("%d of %d bytes: %v, want sqlite.ErrDamaged", n, len(value), err)
			}
		}
	}
}

func FuzzDecodeChunks(f *testing.F) {
	f.Add(encodeChunks(nil, someChunks(5)))
	f.Add([]byte{1, 0, 0, 9})
	f.Fuzz(func(t *testing.T, b []byte) {
		chunks, err := decodeChunks("0123456789abcdef", b)
		if err != nil {
			return
		}
		again, err := decodeChunks("0123456789abcdef", encodeChunks(nil, chunks))
		if d := cmp.Diff(chunks, again); err != nil || d != "" {
			t.Fatalf("%v, -first +again %s", err, d)
		}
	})
}

func BenchmarkEncodeChunks(b *testing.B) {
	chunks := someChunks(13)
	buf := encodeChunks(nil, chunks)
	b.ReportAllocs()
	for b.Loop() {
		buf = encodeChunks(buf[:0], chunks)
	}
	b.ReportMetric(float64(len(buf))/13, "B/chunk")
}

// TestChunkRowAllocations bounds what a row of chunks costs the collector.
func TestChunkRowAllocations(t *testing.T) {
	chunks := someChunks(13)
	buf := encodeChunks(nil, chunks)
	if n := testing.AllocsPerRun(100, func() { buf = encodeChunks(buf[:0], chunks) }); n > 5 {
		t.Errorf("encodeChunks: %v allocations", n)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = decodeChunks("0123456789abcdef", buf) }); n > 36 {
		t.Errorf("decodeChunks of 13: %v allocations", n)
	}
}
