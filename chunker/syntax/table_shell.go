//go:build cgo

package syntax

import (
	"strings"

	sitter "github.com/tree-sitter/go-tree-sitter"
	grammar_bash "github.com/tree-sitter/tree-sitter-bash/bindings/go"
)

func shellTable() *table {
	return &table{
		language: func() *sitter.Language { return sitter.NewLanguage(grammar_bash.Language()) },
		leads:    "comment",
		opaque:   "heredoc_body",
		sep:      ".",
		rules: map[string]rule{
			"function_definition": {act: define, kind: "function"},
			"command":             {imports: true, inspect: batsTest},
			// Functions are defined, and files sourced, where a condition holds.
			"list":               {act: enter},
			"if_statement":       {act: enter},
			"elif_clause":        {act: enter},
			"else_clause":        {act: enter},
			"case_statement":     {act: enter},
			"case_item":          {act: enter},
			"compound_statement": {act: enter},
		},
		imports: shellImports,
	}
}

// batsTest finds a test of bats. To a shell it is a command, so that it reaches
// to what comes next.
func batsTest(n *sitter.Node, src []byte) found {
	if text(child(n, "name"), src) != "@test" {
		return found{}
	}
	return found{act: define, kind: "function", name: "test " + quoted(line(child(n, "argument"), src)), open: true}
}

// shellImports returns what a command sources, without its quotes.
func shellImports(n *sitter.Node, src []byte) []string {
	switch text(child(n, "name"), src) {
	case "source", ".":
		return []string{strings.Trim(line(child(n, "argument"), src), `"'`)}
	}
	return nil
}
