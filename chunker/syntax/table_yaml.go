//go:build cgo

package syntax

import (
	"strings"

	grammar_yaml "github.com/tree-sitter-grammars/tree-sitter-yaml/bindings/go"
	sitter "github.com/tree-sitter/go-tree-sitter"

	"github.com/foldwatch/foldwatch/chunker/source"
)

func yamlTable() *table {
	return &table{
		language: func() *sitter.Language { return sitter.NewLanguage(grammar_yaml.Language()) },
		leads:    "comment",
		opaque:   "block_scalar plain_scalar double_quote_scalar single_quote_scalar",
		prose:    "block_scalar", // another file in this one
		sep:      ".",
		crowds:   true,
		indented: true,
		rules: map[string]rule{
			"document":            {inspect: yamlDocument},
			"block_node":          {act: enter},
			"block_mapping":       {act: enter},
			"block_sequence":      {act: enter},
			"block_sequence_item": {data: true, inspect: yamlItem},
			"block_mapping_pair": {data: true, inspect: func(n *sitter.Node, src []byte) found {
				return found{act: define, kind: "key", name: entryName(child(n, "key"), src)}
			}},
		},
		docstring: yamlDoc,
	}
}

const longDocument = 60 // lines of a named document above which its keys get chunks

// yamlDocument names a document that says its kind and name, as those of
// Kubernetes do: Deployment/api. Others are known by their keys.
func yamlDocument(n *sitter.Node, src []byte) found {
	f := found{act: enter}
	var mapping *sitter.Node
	for i := range min(n.NamedChildCount(), 16) { // directives and comments come first
		if c := n.NamedChild(i); is(c, "block_node") {
			for j := range min(c.NamedChildCount(), 4) {
				if m := c.NamedChild(j); is(m, "block_mapping") {
					mapping = m
				}
			}
		}
	}
	kind, name := "", ""
	for i, pair := range entriesOf(mapping) {
		switch key := entryName(child(pair, "key"), src); {
		case i >= 16 || kind != "" && name != "":
		case key == "kind":
			kind = entryName(child(pair, "value"), src)
		case key == "metadata":
			value := child(pair, "value")
			if value == nil || value.NamedChildCount() == 0 {
				continue
			}
			for _, inner := range entriesOf(value.NamedChild(value.NamedChildCount() - 1)) {
				if entryName(child(inner, "key"), src) == "name" {
					name = entryName(child(inner, "value"), src)
					break
				}
			}
		}
	}
	if kind == "" || name == "" {
		return f
	}
	f.kind, f.name, f.act = "document", kind+"/"+name, define
	if n.EndPosition().Row-n.StartPosition().Row > longDocument {
		f.act = holds
	}
	return f
}

// yamlItem names an item of a list that says its name first, as plays, tasks
// and steps do.
func yamlItem(n *sitter.Node, src []byte) found {
	node := n.NamedChild(0)
	if node == nil || node.NamedChildCount() == 0 {
		return found{}
	}
	for i, pair := range entriesOf(node.NamedChild(node.NamedChildCount() - 1)) {
		if key := entryName(child(pair, "key"), src); i < 3 && (key == "name" || key == "id") {
			return found{act: define, kind: "key", name: entryName(child(pair, "value"), src)}
		}
	}
	return found{}
}

// entriesOf returns the first entries of a mapping, which may be nil.
func entriesOf(mapping *sitter.Node) []*sitter.Node {
	if !is(mapping, "block_mapping", "flow_mapping") {
		return nil
	}
	var pairs []*sitter.Node
	for i := range min(mapping.NamedChildCount(), 32) {
		if c := mapping.NamedChild(i); is(c, "block_mapping_pair", "flow_pair") {
			pairs = append(pairs, c)
		}
	}
	return pairs
}

// yamlDoc returns the comment that a document begins with.
func yamlDoc(n *sitter.Node, src []byte) string {
	if !is(n, "document") {
		return ""
	}
	var b strings.Builder
	for i := range min(n.NamedChildCount(), 16) {
		c := n.NamedChild(i)
		if !is(c, "comment") {
			break
		}
		b.WriteString(text(c, src))
		b.WriteByte('\n')
	}
	if comment := b.String(); !source.IsLicence(comment) {
		return comment
	}
	return ""
}
