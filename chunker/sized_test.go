package chunker_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// longGo is a function of 300 lines, which default options split.
func longGo() []byte {
	var b strings.Builder
	b.WriteString("// Package a is long.\npackage a\n\nimport \"fmt\"\n\nfunc Long() {\n")
	for i := range 300 {
		fmt.Fprintf(&b, "\tfmt.Println(%d)\n", i)
	}
	b.WriteString("}\n")
	return []byte(b.String())
}

// TestCutSized cuts with one pool for projects that want different sizes, one
// file after the other.
func TestCutSized(t *testing.T) {
	p := newPool(t, chunker.PoolOptions{}, chunker.Options{})
	src, text := longGo(), []byte(strings.Repeat("x = 1\n", 400))
	counts := map[int]bool{}
	for _, by := range []chunker.Options{{}, {MaxLines: 40}, {Whole: true}, {MaxLines: 1000}, {LineSize: 20}, {MaxBytes: 1000}, {}} {
		for path, src := range map[string][]byte{"a.go": src, "a.conf": text} {
			got, err := p.CutSized(t.Context(), path, src, by)
			if err != nil {
				t.Fatal(err)
			}
			want := chunker.Cut(path, src, by)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("CutSized(%s, %+v) differs from Cut: %s", path, by, d)
			}
			if err := broken(src[:got.Chunks[len(got.Chunks)-1].EndByte], got); err != nil {
				t.Errorf("%s, %+v: %v", path, by, err)
			}
			if path == "a.go" {
				counts[len(got.Chunks)] = true
			}
		}
	}
	if len(counts) < 4 {
		t.Errorf("numbers of chunks %v, want one for each of the sizes", counts)
	}
	whole, err := p.CutSized(t.Context(), "a.go", src, chunker.Options{Whole: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(whole.Chunks) != 1 || whole.Chunks[0].EndByte != len(src) || whole.Chunks[0].Hash != fold.ChunkHash(src) || whole.Package != "a" || len(whole.Imports) != 1 {
		t.Errorf("a whole file is %+v", whole)
	}
}

func TestOptionsName(t *testing.T) {
	for _, o := range []chunker.Options{{}, {MaxLines: 200}, {MinLines: 5, LineSize: 50, MaxBytes: 1 << 20}} {
		if n := o.Name(); n != "" {
			t.Errorf("Name of %+v = %q, but they cut as the zero options do", o, n)
		}
	}
	seen := map[string]bool{"": true}
	for _, o := range []chunker.Options{{MaxLines: 50}, {MinLines: 50}, {LineSize: 20}, {MaxBytes: 50}, {Whole: true}} {
		if n := o.Name(); seen[n] {
			t.Errorf("Name of %+v = %q, as of others", o, n)
		} else {
			seen[n] = true
		}
	}
}

// TestWithOverlapKeepsHiddenTextOut puts nothing from a hidden chunk before
// another, and nothing from behind it.
func TestWithOverlapKeepsHiddenTextOut(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	src := []byte(b.String())
	chunks := chunker.Cut("a.conf", src, chunker.Options{LineSize: 8}).Chunks
	if len(chunks) < 10 {
		t.Fatalf("%d chunks", len(chunks))
	}
	chunks[4].Hidden = true
	for i, c := range chunks {
		with := chunker.WithOverlap(src, chunks, i, 20)
		if !bytes.HasSuffix(with, src[c.StartByte:c.EndByte]) {
			t.Fatalf("chunk %d lacks its own text", i)
		}
		from := c.EndByte - len(with)
		if i > 4 && from < chunks[4].EndByte {
			t.Errorf("the text of chunk %d begins at byte %d, in or before the hidden chunk that ends at %d", i, from, chunks[4].EndByte)
		}
		if want := chunks[max(0, i-1)].StartByte; (i < 5 || i > 6) && from > want {
			t.Errorf("the text of chunk %d begins at byte %d, want it to reach to %d", i, from, want)
		}
	}
}

// TestWithOverlapLeavesSyntaxAlone: what has a name begins with it.
func TestWithOverlapLeavesSyntaxAlone(t *testing.T) {
	src := longGo()
	chunks := chunker.Cut("a.go", src, chunker.Options{}).Chunks
	for i, c := range chunks {
		if with := chunker.WithOverlap(src, chunks, i, 10); len(with) != c.EndByte-c.StartByte {
			t.Errorf("%s %q has %d bytes of its neighbour", c.NodeType, c.NodeName, len(with)-(c.EndByte-c.StartByte))
		}
	}
}
