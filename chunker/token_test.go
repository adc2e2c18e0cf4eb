//go:build cgo

package chunker

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sitter "github.com/tree-sitter/go-tree-sitter"
)

// No chunk begins within a token, in any language, however small the chunks are
// to be: neither in a leaf of the tree nor in a string or comment.
func TestNoCutInTokens(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*")
	if err != nil {
		t.Fatal(err)
	}
	p := newTreeParser()
	defer p.close()
	cuts := map[string]int{}
	for _, path := range files {
		src, err := os.ReadFile(path)
		lang := Language(path, src)
		if err != nil || strings.HasSuffix(path, ".golden") || tables[lang] == nil {
			continue
		}
		g := load(tables[lang]())
		for _, maxLines := range []int{2, 3, 5, 9, 20} {
			long := bytes.Repeat(append(src, '\n'), 3)
			in := long
			if g.prepare != nil {
				in = g.prepare(long)
			}
			tree, _ := p.parse(g.lang, in, time.Minute)
			if tree == nil {
				t.Fatalf("%s: no tree", path)
			}
			r := Cut(path, long, Options{MaxLines: maxLines, MinLines: 1, SlowGo: true})
			for _, c := range r.Chunks[1:] {
				cuts[lang]++
				if n := tokenAt(g, tree.RootNode(), long, c.StartByte); n != nil {
					t.Errorf("%s at %d lines: line %d begins within the %s %.60q", path, maxLines, c.StartLine, n.Kind(), text(n, long))
				}
			}
			tree.Close()
		}
	}
	for lang := range tables {
		if cuts[lang] < 20 {
			t.Errorf("%s: %d cuts, too few to tell", lang, cuts[lang])
		}
	}
}

// tokenAt returns the token that a cut at the byte at would divide, nil if none.
func tokenAt(g *grammar, root *sitter.Node, src []byte, at int) *sitter.Node {
	for n := root.DescendantForByteRange(uint(at-1), uint(at+1)); n != nil; n = n.Parent() {
		start, end, kind := int(n.StartByte()), int(n.EndByte()), int(n.KindId())
		if start >= at || end <= at || kind >= len(g.lead) {
			continue
		}
		if g.prosy[kind] {
			return nil
		}
		whole := len(bytes.TrimSpace(src[start:at])) > 0 && len(bytes.TrimSpace(src[at:end])) > 0
		if whole && (n.ChildCount() == 0 || g.opaque[kind]) {
			return n
		}
	}
	return nil
}
