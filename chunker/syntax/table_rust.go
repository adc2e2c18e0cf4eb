//go:build cgo

package syntax

import (
	"strings"

	sitter "github.com/tree-sitter/go-tree-sitter"
	grammar_rust "github.com/tree-sitter/tree-sitter-rust/bindings/go"

	"github.com/foldwatch/foldwatch/chunker/source"
)

func rustTable() *table {
	return &table{
		language: func() *sitter.Language { return sitter.NewLanguage(grammar_rust.Language()) },
		leads:    "line_comment block_comment attribute_item",
		sep:      ".",
		rules: map[string]rule{
			"function_item":    {act: define, kind: "function", member: "method", body: "body"},
			"struct_item":      {act: define, kind: "struct"},
			"union_item":       {act: define, kind: "struct"},
			"enum_item":        {act: define, kind: "enum"},
			"type_item":        {act: define, kind: "type"},
			"macro_definition": {act: define, kind: "macro"},
			"trait_item":       {act: holds, kind: "trait"},
			"impl_item":        {inspect: rustImpl},
			"mod_item": {imports: true, inspect: func(n *sitter.Node, src []byte) found {
				if child(n, "body") == nil {
					return found{}
				}
				return found{act: holds, kind: "module", name: text(child(n, "name"), src)}
			}},
			"declaration_list":         {act: enter},
			"use_declaration":          {imports: true},
			"extern_crate_declaration": {imports: true},
		},
		imports: func(n *sitter.Node, src []byte) []string {
			switch n.Kind() {
			case "use_declaration":
				return []string{line(child(n, "argument"), src)}
			case "mod_item":
				if child(n, "body") == nil {
					return []string{"mod " + text(child(n, "name"), src)}
				}
				return nil
			}
			return []string{text(child(n, "name"), src)}
		},
		fileDoc: rustFileDoc,
	}
}

// rustImpl names an impl block by what it says; its members are named by the
// type alone.
func rustImpl(n *sitter.Node, src []byte) found {
	typ := bareType(line(child(n, "type"), src))
	if typ == "" {
		return found{}
	}
	name := "impl " + typ
	if trait := child(n, "trait"); trait != nil {
		name = "impl " + line(trait, src) + " for " + typ
	}
	return found{act: holds, kind: "impl", name: name, scope: typ}
}

// bareType strips references, paths and type parameters from a Rust type.
func bareType(t string) string {
	if i := strings.IndexByte(t, '<'); i > 0 {
		t = t[:i]
	}
	t = strings.TrimLeft(t, "&*")
	for _, word := range [...]string{"mut ", "dyn ", "const "} {
		t = strings.TrimPrefix(t, word)
	}
	return t[strings.LastIndexByte(t, ':')+1:]
}

const rustHead = 8 << 10 // bytes in which a file documents itself

// rustFileDoc returns the first sentence of the comments that begin with //! at
// the head of the file.
func rustFileDoc(_ *sitter.Node, src []byte) string {
	var doc strings.Builder
	for line := range strings.Lines(string(src[:min(len(src), rustHead)])) {
		t := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(t, "//!"):
			doc.WriteString(t + "\n")
		case t == "" && doc.Len() == 0, strings.HasPrefix(t, "//"), strings.HasPrefix(t, "#!["):
		case strings.HasPrefix(t, "/*!"):
			whole := string(src[strings.Index(string(src), "/*!"):])
			block, _, _ := strings.Cut(whole, "*/")
			return source.CommentDoc(block)
		default:
			return source.CommentDoc(doc.String())
		}
	}
	return source.CommentDoc(doc.String())
}
