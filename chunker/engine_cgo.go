//go:build cgo

package chunker

import (
	"slices"
	"strings"

	sitter "github.com/tree-sitter/go-tree-sitter"
)

// Engine names what cuts source: tree-sitter, or text in a build without cgo,
// where Go is cut by go/parser and all else as text.
func Engine() string { return "tree-sitter" }

// An engine parses with tree-sitter, one file at a time.
type engine struct {
	parser *treeParser
	langs  map[string]*grammar // loaded so far
}

func (e *engine) close() {
	if e.parser != nil {
		e.parser.close()
		e.parser = nil
	}
}

// outline returns what is in src, or nil if src could not be parsed.
func (e *engine) outline(lang string, src []byte, opt Options) (_ *outline, timedOut bool) {
	if lang == "go" && !opt.SlowGo {
		if o := outlineGo(src, opt.MaxLines, true); o != nil {
			return o, false
		}
	}
	g := e.langs[lang]
	if g == nil {
		table := tables[lang]
		if table == nil {
			return nil, false
		}
		if e.langs == nil {
			e.langs = make(map[string]*grammar)
		}
		g = load(table())
		e.langs[lang] = g
	}
	if e.parser == nil {
		e.parser = newTreeParser()
	}
	tree, timedOut := e.parser.parse(g.lang, src, opt.Deadline)
	if tree == nil {
		return nil, timedOut
	}
	w := &walk{g: g, src: src, lines: indexLines(src), maxLines: opt.MaxLines}
	o := w.outline(tree.RootNode())
	o.release = tree.Close
	return o, false
}

// tables make the table of each language that has one. They are functions so
// that a worker pays for the languages it meets only.
var tables = map[string]func() *table{
	"go":         goTable,
	"rust":       rustTable,
	"javascript": javascriptTable,
	"typescript": typescriptTable,
	"tsx":        tsxTable,
	"python":     pythonTable,
	"java":       javaTable,
	"c":          cTable,
	"cpp":        cppTable,
}

// A table says how one language is cut. See languages for what it takes to add
// one.
type table struct {
	language func() *sitter.Language
	rules    map[string]rule // by node kind; other nodes are not looked into
	leads    string          // kinds of comments, attributes and decorators
	sep      string          // between the parts of a qualified name

	// imports returns what a node whose rule says so imports.
	imports func(n *sitter.Node, src []byte) []string
	// calls are names of functions that import what they are given.
	calls []string
	// pkg returns the package that a node with act pkg declares.
	pkg func(n *sitter.Node, src []byte) string
	// docstring returns the string in a definition that documents it.
	docstring func(n *sitter.Node, src []byte) string
	// fileDoc returns what documents the file; nil means the first comment in
	// it that is no licence and belongs to no definition.
	fileDoc func(root *sitter.Node, src []byte) string
}

// An act is what to do with a node.
type act uint8

const (
	skip      act = iota // nor look into it
	enter                // look into it; it leaves no trace
	enterLong            // look into it if it is too long for a chunk
	wrap                 // look into it; what is found there gets its whole range
	define               // it gets a chunk
	holds                // it gets a chunk for its header, its members get their own
	pkg                  // it names the package
)

// A rule says what to do with nodes of one kind.
type rule struct {
	act    act
	kind   string // our node type
	member string // our node type if a class, trait or the like holds it
	name   string // field of the name; "" is "name"
	body   string // field without which it is no definition; "" if it needs none
	// imports says that nodes of this kind may import, whatever else they do.
	imports bool
	// look decides in place of the fields above where they do not reach. It
	// returns an empty name for what is no definition; scope, if not empty, is
	// what the names of its members begin with.
	look func(n *sitter.Node, src []byte) found
}

// found is what a rule's look made of a node.
type found struct {
	act   act
	kind  string
	name  string
	scope string // "" means name
	owner string // what it belongs to without lying in it; goes before name
}

// A grammar is a table made ready: rules by the numbers the parser gives kinds.
type grammar struct {
	*table
	lang   *sitter.Language
	byID   []rule
	lead   []bool
	opaque []bool // tokens with parts, such as strings: never divided
}

func load(t *table) *grammar {
	lang := t.language()
	n := int(lang.NodeKindCount())
	g := &grammar{table: t, lang: lang, byID: make([]rule, n), lead: make([]bool, n), opaque: make([]bool, n)}
	leads := strings.Fields(t.leads)
	for id := range n {
		// One kind may have several numbers.
		kind := lang.NodeKindForId(uint16(id))
		if !lang.NodeKindIsNamed(uint16(id)) {
			continue
		}
		g.byID[id] = t.rules[kind]
		for _, l := range leads {
			g.lead[id] = g.lead[id] || l == kind
		}
		g.opaque[id] = g.lead[id] || strings.Contains(kind, "string") || strings.Contains(kind, "char_lit") || strings.Contains(kind, "regex") || strings.HasPrefix(kind, "jsx_text")
	}
	return g
}

// errorKind is the number tree-sitter gives to what it could not parse.
const errorKind = 65535

func (g *grammar) rule(kind uint16) rule {
	if int(kind) < len(g.byID) {
		return g.byID[kind]
	}
	if kind == errorKind {
		return rule{act: enter} // what is sound in it is found
	}
	return rule{}
}

// child returns the child in a field, nil if there is none or n is nil.
func child(n *sitter.Node, field string) *sitter.Node {
	if n == nil {
		return nil
	}
	return n.ChildByFieldName(field)
}

// text returns the source of n, "" if n is nil.
func text(n *sitter.Node, src []byte) string {
	if n == nil {
		return ""
	}
	return string(src[n.StartByte():n.EndByte()])
}

// line returns the source of n with every run of space made one blank.
func line(n *sitter.Node, src []byte) string {
	return strings.Join(strings.Fields(text(n, src)), " ")
}

// is reports whether n is of one of the kinds.
func is(n *sitter.Node, kinds ...string) bool {
	if n == nil {
		return false
	}
	kind := n.Kind()
	return slices.Contains(kinds, kind)
}
