//go:build cgo

package syntax

import (
	"strings"

	sitter "github.com/tree-sitter/go-tree-sitter"
	grammar_go "github.com/tree-sitter/tree-sitter-go/bindings/go"
)

func goTable() *table {
	typeSpec := func(n *sitter.Node, src []byte) found {
		kind := "type"
		switch t := child(n, "type"); {
		case is(t, "struct_type"):
			kind = "struct"
		case is(t, "interface_type"):
			kind = "interface"
		}
		return found{act: define, kind: kind, name: text(child(n, "name"), src)}
	}
	return &table{
		language: func() *sitter.Language { return sitter.NewLanguage(grammar_go.Language()) },
		leads:    "comment",
		sep:      ".",
		rules: map[string]rule{
			"package_clause":       {act: pkg},
			"import_declaration":   {act: enter},
			"import_spec_list":     {act: enter},
			"import_spec":          {imports: true},
			"function_declaration": {act: define, kind: "function"},
			"method_declaration": {inspect: func(n *sitter.Node, src []byte) found {
				return found{act: define, kind: "method", name: text(child(n, "name"), src), owner: goReceiver(child(n, "receiver"), src)}
			}},
			"type_declaration": {act: wrap},
			"type_spec":        {inspect: typeSpec},
			"type_alias":       {inspect: typeSpec},
		},
		imports: func(n *sitter.Node, src []byte) []string {
			return []string{quoted(text(child(n, "path"), src))}
		},
		pkg: func(n *sitter.Node, src []byte) string { return text(n.NamedChild(0), src) },
		fileDoc: func(root *sitter.Node, src []byte) string {
			return docBefore(root, src, "package_clause")
		},
	}
}

// goReceiver returns the name of the type of a method without star and type
// parameters.
func goReceiver(list *sitter.Node, src []byte) string {
	if list == nil {
		return ""
	}
	name := text(child(list.NamedChild(0), "type"), src)
	if i := strings.IndexByte(name, '['); i >= 0 {
		name = name[:i]
	}
	return strings.Trim(name, "*() \t\n")
}
