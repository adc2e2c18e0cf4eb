package chunker_test

import (
	"os"
	"testing"

	"github.com/foldwatch/foldwatch/chunker"
)

func TestSmoke(t *testing.T) {
	for _, p := range []string{"pool.go", "/work/shared/design.md", "/usr/share/perl/5.36/strict.pm"} {
		b, _ := os.ReadFile(p)
		r := chunker.Cut(p, b, chunker.Options{})
		t.Log(r.Strategy, r.Package, r.Doc, r.Imports)
		for _, c := range r.Chunks {
			t.Logf("%d-%d %s %q parent=%q doc=%q", c.StartLine, c.EndLine, c.NodeType, c.NodeName, c.Parent, c.Doc)
		}
		r2, err := chunker.DecodeResult(r.Encode())
		if err != nil || len(r2.Chunks) != len(r.Chunks) {
			t.Error(err)
		}
	}
}
