//go:build cgo

package syntax

import (
	"strings"

	sitter "github.com/tree-sitter/go-tree-sitter"
	grammar_java "github.com/tree-sitter/tree-sitter-java/bindings/go"
)

func javaTable() *table {
	return &table{
		language: func() *sitter.Language { return sitter.NewLanguage(grammar_java.Language()) },
		leads:    "line_comment block_comment",
		sep:      ".",
		rules: map[string]rule{
			"package_declaration":             {act: pkg},
			"import_declaration":              {imports: true},
			"class_declaration":               {act: holds, kind: "class"},
			"record_declaration":              {act: holds, kind: "class"},
			"interface_declaration":           {act: holds, kind: "interface"},
			"annotation_type_declaration":     {act: holds, kind: "interface"},
			"enum_declaration":                {act: holds, kind: "enum"},
			"class_body":                      {act: enter},
			"interface_body":                  {act: enter},
			"annotation_type_body":            {act: enter},
			"enum_body":                       {act: enter},
			"enum_body_declarations":          {act: enter},
			"method_declaration":              {act: define, kind: "method", body: "body"},
			"constructor_declaration":         {act: define, kind: "method"},
			"compact_constructor_declaration": {act: define, kind: "method"},
		},
		imports: func(n *sitter.Node, src []byte) []string {
			s := strings.TrimSuffix(strings.TrimPrefix(line(n, src), "import "), ";")
			return []string{strings.TrimPrefix(s, "static ")}
		},
		pkg: func(n *sitter.Node, src []byte) string {
			_, name, _ := strings.Cut(strings.TrimSuffix(line(n, src), ";"), "package ")
			return strings.TrimSpace(name)
		},
	}
}
