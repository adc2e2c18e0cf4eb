//go:build cgo

package syntax

import (
	"maps"

	sitter "github.com/tree-sitter/go-tree-sitter"
	grammar_typescript "github.com/tree-sitter/tree-sitter-typescript/bindings/go"
)

func typescriptTable() *table {
	t := javascriptTable()
	t.language = func() *sitter.Language { return sitter.NewLanguage(grammar_typescript.LanguageTypescript()) }
	module := rule{inspect: func(n *sitter.Node, src []byte) found {
		if child(n, "body") == nil {
			return found{}
		}
		return found{act: holds, kind: "module", name: quoted(text(child(n, "name"), src))}
	}}
	maps.Copy(t.rules, map[string]rule{
		"interface_declaration":      {act: define, kind: "interface"},
		"type_alias_declaration":     {act: define, kind: "type"},
		"enum_declaration":           {act: define, kind: "enum"},
		"abstract_class_declaration": {act: holds, kind: "class"},
		"public_field_definition":    {inspect: valueNamed("name"), member: "method"},
		"ambient_declaration":        {act: wrap},
		"internal_module":            module,
		"module":                     module,
		"statement_block":            {inspect: moduleBody},
	})
	return t
}

func tsxTable() *table {
	t := typescriptTable()
	t.language = func() *sitter.Language { return sitter.NewLanguage(grammar_typescript.LanguageTSX()) }
	return t
}

// moduleBody looks into the block of a namespace whatever its length.
func moduleBody(n *sitter.Node, _ []byte) found {
	if is(n.Parent(), "internal_module", "module", "ambient_declaration") {
		return found{act: enter}
	}
	return found{act: enterLong}
}
