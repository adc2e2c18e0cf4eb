//go:build cgo

package chunker

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
			"pair": {data: true, look: func(n *sitter.Node, src []byte) found {
				return found{act: define, kind: "key", name: entryName(child(n, "key"), src)}
			}},
		},
		fileDoc: func(*sitter.Node, []byte) string { return "" },
	}
}

// entryName returns the key of an entry of data without its quotes.
func entryName(key *sitter.Node, src []byte) string {
	name := line(key, src)
	if n := len(name); n >= 2 && (name[0] == '"' || name[0] == '\'') && name[n-1] == name[0] {
		name = name[1 : n-1]
	}
	return name[:runeStart([]byte(name), min(len(name), 200))]
}
