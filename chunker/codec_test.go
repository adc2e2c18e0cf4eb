package chunker_test

import (
	"os"
	"testing"

	"github.com/foldwatch/foldwatch/chunker"
)

// cutSample cuts a Go file of this package.
func cutSample(t testing.TB) chunker.Result {
	t.Helper()
	src, err := os.ReadFile("pool.go")
	if err != nil {
		t.Fatal(err)
	}
	return chunker.Cut("pool.go", src, chunker.Options{})
}

func BenchmarkEncode(b *testing.B) {
	res := cutSample(b)
	b.SetBytes(int64(len(res.Encode())))
	b.ReportAllocs()
	for b.Loop() {
		res.Encode()
	}
}

func BenchmarkDecode(b *testing.B) {
	value := cutSample(b).Encode()
	b.SetBytes(int64(len(value)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := chunker.DecodeResult(value); err != nil {
			b.Fatal(err)
		}
	}
}

// TestCodecAllocations bounds what a file costs the collector on its way from a
// worker or from the cache, whatever the number of its chunks.
func TestCodecAllocations(t *testing.T) {
	res := cutSample(t)
	value := res.Encode()
	if n := testing.AllocsPerRun(100, func() { res.Encode() }); n > 2 {
		t.Errorf("Encode of %d chunks: %v allocations", len(res.Chunks), n)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = chunker.DecodeResult(value) }); n > 3 {
		t.Errorf("DecodeResult of %d chunks: %v allocations", len(res.Chunks), n)
	}
}
