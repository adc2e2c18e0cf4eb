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
	o, timedOut := e.tree(lang, src, opt)
	for i := 0; o != nil && i < min(len(o.parts), maxParts); i++ {
		part := o.parts[i]
		sub, late := e.tree(part.lang, src[part.start:part.end], opt)
		if late {
			o.free()
			return nil, true
		}
		o.embed(i, sub)
	}
	return o, timedOut
}

// maxParts is how many parts in other languages of one file are parsed.
const maxParts = 64

// tree returns what the parser of one language finds in src, nil if it finds
// nothing.
func (e *engine) tree(lang string, src []byte, opt Options) (_ *outline, timedOut bool) {
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
	in := src
	if g.prepare != nil {
		in = g.prepare(src)
	}
	tree, timedOut := e.parser.parse(g.lang, in, opt.Deadline)
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
	"shell":      shellTable,
	"ruby":       rubyTable,
	"lua":        luaTable,
	"zig":        zigTable,
	"php":        phpTable,
	"csharp":     csharpTable,
	"scala":      scalaTable,
	"kotlin":     kotlinTable,

	"html":   htmlTable,
	"vue":    htmlTable,
	"svelte": svelteTable,
	"css":    cssTable,
	"json":   jsonTable,
	"yaml":   yamlTable,
	"toml":   tomlTable,
	"hcl":    hclTable,
	"make":   makeTable,
}

// A table says how one language is cut. See languages for what it takes to add
// one.
type table struct {
	language func() *sitter.Language
	rules    map[string]rule // by node kind; other nodes are not looked into
	leads    string          // kinds of comments, attributes and decorators
	opaque   string          // kinds that are one token though they have parts, besides strings
	prose    string          // kinds of text that is divided between lines where there is no better place
	sep      string          // between the parts of a qualified name
	// methodSep stands before the name of a method instead of sep; "" means sep.
	methodSep string
	// indented says that blocks end where the next line is less indented, so
	// that comments and space before what comes next lie in them.
	indented bool
	crowds   bool // it is data, of which there may be a lot; see entry

	// prepare returns what the parser is given in place of src: as long, and
	// with the same lines. Nil means src itself.
	prepare func(src []byte) []byte
	// imports returns what a node whose rule says so imports.
	imports func(n *sitter.Node, src []byte) []string
	// leading reports whether a node stands before a definition and belongs to
	// it, where that does not follow from its kind.
	leading func(n *sitter.Node, src []byte) bool
	// fileImports returns what the file imports without a look at its tree.
	fileImports func(src []byte) []string
	// calls are what begins expressions that import what they are given,
	// wherever they stand. With a bracket at its end only the one before it.
	calls []string
	// called returns what an expression that begins so imports; nil means the
	// string that is its first argument.
	called func(n *sitter.Node, src []byte) []string
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
	holdsLong            // holds, if it is too long for a chunk; else skip
	pkg                  // it names the package; what else it is, its look says
	precedes             // it gets a chunk; what is found in it stands beside it
)

// A rule says what to do with nodes of one kind.
type rule struct {
	act    act
	kind   string // our node type
	member string // our node type if a class, trait or the like holds it
	name   string // field of the name; "" is "name"
	body   string // field without which it is no definition; "" if it needs none
	// data says that it is an entry of data, such as a key with its value: its
	// length decides whether it gets a chunk and whether its entries do.
	data bool
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

	end    int    // where it ends if that is before the end of the node; 0 means there
	open   bool   // it reaches to the next definition, or to the end of what it lies in
	titled int    // where the heading begins that names it and is nothing else; 0 if none
	gather bool   // short neighbours of its kind join it in one chunk
	lang   string // language of its part [from, to), "" if it has none
	from   int
	to     int
}

// A grammar is a table made ready: rules by the numbers the parser gives kinds.
type grammar struct {
	*table
	lang   *sitter.Language
	byID   []rule
	lead   []bool
	opaque []bool // tokens with parts, such as strings: never divided
	prosy  []bool // see table.prose
}

func load(t *table) *grammar {
	lang := t.language()
	n := int(lang.NodeKindCount())
	g := &grammar{table: t, lang: lang, byID: make([]rule, n), lead: make([]bool, n), opaque: make([]bool, n), prosy: make([]bool, n)}
	leads, opaque, prose := strings.Fields(t.leads), strings.Fields(t.opaque), strings.Fields(t.prose)
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
		g.prosy[id] = slices.Contains(prose, kind)
		g.opaque[id] = g.lead[id] || slices.Contains(opaque, kind) || strings.Contains(kind, "string") || strings.Contains(kind, "char_lit") || strings.Contains(kind, "regex") || strings.HasPrefix(kind, "jsx_text")
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
