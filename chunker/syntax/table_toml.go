//go:build cgo

package syntax

import (
	"strings"

	grammar_toml "github.com/tree-sitter-grammars/tree-sitter-toml/bindings/go"
	sitter "github.com/tree-sitter/go-tree-sitter"
)

func tomlTable() *table {
	return &table{
		language: func() *sitter.Language { return sitter.NewLanguage(grammar_toml.Language()) },
		leads:    "comment",
		sep:      ".",
		rules: map[string]rule{
			"table":               {inspect: tomlSection},
			"table_array_element": {inspect: tomlSection},
		},
	}
}

// tomlSection names a table by its header, and one of an array also by what it
// says its name is: bin.shop. It ends before the comment of the next table,
// which the grammar takes for its own.
func tomlSection(n *sitter.Node, src []byte) found {
	f := found{act: precedes, kind: "key", name: line(n.NamedChild(0), src)}
	for i := n.NamedChildCount(); i > 0; i-- {
		if c := n.NamedChild(i - 1); !is(c, "comment") {
			f.end = int(c.EndByte())
			break
		}
	}
	if is(n, "table_array_element") {
		if key, value, ok := strings.Cut(line(n.NamedChild(1), src), "="); ok && strings.TrimSpace(key) == "name" {
			if value = strings.Trim(strings.TrimSpace(value), `"'`); value != "" && len(value) < 100 {
				f.name += "." + value
			}
		}
	}
	return f
}
