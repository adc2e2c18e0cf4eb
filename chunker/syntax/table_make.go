//go:build cgo

package syntax

import (
	"strings"

	grammar_make "github.com/tree-sitter-grammars/tree-sitter-make/bindings/go"
	sitter "github.com/tree-sitter/go-tree-sitter"

	"github.com/foldwatch/foldwatch/chunker/source"
)

func makeTable() *table {
	return &table{
		language: func() *sitter.Language { return sitter.NewLanguage(grammar_make.Language()) },
		leads:    "comment",
		opaque:   "recipe_line shell_text",
		prose:    "raw_text",
		sep:      ".",
		rules: map[string]rule{
			"rule":                {inspect: makeRule},
			"recipe":              {act: enter},
			"conditional":         {act: enter},
			"else_directive":      {act: enter},
			"elsif_directive":     {act: enter},
			"define_directive":    {act: define, kind: "macro"},
			"variable_assignment": {inspect: makeVariable},
			"shell_assignment":    {inspect: makeVariable},
			"export_directive":    {inspect: makeVariable},
			"override_directive":  {inspect: makeVariable},
			"include_directive":   {imports: true},
		},
		imports: func(n *sitter.Node, src []byte) []string {
			var files []string
			for file := range strings.FieldsSeq(text(child(n, "filenames"), src)) {
				if !strings.ContainsAny(file, "$*?[") {
					files = append(files, file)
				}
			}
			return files
		},
		// .PHONY: clean stands before the target that it speaks of.
		leading: func(n *sitter.Node, src []byte) bool {
			return is(n, "rule") && strings.HasPrefix(text(n.NamedChild(0), src), ".PHONY") && !is(child(n, "target"), "recipe")
		},
	}
}

// makeRule names a rule by its targets. A conditional that follows it holds
// rules of its own, though the grammar takes it for a part of the recipe.
func makeRule(n *sitter.Node, src []byte) found {
	name := line(n.NamedChild(0), src)
	if name == "" || strings.HasPrefix(name, ".PHONY") {
		return found{}
	}
	f := found{act: precedes, kind: "rule", name: source.Truncate(name, 200)}
	f.end = int(n.StartByte()) + len(strings.TrimRight(text(n, src), " \t\r\n"))
	f.gather = !strings.Contains(string(src[n.StartByte():f.end]), "\n\t") // variables of one target, lines before its recipe
	for i := n.NamedChildCount(); i > 0; i-- {
		recipe := n.NamedChild(i - 1)
		if !is(recipe, "recipe") {
			continue
		}
		for j := range min(recipe.NamedChildCount(), 200) {
			if c := recipe.NamedChild(j); is(c, "conditional") && makesRules(c) {
				f.end = int(c.StartByte())
				return f
			}
		}
	}
	return f
}

// makesRules reports whether a conditional holds rules or variables and not
// lines of a recipe.
func makesRules(n *sitter.Node) bool {
	for i := range min(n.NamedChildCount(), 8) {
		if is(n.NamedChild(i), "rule", "variable_assignment", "define_directive", "include_directive") {
			return true
		}
	}
	return false
}

// makeVariable names an assignment, also one that is exported or overrides.
func makeVariable(n *sitter.Node, src []byte) found {
	f := found{act: define, kind: "key", gather: true}
	f.end = int(n.StartByte()) + len(strings.TrimRight(text(n, src), " \t\r\n"))
	if is(n, "export_directive", "override_directive") {
		n = n.NamedChild(0)
	}
	f.name = line(child(n, "name"), src)
	return f
}
