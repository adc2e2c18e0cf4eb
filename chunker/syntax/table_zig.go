//go:build cgo

package syntax

import (
	"strings"

	grammar_zig "github.com/tree-sitter-grammars/tree-sitter-zig/bindings/go"
	sitter "github.com/tree-sitter/go-tree-sitter"
)

func zigTable() *table {
	return &table{
		language: func() *sitter.Language { return sitter.NewLanguage(grammar_zig.Language()) },
		leads:    "comment",
		sep:      ".",
		rules: map[string]rule{
			"function_declaration": {inspect: zigFunction, member: "method"},
			"test_declaration":     {inspect: zigTest},
			"variable_declaration": {inspect: zigContainer},
			"struct_declaration":   {act: enter},
			"union_declaration":    {act: enter},
			"enum_declaration":     {act: enter},
			"opaque_declaration":   {act: enter},
			// In a function that makes a type; others are not looked into.
			"block":                {act: enter},
			"expression_statement": {act: enter},
			"return_expression":    {act: enter},
		},
		calls:   []string{"@import", "@cInclude", "@embedFile"},
		called:  zigImport,
		fileDoc: rustFileDoc, // which is marked as in Rust
	}
}

// zigFunction tells functions that make a type, which holds functions of its own.
func zigFunction(n *sitter.Node, src []byte) found {
	body := child(n, "body")
	if body == nil {
		return found{}
	}
	f := found{act: define, kind: "function", name: text(child(n, "name"), src)}
	if text(child(n, "type"), src) == "type" {
		for i := range min(body.NamedChildCount(), 32) {
			s := body.NamedChild(i).NamedChild(0)
			if is(s, "return_expression") && is(s.NamedChild(0), "struct_declaration", "union_declaration", "enum_declaration") {
				f.act = holds
			}
		}
	}
	return f
}

func zigTest(n *sitter.Node, src []byte) found {
	name := "test"
	switch first := n.NamedChild(0); {
	case is(first, "string"):
		name += " " + quoted(line(first, src))
	case is(first, "identifier"):
		name += " " + text(first, src)
	}
	return found{act: define, kind: "function", name: name}
}

// zigContainer finds types that are the value of a name.
func zigContainer(n *sitter.Node, src []byte) found {
	name := n.NamedChild(0)
	if !is(name, "identifier") {
		return found{}
	}
	value := n.NamedChild(n.NamedChildCount() - 1)
	f := found{act: holds, name: text(name, src)}
	switch value.Kind() {
	case "struct_declaration", "union_declaration", "opaque_declaration":
		f.kind = "struct"
	case "enum_declaration":
		f.kind = "enum"
	case "error_set_declaration":
		f.act, f.kind = define, "enum"
	default:
		return found{}
	}
	return f
}

func zigImport(n *sitter.Node, src []byte) []string {
	args := n.NamedChild(1)
	if !is(args, "arguments") || !is(args.NamedChild(0), "string") {
		return nil
	}
	return []string{strings.Trim(text(args.NamedChild(0), src), `"`)}
}
