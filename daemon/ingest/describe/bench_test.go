package describe

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/ingest/imports"
)

// BenchmarkDescribe describes files that are about 10 KB each, of this program
// and of the samples, without cutting them.
func BenchmarkDescribe(b *testing.B) {
	for _, name := range []string{"../follow.go", "../tip.go", "testdata/tree/web/src/auth/service.ts", "testdata/tree/tools/report.py"} {
		src, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		for len(src) < 8<<10 { // small samples, as often as makes them long
			src = append(src, src...)
		}
		cut := chunker.Cut(name, src, chunker.Options{})
		files := imports.NewFiles([]string{name}, nil)
		b.Run(filepath.Base(name), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				Describe(Subject{
					Slug: "demo", Path: name, Language: cut.Language, Blob: "b1", Source: src, Chunks: cut.Chunks,
					Package: cut.Package, Doc: cut.Doc, Imports: cut.Imports,
					Resolve: func(imp string) (string, bool) { return files.Resolve(name, cut.Language, imp) },
				})
			}
		})
	}
}
