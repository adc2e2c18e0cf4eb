//go:build cgo

package syntax

import (
	"slices"
	"strings"

	sitter "github.com/tree-sitter/go-tree-sitter"
)

// A grammar is a table made ready: rules by the numbers the parser gives kinds.
type grammar struct {
	*table
	lang   *sitter.Language
	byID   []rule
	lead   []bool
	opaque []bool // tokens with parts, such as strings: never divided
	prosy  []bool // see table.prose
}

func load(t *table) *grammar {
	lang := t.language()
	n := int(lang.NodeKindCount())
	g := &grammar{table: t, lang: lang, byID: make([]rule, n), lead: make([]bool, n), opaque: make([]bool, n), prosy: make([]bool, n)}
	leads, opaque, prose := strings.Fields(t.leads), strings.Fields(t.opaque), strings.Fields(t.prose)
	for id := range n {
		// One kind may have several numbers.
		kind := lang.NodeKindForId(uint16(id))
		if !lang.NodeKindIsNamed(uint16(id)) {
			continue
		}
		g.byID[id] = t.rules[kind]
		for _, l := range leads {
			g.lead[id] = g.lead[id] || l == kind
		}
		g.prosy[id] = slices.Contains(prose, kind)
		g.opaque[id] = g.lead[id] || slices.Contains(opaque, kind) || strings.Contains(kind, "string") || strings.Contains(kind, "char_lit") || strings.Contains(kind, "regex") || strings.HasPrefix(kind, "jsx_text")
	}
	return g
}

// errorKind is the number tree-sitter gives to what it could not parse.
const errorKind = 65535

func (g *grammar) rule(kind uint16) rule {
	if int(kind) < len(g.byID) {
		return g.byID[kind]
	}
	if kind == errorKind {
		return rule{act: enter} // what is sound in it is found
	}
	return rule{}
}
