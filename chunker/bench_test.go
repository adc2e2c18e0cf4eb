package chunker_test

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/chunker"
)

// loadGo reads about 4 MB of Go source.
func loadGo(b *testing.B) (files [][]byte, size int64) {
	b.Helper()
	for _, path := range goFiles(b, 350) {
		src, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		files = append(files, src)
		size += int64(len(src))
	}
	return files, size
}

func BenchmarkPool(b *testing.B) {
	for _, bc := range []struct {
		name string
		slow bool
	}{{"tree-sitter", true}, {"go-parser", false}} {
		b.Run(bc.name, func(b *testing.B) {
			files, size := loadGo(b)
			p := chunker.NewPool(chunker.PoolOptions{
				Command: []string{os.Args[0], "chunk-worker"}, Workers: 2, Deadline: time.Minute,
			}, chunker.Options{SlowGo: bc.slow})
			defer p.Close()
			b.SetBytes(size)
			for b.Loop() {
				var wg sync.WaitGroup
				for half := range 2 {
					wg.Go(func() {
						for i := half; i < len(files); i += 2 {
							if _, err := p.Cut(b.Context(), "a.go", files[i]); err != nil {
								b.Error(err)
							}
						}
					})
				}
				wg.Wait()
			}
			b.ReportMetric(float64(p.Stats().Restarts), "restarts")
		})
	}
}

func BenchmarkCut(b *testing.B) {
	for path, src := range map[string]string{
		"a.md":   "testdata/markdown/sample.md",
		"a.html": "testdata/html/sample.html",
		"a.txt":  "testdata/text/sample.txt",
		"a.conf": "testdata/lines/sample.conf",
	} {
		b.Run(path, func(b *testing.B) {
			text, err := os.ReadFile(src)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				chunker.Cut(path, text, chunker.Options{})
			}
		})
	}
}
