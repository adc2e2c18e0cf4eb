//go:build cgo

package syntax

import (
	"strings"

	sitter "github.com/tree-sitter/go-tree-sitter"
	grammar_php "github.com/tree-sitter/tree-sitter-php/bindings/go"
)

func phpTable() *table {
	return &table{
		language:  func() *sitter.Language { return sitter.NewLanguage(grammar_php.LanguagePHP()) },
		leads:     "comment",
		opaque:    "heredoc_body nowdoc_body",
		prose:     "text",
		sep:       `\`,
		methodSep: "::",
		rules: map[string]rule{
			"namespace_definition": {act: pkg, inspect: func(n *sitter.Node, src []byte) found {
				switch name := line(child(n, "name"), src); {
				case child(n, "body") == nil:
					return found{}
				case name == "":
					return found{act: enter}
				default:
					return found{act: holds, kind: "module", name: name}
				}
			}},
			"namespace_use_declaration": {imports: true},
			"function_definition":       {act: define, kind: "function"},
			"method_declaration":        {act: define, kind: "method", body: "body"},
			"class_declaration":         {act: holds, kind: "class"},
			"trait_declaration":         {act: holds, kind: "trait"},
			"interface_declaration":     {act: holds, kind: "interface"},
			"enum_declaration":          {act: holds, kind: "enum"},
			"declaration_list":          {act: enter},
			"enum_declaration_list":     {act: enter},
			// Functions are often defined where there are none yet.
			"if_statement":       {act: enter},
			"else_clause":        {act: enter},
			"compound_statement": {act: enter},
			"colon_block":        {act: enter},
			// What is given to a name, or returned by the file.
			"expression_statement":       {act: wrap},
			"return_statement":           {act: wrap},
			"assignment_expression":      {inspect: phpAssigned},
			"object_creation_expression": {act: enter},
			"anonymous_class":            {inspect: phpAnonymous},
		},
		imports: phpUses,
		calls:   []string{"require_once", "require", "include_once", "include"},
		called:  phpInclude,
		pkg:     func(n *sitter.Node, src []byte) string { return line(child(n, "name"), src) },
	}
}

// phpAssigned finds functions that are given to a variable, and looks for
// classes that are.
func phpAssigned(n *sitter.Node, src []byte) found {
	switch value := child(n, "right"); {
	case is(value, "anonymous_function", "arrow_function"):
		return found{act: define, kind: "function", name: line(child(n, "left"), src)}
	case is(value, "object_creation_expression"):
		return found{act: enter}
	}
	return found{}
}

// phpAnonymous names a class without a name by the variable it is given to, else
// as PHP does.
func phpAnonymous(n *sitter.Node, src []byte) found {
	name := "class@anonymous"
	if up := n.Parent().Parent(); is(up, "assignment_expression") {
		name = line(child(up, "left"), src)
	}
	return found{act: holds, kind: "class", name: name}
}

// phpUses opens use A\{B, C\D as E} into names. Functions and constants keep the
// word that tells them from classes.
func phpUses(n *sitter.Node, src []byte) []string {
	var out []string
	s := strings.TrimSuffix(strings.TrimPrefix(line(n, src), "use "), ";")
	kind := ""
	for _, word := range [...]string{"function ", "const "} {
		if rest, ok := strings.CutPrefix(s, word); ok {
			kind, s = word, rest
		}
	}
	prefix, group, grouped := strings.Cut(s, "{")
	if grouped {
		s, prefix = strings.TrimRight(group, " }"), strings.TrimSpace(prefix)
	} else {
		prefix = ""
	}
	for name := range strings.SplitSeq(s, ",") {
		name, _, _ = strings.Cut(strings.TrimSpace(name), " as ")
		if name = strings.TrimPrefix(strings.TrimSpace(name), `\`); name != "" {
			out = append(out, kind+strings.TrimPrefix(prefix, `\`)+name)
		}
	}
	return out
}

// phpInclude returns the path that is included. One put behind __DIR__ begins
// with a dot; of other expressions it is the last string in them.
func phpInclude(n *sitter.Node, src []byte) []string {
	if !strings.HasSuffix(n.Kind(), "_expression") || !strings.HasPrefix(n.Kind(), "require") && !strings.HasPrefix(n.Kind(), "include") {
		return nil
	}
	arg := n.NamedChild(0)
	for is(arg, "parenthesized_expression") {
		arg = arg.NamedChild(0)
	}
	last, here := arg, false
	if is(arg, "binary_expression") {
		left := line(child(arg, "left"), src)
		last, here = child(arg, "right"), left == "__DIR__" || left == "dirname(__FILE__)"
	}
	if !is(last, "string", "encapsed_string") || last.NamedChildCount() != 1 {
		return nil
	}
	path := stringContent(last, src)
	if here {
		return []string{"./" + strings.TrimLeft(path, "/")}
	}
	return []string{path}
}
