//go:build cgo

package syntax

import (
	"slices"
	"strconv"
	"strings"

	sitter "github.com/tree-sitter/go-tree-sitter"

	"github.com/foldwatch/foldwatch/chunker/source"
)

// A table says how one language is cut. Each has a file of its own, table_<name>.go,
// and is named in tables.
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
	// inspect decides in place of the fields above where they do not reach. It
	// returns an empty name for what is no definition; scope, if not empty, is
	// what the names of its members begin with.
	inspect func(n *sitter.Node, src []byte) found
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

// maxDepth bounds how deep definitions are looked for.
const maxDepth = 400

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

// quoted returns the string that a Go, Python or JavaScript literal stands for,
// as far as imports need it.
func quoted(lit string) string {
	if s, err := strconv.Unquote(lit); err == nil {
		return s
	}
	return strings.Trim(lit, "\"'`")
}

// stringContent returns what is between the quotes of a string node, "" if its
// grammar has no node for that.
func stringContent(s *sitter.Node, src []byte) string {
	for i := range min(s.NamedChildCount(), 8) {
		if c := s.NamedChild(i); is(c, "string_content") {
			return text(c, src)
		}
	}
	return ""
}

// entryName returns the key of an entry of data without its quotes.
func entryName(key *sitter.Node, src []byte) string {
	name := line(key, src)
	if n := len(name); n >= 2 && (name[0] == '"' || name[0] == '\'') && name[n-1] == name[0] {
		name = name[1 : n-1]
	}
	return source.Truncate(name, 200)
}

// docBefore returns the first sentence of the comments that stand directly
// before the first node of a kind below root.
func docBefore(root *sitter.Node, src []byte, kind string) string {
	c := root.Walk()
	defer c.Close()
	o := newOutline(src)
	for ok := c.GotoFirstChild(); ok; ok = c.GotoNextSibling() {
		n := c.Node()
		if n.Kind() == "comment" {
			o.leads = append(o.leads, span{int(n.StartByte()), int(n.EndByte())})
		} else if n.Kind() == kind {
			_, doc := o.lead(int(n.StartByte()), 0)
			return doc
		}
	}
	return ""
}
