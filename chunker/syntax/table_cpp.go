//go:build cgo

package syntax

import (
	"maps"

	sitter "github.com/tree-sitter/go-tree-sitter"
	grammar_cpp "github.com/tree-sitter/tree-sitter-cpp/bindings/go"
)

func cppTable() *table {
	t := cTable()
	t.language = func() *sitter.Language { return sitter.NewLanguage(grammar_cpp.Language()) }
	class := func(kind string) rule {
		return rule{inspect: func(n *sitter.Node, src []byte) found { return cSpecifier(n, src, kind, holds) }}
	}
	function := t.rules["function_definition"]
	function.member = "method"
	maps.Copy(t.rules, map[string]rule{
		"function_definition": function,
		"class_specifier":     class("class"),
		"struct_specifier":    class("struct"),
		"union_specifier":     class("struct"),
		"namespace_definition": {inspect: func(n *sitter.Node, src []byte) found {
			name := line(child(n, "name"), src)
			if name == "" {
				return found{act: enter} // what is in it is known by its own name
			}
			return found{act: holds, kind: "module", name: name}
		}},
		"template_declaration":   {act: wrap},
		"alias_declaration":      {act: define, kind: "type"},
		"concept_definition":     {act: define, kind: "type"},
		"field_declaration_list": {act: enter},
		"field_declaration":      {act: wrap},
		"friend_declaration":     {act: wrap},
	})
	return t
}
