package ingest

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/ingest/cut"
	"github.com/foldwatch/foldwatch/daemon/ingest/progress"
	"github.com/foldwatch/foldwatch/daemon/ingest/selection"
	"github.com/foldwatch/foldwatch/meta/cache"
	"github.com/foldwatch/foldwatch/meta/index"
)

// inProcess cuts in this process.
type inProcess struct{}

func (inProcess) CutSized(_ context.Context, path string, src []byte, by chunker.Options) (chunker.Result, error) {
	return chunker.Cut(path, src, by), nil
}

// preparing returns what reads and cuts the Go files of this package.
func preparing(t testing.TB) (in *Ingester, names []string, size int64) {
	t.Helper()
	cache, err := cache.Open(t.Context(), t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cache.Close(); err != nil {
			t.Error(err)
		}
	})
	root, err := os.OpenRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	in = &Ingester{Options: Options{
		Cuts: new(cut.Once),
		Slug: "app", FoldDir: "fold", MaxBytes: 1 << 20, Workers: 1, Cut: chunker.Options{MaxBytes: 1 << 20},
		Cache: cache, Cutter: inProcess{}, Count: &progress.Counters{}, Log: slog.New(slog.DiscardHandler),
	}}
	in.readFrom(root, selection.Rules{})
	names, err = filepath.Glob("[a-f]*.go")
	if err != nil || len(names) < 5 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	for _, name := range names {
		fi, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		size += fi.Size()
	}
	return in, names, size
}

// prepareSome reads and cuts files as one worker of [Ingester.Source] does.
func prepareSome(t testing.TB, in *Ingester, names []string) (n int) {
	t.Helper()
	work, done := make(chan []string, 1), make(chan []*cut.File, len(names))
	work <- names
	close(work)
	if err := in.prepareAll(t.Context(), work, done, nil); err != nil {
		t.Fatal(err)
	}
	close(done)
	for group := range done {
		for _, pr := range group {
			if pr.File.State == "indexed" {
				n += len(pr.Chunks)
			}
		}
	}
	return n
}

// BenchmarkPrepare reads and cuts the files of this package: anew, and as the
// cache has them.
func BenchmarkPrepare(b *testing.B) {
	in, names, size := preparing(b)
	b.Run("cached", func(b *testing.B) {
		prepareSome(b, in, names)
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			prepareSome(b, in, names)
		}
	})
	b.Run("read and hashed", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			for _, name := range names {
				if _, err := in.reader.Read(b.Context(), name, index.File{}, false, false); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// TestPrepareCountsAndAllocates counts what a file costs that the cache knows:
// no parse, one look for many files, few allocations.
func TestPrepareCountsAndAllocates(t *testing.T) {
	in, names, _ := preparing(t)
	chunks := prepareSome(t, in, names)
	if got := in.Count.Parses.Load(); got != int64(len(names)) || in.Count.ChunkHits.Load() != 0 {
		t.Errorf("%d parses and %d hits for %d new files", got, in.Count.ChunkHits.Load(), len(names))
	}
	if again := prepareSome(t, in, names); again != chunks {
		t.Errorf("%d chunks, of the cache %d", chunks, again)
	}
	if in.Count.Parses.Load() != int64(len(names)) || in.Count.ChunkHits.Load() != int64(len(names)) {
		t.Errorf("%d parses and %d hits for %d files the cache knows", in.Count.Parses.Load(), in.Count.ChunkHits.Load(), len(names))
	}
	if got, want := in.Count.FilesRead.Load(), int64(2*len(names)); got != want {
		t.Errorf("%d files read, want %d", got, want)
	}
	n := testing.AllocsPerRun(20, func() { prepareSome(t, in, names) })
	t.Logf("%.0f allocations for %d files of %d chunks", n, len(names), chunks)
	if most := float64(60*len(names) + 3*chunks); n > most {
		t.Errorf("%.0f allocations for %d files of %d chunks, want at most %.0f", n, len(names), chunks, most)
	}
}
