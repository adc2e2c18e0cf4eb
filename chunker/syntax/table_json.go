//go:build cgo

package syntax

import (
	sitter "github.com/tree-sitter/go-tree-sitter"
	grammar_json "github.com/tree-sitter/tree-sitter-json/bindings/go"
)

func jsonTable() *table {
	return &table{
		language: func() *sitter.Language { return sitter.NewLanguage(grammar_json.Language()) },
		leads:    "comment",
		sep:      ".",
		crowds:   true,
		rules: map[string]rule{
			"object": {act: enter},
			"pair": {data: true, inspect: func(n *sitter.Node, src []byte) found {
				return found{act: define, kind: "key", name: entryName(child(n, "key"), src)}
			}},
		},
		fileDoc: func(*sitter.Node, []byte) string { return "" },
	}
}
