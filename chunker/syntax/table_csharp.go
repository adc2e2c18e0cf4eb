//go:build cgo

package syntax

import (
	"strings"

	sitter "github.com/tree-sitter/go-tree-sitter"
	grammar_csharp "github.com/tree-sitter/tree-sitter-c-sharp/bindings/go"
)

func csharpTable() *table {
	member := func(name func(n *sitter.Node, src []byte) string) rule {
		return rule{inspect: func(n *sitter.Node, src []byte) found {
			if !csharpBody(n) {
				return found{}
			}
			return found{act: define, kind: "method", name: name(n, src)}
		}}
	}
	ownName := func(n *sitter.Node, src []byte) string { return text(child(n, "name"), src) }
	return &table{
		language: func() *sitter.Language { return sitter.NewLanguage(grammar_csharp.Language()) },
		leads:    "comment",
		sep:      ".",
		rules: map[string]rule{
			"using_directive":                   {imports: true},
			"file_scoped_namespace_declaration": {act: pkg},
			"namespace_declaration": {act: pkg, inspect: func(n *sitter.Node, src []byte) found {
				return found{act: holds, kind: "module", name: line(child(n, "name"), src)}
			}},
			"class_declaration":        {act: holds, kind: "class"},
			"record_declaration":       {act: holds, kind: "class"},
			"struct_declaration":       {act: holds, kind: "struct"},
			"interface_declaration":    {act: holds, kind: "interface"},
			"enum_declaration":         {act: define, kind: "enum"},
			"delegate_declaration":     {act: define, kind: "type"},
			"declaration_list":         {act: enter},
			"method_declaration":       {act: define, kind: "method", body: "body"},
			"constructor_declaration":  {act: define, kind: "method", body: "body"},
			"destructor_declaration":   member(func(n *sitter.Node, src []byte) string { return "~" + ownName(n, src) }),
			"operator_declaration":     member(func(n *sitter.Node, src []byte) string { return "operator " + text(child(n, "operator"), src) }),
			"indexer_declaration":      member(func(*sitter.Node, []byte) string { return "this[]" }),
			"property_declaration":     member(ownName),
			"event_declaration":        member(ownName),
			"global_statement":         {act: enter}, // of a program without a class
			"local_function_statement": {act: define, kind: "function"},
			"preproc_if":               {act: enter},
			"preproc_elif":             {act: enter},
			"preproc_else":             {act: enter},
			"conversion_operator_declaration": member(func(n *sitter.Node, src []byte) string {
				return "operator " + line(child(n, "type"), src)
			}),
		},
		imports: func(n *sitter.Node, src []byte) []string {
			s := strings.TrimSpace(strings.TrimSuffix(line(n, src), ";"))
			for _, word := range [...]string{"global ", "using ", "static ", "unsafe "} {
				s = strings.TrimPrefix(s, word)
			}
			if _, name, ok := strings.Cut(s, "="); ok {
				s = strings.TrimSpace(name)
			}
			return []string{strings.TrimPrefix(s, "global::")}
		},
		pkg: func(n *sitter.Node, src []byte) string { return line(child(n, "name"), src) },
	}
}

// csharpBody reports whether a member has code of its own: { get; set; } is none.
func csharpBody(n *sitter.Node) bool {
	if child(n, "body") != nil || is(child(n, "value"), "arrow_expression_clause") {
		return true
	}
	accessors := child(n, "accessors")
	if accessors == nil {
		return false
	}
	for i := range accessors.NamedChildCount() {
		if child(accessors.NamedChild(i), "body") != nil {
			return true
		}
	}
	return false
}
