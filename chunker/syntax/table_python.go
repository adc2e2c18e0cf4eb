//go:build cgo

package syntax

import (
	sitter "github.com/tree-sitter/go-tree-sitter"
	grammar_python "github.com/tree-sitter/tree-sitter-python/bindings/go"

	"github.com/foldwatch/foldwatch/chunker/source"
)

func pythonTable() *table {
	return &table{
		language: func() *sitter.Language { return sitter.NewLanguage(grammar_python.Language()) },
		leads:    "comment",
		sep:      ".",
		rules: map[string]rule{
			"function_definition":   {act: define, kind: "function", member: "method"},
			"class_definition":      {act: holds, kind: "class"},
			"decorated_definition":  {act: wrap},
			"block":                 {act: enter},
			"if_statement":          {act: enter},
			"elif_clause":           {act: enter},
			"else_clause":           {act: enter},
			"try_statement":         {act: enter},
			"except_clause":         {act: enter},
			"finally_clause":        {act: enter},
			"with_statement":        {act: enter},
			"import_statement":      {imports: true},
			"import_from_statement": {imports: true},
		},
		imports: pythonImports,
		docstring: func(n *sitter.Node, src []byte) string {
			if body := child(n, "body"); body != nil {
				return firstString(body, src)
			}
			return ""
		},
		fileDoc: func(root *sitter.Node, src []byte) string { return source.CommentDoc(firstString(root, src)) },
	}
}

// pythonImports returns module names as written: a.b, .sibling, ..parent. What
// is taken from a package given by dots alone may be a module: from . import x
// gives . and .x.
func pythonImports(n *sitter.Node, src []byte) []string {
	c := n.Walk()
	defer c.Close()
	var names []string
	for _, m := range n.ChildrenByFieldName("name", c) {
		if is(&m, "aliased_import") {
			names = append(names, text(child(&m, "name"), src))
		} else {
			names = append(names, text(&m, src))
		}
	}
	module := child(n, "module_name")
	if module == nil {
		return names
	}
	from := text(module, src)
	out := []string{from}
	if last := from[max(0, len(from)-1):]; last == "." {
		for _, name := range names {
			out = append(out, from+name)
		}
	}
	return out
}

// firstString returns the string that is the first statement of n, with quotes.
func firstString(n *sitter.Node, src []byte) string {
	for i := range min(n.NamedChildCount(), 8) {
		s := n.NamedChild(i)
		if is(s, "comment") {
			continue
		}
		if is(s, "expression_statement") {
			s = s.NamedChild(0)
		}
		if !is(s, "string") {
			return ""
		}
		return stringContent(s, src)
	}
	return ""
}
