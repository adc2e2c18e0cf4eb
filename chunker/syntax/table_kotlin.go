//go:build cgo

package syntax

import (
	"strings"

	grammar_kotlin "github.com/tree-sitter-grammars/tree-sitter-kotlin/bindings/go"
	sitter "github.com/tree-sitter/go-tree-sitter"
)

func kotlinTable() *table {
	return &table{
		language: func() *sitter.Language { return sitter.NewLanguage(grammar_kotlin.Language()) },
		leads:    "line_comment block_comment",
		sep:      ".",
		rules: map[string]rule{
			"package_header":        {act: pkg},
			"import":                {imports: true},
			"class_declaration":     {inspect: kotlinClass},
			"object_declaration":    {act: holds, kind: "class"},
			"companion_object":      {inspect: kotlinCompanion},
			"class_body":            {act: enter},
			"enum_class_body":       {act: enter},
			"type_alias":            {act: define, kind: "type", name: "type"},
			"function_declaration":  {inspect: kotlinFunction, member: "method"},
			"property_declaration":  {inspect: kotlinProperty, member: "method"},
			"secondary_constructor": {inspect: func(*sitter.Node, []byte) found { return found{act: define, kind: "method", name: "constructor"} }},
		},
		imports: func(n *sitter.Node, src []byte) []string {
			s := strings.TrimSuffix(strings.TrimPrefix(line(n, src), "import "), ";")
			s, _, _ = strings.Cut(s, " as ")
			return []string{s}
		},
		pkg: func(n *sitter.Node, src []byte) string {
			return strings.TrimSuffix(strings.TrimPrefix(line(n, src), "package "), ";")
		},
	}
}

// kotlinClass tells classes from interfaces and enums, which are nodes of the
// same kind.
func kotlinClass(n *sitter.Node, src []byte) found {
	f := found{act: holds, kind: "class", name: text(child(n, "name"), src)}
	for i := range n.ChildCount() {
		switch c := n.Child(i); {
		case c.Kind() == "interface":
			f.kind = "interface"
		case c.Kind() == "modifiers":
			for word := range strings.FieldsSeq(text(c, src)) {
				if word == "enum" {
					f.kind = "enum"
				}
			}
		case is(c, "class_body", "enum_class_body"):
			return f
		}
	}
	return f
}

func kotlinCompanion(n *sitter.Node, src []byte) found {
	name := text(child(n, "name"), src)
	if name == "" {
		name = "Companion"
	}
	return found{act: holds, kind: "class", name: name}
}

// kotlinFunction names a function by the type that it extends, if it does.
func kotlinFunction(n *sitter.Node, src []byte) found {
	if !hasChild(n, "function_body") {
		return found{}
	}
	return found{act: define, kind: "function", name: text(child(n, "name"), src), owner: kotlinReceiver(n, "identifier", src)}
}

// kotlinProperty finds properties that are code: accessors, functions.
func kotlinProperty(n *sitter.Node, src []byte) found {
	code := hasChild(n, "lambda_literal") || hasChild(n, "anonymous_function")
	for i := range n.NamedChildCount() {
		c := n.NamedChild(i)
		code = code || is(c, "getter", "setter") && hasChild(c, "function_body")
	}
	if !code {
		return found{}
	}
	for i := range n.NamedChildCount() {
		if v := n.NamedChild(i); is(v, "variable_declaration") {
			return found{act: define, kind: "function", name: text(v.NamedChild(0), src), owner: kotlinReceiver(n, "variable_declaration", src)}
		}
	}
	return found{}
}

// kotlinReceiver returns the bare type that stands before the name in n, which
// is of a kind; "" if there is none.
func kotlinReceiver(n *sitter.Node, name string, src []byte) string {
	for i := range n.NamedChildCount() {
		switch c := n.NamedChild(i); {
		case c.Kind() == name:
			return ""
		case is(c, "user_type", "nullable_type", "parenthesized_type", "function_type"):
			typ, _, _ := strings.Cut(strings.Trim(line(c, src), "()?"), "<")
			return typ[strings.LastIndexByte(typ, '.')+1:]
		}
	}
	return ""
}

// hasChild reports whether n has a part of a kind.
func hasChild(n *sitter.Node, kind string) bool {
	for i := range n.NamedChildCount() {
		if n.NamedChild(i).Kind() == kind {
			return true
		}
	}
	return false
}
