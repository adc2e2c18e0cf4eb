//go:build cgo

package syntax

import (
	"strings"

	sitter "github.com/tree-sitter/go-tree-sitter"
	grammar_c "github.com/tree-sitter/tree-sitter-c/bindings/go"
)

func cTable() *table {
	return &table{
		language: func() *sitter.Language { return sitter.NewLanguage(grammar_c.Language()) },
		leads:    "comment",
		sep:      "::",
		rules:    cRules(),
		imports: func(n *sitter.Node, src []byte) []string {
			return []string{text(child(n, "path"), src)} // with its quotes or <>
		},
	}
}

// cRules are shared with C++.
func cRules() map[string]rule {
	specifier := func(kind string) rule {
		return rule{inspect: func(n *sitter.Node, src []byte) found { return cSpecifier(n, src, kind, define) }}
	}
	return map[string]rule{
		"function_definition":  {inspect: cFunction},
		"struct_specifier":     specifier("struct"),
		"union_specifier":      specifier("struct"),
		"enum_specifier":       specifier("enum"),
		"type_definition":      {inspect: cTypedef},
		"declaration":          {act: wrap},
		"preproc_function_def": {act: define, kind: "macro"},
		"preproc_def": {inspect: func(n *sitter.Node, src []byte) found {
			if strings.Count(strings.TrimSpace(text(n, src)), "\n") == 0 {
				return found{} // a constant
			}
			return found{act: define, kind: "macro", name: text(child(n, "name"), src)}
		}},
		"preproc_include":       {imports: true},
		"preproc_if":            {act: enter},
		"preproc_ifdef":         {act: enter},
		"preproc_else":          {act: enter},
		"preproc_elif":          {act: enter},
		"preproc_elifdef":       {act: enter},
		"linkage_specification": {act: enter},
		"declaration_list":      {act: enter},
	}
}

// cSpecifier names a struct, union, enum or class that has a body: by its own
// name, else by that of the typedef it stands in.
func cSpecifier(n *sitter.Node, src []byte, kind string, a act) found {
	if child(n, "body") == nil {
		return found{}
	}
	name := bareName(line(child(n, "name"), src))
	if up := n.Parent(); name == "" && is(up, "type_definition") {
		name = declared(child(up, "declarator"), src)
	}
	return found{act: a, kind: kind, name: name}
}

// cTypedef looks for a body in a typedef, and takes the new name if there is none.
func cTypedef(n *sitter.Node, src []byte) found {
	if t := child(n, "type"); child(t, "body") != nil {
		return found{act: wrap}
	}
	return found{act: define, kind: "type", name: declared(child(n, "declarator"), src)}
}

// cFunction names a function by its declarator. A qualified name is that of a
// method which is defined outside its class.
func cFunction(n *sitter.Node, src []byte) found {
	if child(n, "body") == nil {
		return found{} // = default, = delete
	}
	name := declared(child(n, "declarator"), src)
	f := found{act: define, kind: "function", name: name}
	if i := strings.LastIndex(name, "::"); i > 0 {
		f.kind, f.owner, f.name = "method", name[:i], name[i+2:]
	}
	return f
}

// declared returns the name that a declarator declares, without pointers,
// arrays, parameters and template arguments.
func declared(n *sitter.Node, src []byte) string {
	for range maxDepth {
		if n == nil {
			return ""
		}
		switch n.Kind() {
		case "identifier", "type_identifier", "field_identifier", "primitive_type":
			return text(n, src)
		case "qualified_identifier", "destructor_name", "operator_name", "template_function", "operator_cast":
			return bareName(line(n, src))
		}
		next := child(n, "declarator")
		if next == nil { // a pair of brackets, a reference
			for i := range min(n.NamedChildCount(), 8) {
				if c := n.NamedChild(i); strings.HasSuffix(c.Kind(), "declarator") || strings.HasSuffix(c.Kind(), "identifier") {
					next = c
					break
				}
			}
		}
		n = next
	}
	return ""
}

// bareName strips template arguments and the parameters of a conversion.
func bareName(name string) string {
	var b strings.Builder
	depth := 0
	op := strings.Index(name, "operator")
	for i, c := range name {
		switch {
		case op >= 0 && i >= op:
			b.WriteRune(c)
		case c == '<':
			depth++
		case c == '>':
			depth--
		case depth == 0 && c != ' ':
			b.WriteRune(c)
		}
	}
	if op >= 0 {
		s, _, ok := strings.Cut(b.String(), "(")
		if ok && !strings.HasSuffix(s, "operator") {
			return strings.TrimSpace(s)
		}
	}
	return b.String()
}
