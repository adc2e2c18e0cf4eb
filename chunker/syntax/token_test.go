//go:build cgo

package syntax

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	sitter "github.com/tree-sitter/go-tree-sitter"
)

// No place at which a file may be cut, which are the bounds of its pieces and
// the breaks in them, lies within a token, in any language, however small the
// pieces are to be: neither in a leaf of the tree nor in a string or comment.
func TestNoCutInTokens(t *testing.T) {
	var parser Parser
	defer parser.Close()
	p := newTreeParser()
	defer p.close()
	for _, lang := range Languages() {
		files, err := filepath.Glob("../testdata/" + lang + "/*")
		if err != nil {
			t.Fatal(err)
		}
		g := load(tables[lang]())
		cuts := 0
		for _, path := range files {
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Ext(path) == ".golden" {
				continue
			}
			long := bytes.Repeat(append(src, '\n'), 3)
			in := long
			if g.prepare != nil {
				in = g.prepare(long)
			}
			tree, _ := p.parse(g.lang, in, time.Minute)
			if tree == nil {
				t.Fatalf("%s: no tree", path)
			}
			for _, maxLines := range []int{2, 3, 5, 9, 20} {
				o, _ := parser.Parse(lang, long, Options{MaxLines: maxLines, Deadline: time.Minute, SlowGo: true})
				if o == nil {
					t.Fatalf("%s: not parsed", path)
				}
				places := map[int]bool{}
				for _, piece := range o.Pieces()[1:] {
					places[piece.Start] = true
				}
				for _, b := range o.Breaks() {
					places[b.At] = b.At > 0
				}
				o.Close()
				for at, cut := range places {
					if !cut {
						continue
					}
					cuts++
					if n := tokenAt(g, tree.RootNode(), long, at); n != nil {
						t.Errorf("%s at %d lines: byte %d lies within the %s %.60q", path, maxLines, at, n.Kind(), text(n, long))
					}
				}
			}
			tree.Close()
		}
		if cuts < 20 {
			t.Errorf("%s: %d cuts, too few to tell", lang, cuts)
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
