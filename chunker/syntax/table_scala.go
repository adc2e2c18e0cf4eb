//go:build cgo

package syntax

import (
	"strings"
	"unicode"

	sitter "github.com/tree-sitter/go-tree-sitter"
	grammar_scala "github.com/tree-sitter/tree-sitter-scala/bindings/go"
)

func scalaTable() *table {
	return &table{
		language: func() *sitter.Language { return sitter.NewLanguage(grammar_scala.Language()) },
		leads:    "comment block_comment",
		sep:      ".",
		indented: true,
		rules: map[string]rule{
			"package_clause": {act: pkg, inspect: func(n *sitter.Node, src []byte) found {
				if child(n, "body") == nil {
					return found{}
				}
				return found{act: holds, kind: "module", name: line(child(n, "name"), src)}
			}},
			"import_declaration":   {imports: true},
			"class_definition":     {act: holds, kind: "class"},
			"object_definition":    {act: holds, kind: "class"},
			"trait_definition":     {act: holds, kind: "trait"},
			"enum_definition":      {act: holds, kind: "enum"},
			"package_object":       {act: holds, kind: "module"},
			"given_definition":     {inspect: scalaGiven},
			"extension_definition": {inspect: scalaExtension},
			"template_body":        {act: enter},
			"with_template_body":   {act: enter},
			"enum_body":            {act: enter},
			"type_definition":      {act: define, kind: "type"},
			"function_definition":  {act: define, kind: "function", member: "method"},
			"val_definition":       {inspect: scalaValue, member: "method"},
		},
		imports: scalaImports,
		pkg:     scalaPackage,
	}
}

// scalaPackage joins the clauses that follow one another.
func scalaPackage(n *sitter.Node, src []byte) string {
	var parts []string
	for ; is(n, "package_clause"); n = n.NextNamedSibling() {
		parts = append(parts, line(child(n, "name"), src))
		if child(n, "body") != nil {
			break
		}
	}
	return strings.Join(parts, ".")
}

// scalaGiven names an instance without a name as the compiler does: of Ord[Int]
// it is given_Ord_Int.
func scalaGiven(n *sitter.Node, src []byte) found {
	f := found{act: holds, kind: "impl", name: text(child(n, "name"), src)}
	if f.name == "" {
		words := strings.FieldsFunc(line(child(n, "return_type"), src), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		f.name = strings.Join(append([]string{"given"}, words...), "_")
	}
	return f
}

// scalaExtension names methods by the type that they extend.
func scalaExtension(n *sitter.Node, src []byte) found {
	params := child(n, "parameters")
	if params == nil {
		return found{act: enter}
	}
	typ, _, _ := strings.Cut(line(child(params.NamedChild(0), "type"), src), "[")
	if typ == "" {
		return found{act: enter}
	}
	return found{act: holds, kind: "impl", name: "extension " + typ, scope: typ}
}

// scalaValue finds functions and instances that are the value of a name.
func scalaValue(n *sitter.Node, src []byte) found {
	name, value := child(n, "pattern"), child(n, "value")
	if !is(name, "identifier") || value == nil {
		return found{}
	}
	f := found{act: define, kind: "function", name: text(name, src)}
	switch {
	case is(value, "lambda_expression"), is(value, "block") && is(value.NamedChild(0), "lambda_expression"):
		return f
	case is(value, "instance_expression") && is(value.NamedChild(value.NamedChildCount()-1), "template_body"):
		f.kind = "impl"
		return f
	}
	return found{}
}

// scalaImports opens import a.{B, C => D, _} into names. What takes all of a
// package is the package with ._, whatever version of the language it is.
func scalaImports(n *sitter.Node, src []byte) []string {
	s := strings.TrimPrefix(line(n, src), "import ")
	var out []string
	for s != "" {
		var prefix, names string
		open, comma := strings.IndexByte(s, '{'), strings.IndexByte(s, ',')
		switch {
		case open >= 0 && (comma < 0 || open < comma):
			prefix = strings.TrimSpace(s[:open])
			names, s, _ = strings.Cut(s[open+1:], "}")
			s = strings.TrimLeft(s, " ,")
		default:
			names, s, _ = strings.Cut(s, ",")
		}
		for name := range strings.SplitSeq(names, ",") {
			name = strings.TrimSpace(name)
			for _, as := range [...]string{"=>", " as "} {
				name, _, _ = strings.Cut(name, as)
			}
			if name = prefix + strings.TrimSpace(name); name != "" {
				for _, all := range [...]string{".*", ".given"} {
					if from, ok := strings.CutSuffix(name, all); ok {
						name = from + "._"
					}
				}
				out = append(out, name)
			}
		}
		s = strings.TrimSpace(s)
	}
	return out
}
