//go:build cgo

package syntax

import (
	"maps"
	"slices"
)

// Engine names what parses in this build.
const Engine = treeEngine

// Languages returns the languages that this build parses, in order.
func Languages() []string { return slices.Sorted(maps.Keys(tables)) }

// The trees of a Parser are those of tree-sitter.
type trees struct {
	parser   *treeParser
	grammars map[string]*grammar // by language, loaded so far
}

func (t *trees) close() {
	if t.parser != nil {
		t.parser.close()
		t.parser = nil
	}
}

// outline returns what the parser of one language finds in src, nil if it finds
// nothing.
func (t *trees) outline(lang string, src []byte, opt Options) (_ *Outline, timedOut bool) {
	g := t.grammar(lang)
	if g == nil {
		return nil, false
	}
	if t.parser == nil {
		t.parser = newTreeParser()
	}
	in := src
	if g.prepare != nil {
		in = g.prepare(src)
	}
	tree, timedOut := t.parser.parse(g.lang, in, opt.Deadline)
	if tree == nil {
		return nil, timedOut
	}
	o := readTree(g, tree.RootNode(), src, opt.MaxLines)
	o.free = tree.Close
	return o, false
}

// grammar returns the grammar of a language, nil if it has none.
func (t *trees) grammar(lang string) *grammar {
	if g := t.grammars[lang]; g != nil {
		return g
	}
	table := tables[lang]
	if table == nil {
		return nil
	}
	if t.grammars == nil {
		t.grammars = make(map[string]*grammar)
	}
	t.grammars[lang] = load(table())
	return t.grammars[lang]
}
