//go:build cgo && !linux && !darwin

package syntax

import (
	"time"

	sitter "github.com/tree-sitter/go-tree-sitter"
)

// A treeParser is one tree-sitter parser, for one file at a time. On these systems
// it goes through the binding, since weak symbols are not to be had. One set of
// options serves all files, because the binding leaks what it is given
// (tree-sitter/go-tree-sitter#51).
type treeParser struct {
	p        *sitter.Parser
	opt      *sitter.ParseOptions
	src      []byte
	deadline time.Time
	late     bool
}

func newTreeParser() *treeParser {
	p := &treeParser{p: sitter.NewParser()}
	p.opt = &sitter.ParseOptions{ProgressCallback: func(sitter.ParseState) bool {
		p.late = p.late || time.Now().After(p.deadline)
		return p.late
	}}
	return p
}

func (p *treeParser) close() { p.p.Close() }

func (p *treeParser) read(at int, _ sitter.Point) []byte {
	if at >= len(p.src) {
		return nil
	}
	return p.src[at:]
}

// parse returns nil, and whether that was for time, if there is no tree. The
// caller closes the tree.
func (p *treeParser) parse(lang *sitter.Language, src []byte, deadline time.Duration) (_ *sitter.Tree, late bool) {
	if err := p.p.SetLanguage(lang); err != nil {
		return nil, false
	}
	p.src, p.deadline, p.late = src, time.Now().Add(deadline), false
	tree := p.p.ParseWithOptions(p.read, nil, p.opt)
	p.src = nil
	if tree == nil {
		// The next parse would go on with this one, and Reset is not enough: in
		// v0.25.0 it forgets canceled_balancing, and an assertion ends the
		// process if it was the balancing that took too long.
		p.p.Close()
		p.p = sitter.NewParser()
	}
	return tree, p.late
}
