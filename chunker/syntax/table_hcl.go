//go:build cgo

package syntax

import (
	"strings"

	grammar_hcl "github.com/tree-sitter-grammars/tree-sitter-hcl/bindings/go"
	sitter "github.com/tree-sitter/go-tree-sitter"
)

func hclTable() *table {
	return &table{
		language: func() *sitter.Language { return sitter.NewLanguage(grammar_hcl.Language()) },
		leads:    "comment",
		opaque:   "quoted_template heredoc_template",
		sep:      ".",
		rules: map[string]rule{
			"body":  {act: enter},
			"block": {imports: true, inspect: hclBlock},
			"attribute": {data: true, inspect: func(n *sitter.Node, src []byte) found {
				return found{act: define, kind: "key", name: line(n.NamedChild(0), src)}
			}},
		},
		imports: hclModule,
	}
}

// hclBlock names a block by its type and labels: resource.aws_instance.api.
func hclBlock(n *sitter.Node, src []byte) found {
	var parts []string
	for i := range min(n.NamedChildCount(), 8) {
		c := n.NamedChild(i)
		if !is(c, "identifier", "string_lit") {
			break
		}
		parts = append(parts, strings.Trim(line(c, src), `"`))
	}
	return found{act: define, kind: "block", name: strings.Join(parts, ".")}
}

// hclModule returns where a module block takes its module from.
func hclModule(n *sitter.Node, src []byte) []string {
	if text(n.NamedChild(0), src) != "module" {
		return nil
	}
	for i := range min(n.NamedChildCount(), 8) {
		body := n.NamedChild(i)
		if !is(body, "body") {
			continue
		}
		for j := range min(body.NamedChildCount(), 64) {
			key, value, _ := strings.Cut(line(body.NamedChild(j), src), "=")
			if value = strings.TrimSpace(value); strings.TrimSpace(key) == "source" && strings.HasPrefix(value, `"`) {
				return []string{strings.Trim(value, `"`)}
			}
		}
	}
	return nil
}
