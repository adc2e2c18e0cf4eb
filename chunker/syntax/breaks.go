//go:build cgo

package syntax

import (
	"bytes"
	"slices"

	sitter "github.com/tree-sitter/go-tree-sitter"

	"github.com/foldwatch/foldwatch/chunker/source"
)

// A breakFinder goes over a tree once more, for the places at which pieces over
// maxLines lines may be divided.
type breakFinder struct {
	g        *grammar
	out      *Outline
	maxLines int
	found    []source.Break
}

// treeBreaks returns the places in the tree below root, of which o was made.
func treeBreaks(g *grammar, o *Outline, root *sitter.Node, maxLines int) []source.Break {
	c := root.Walk()
	defer c.Close()
	f := &breakFinder{g: g, out: o, maxLines: maxLines}
	f.run(c)
	return source.SortBreaks(f.found)
}

// run adds the places before the parts of whatever is too long to stay whole,
// but none in a string or a comment. Worse than all statements is the place
// between a comment and what it stands before; worse still one in the middle of
// a line; the worst is one before a bracket or the like, which is all there is
// in a file of brackets.
func (f *breakFinder) run(c *sitter.TreeCursor) {
	src := f.out.src
	depth := 0
	comment := -1 // end of the comment just passed
	for {
		n := c.Node()
		kind := n.KindId()
		start, end := int(n.StartByte()), int(n.EndByte())
		known := int(kind) < len(f.g.lead)
		if depth > 0 && start < end {
			at, rank := lineStart(src, start), depth
			isComment := known && f.g.lead[kind]
			if comment >= 0 && bytes.Count(src[comment:max(start, comment)], []byte{'\n'}) <= 1 {
				rank += 1000
			}
			if at > 0 && src[at-1] != '\n' {
				rank += 2000
			}
			if !n.IsNamed() {
				rank += 4000
			}
			f.found = append(f.found, source.Break{At: at, Rank: rank})
			comment = -1
			if isComment && (at == 0 || src[at-1] == '\n') {
				comment = end
				if src[end-1] == '\n' {
					comment = end - 1 // Rust's doc comments hold their line feed
				}
			}
		}
		opaque := known && f.g.opaque[kind]
		long := f.out.Lines.Count(start, end) > f.maxLines/2
		if known && long && f.g.prosy[kind] && !f.isPart(start) {
			f.addLines(start, end)
		}
		if !opaque && long && c.GotoFirstChild() {
			depth++
			continue
		}
		for !c.GotoNextSibling() {
			if depth == 0 || !c.GotoParent() {
				return
			}
			depth--
		}
		if depth == 0 {
			return
		}
	}
}

// isPart reports whether a part in another language, which has breaks of its
// own, begins at start.
func (f *breakFinder) isPart(start int) bool {
	return slices.ContainsFunc(f.out.parts, func(p part) bool { return p.start == start })
}

// addLines adds the starts of the lines of [start, end), those after a blank
// line with a better rank.
func (f *breakFinder) addLines(start, end int) {
	lines := f.out.Lines
	blank := false
	for n := lines.At(start); n < len(lines.Starts) && lines.Starts[n] < end; n++ {
		at, rank := lines.Starts[n], 900
		if blank {
			rank = 800
		}
		next := min(end, lines.End(n+1))
		if blank = len(bytes.TrimSpace(f.out.src[at:next])) == 0; !blank {
			f.found = append(f.found, source.Break{At: at, Rank: rank})
		}
	}
}
