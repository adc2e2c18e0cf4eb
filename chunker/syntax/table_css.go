//go:build cgo

package syntax

import (
	"strings"

	sitter "github.com/tree-sitter/go-tree-sitter"
	grammar_css "github.com/tree-sitter/tree-sitter-css/bindings/go"

	"github.com/foldwatch/foldwatch/chunker/source"
)

func cssTable() *table {
	at := rule{inspect: cssAtRule}
	return &table{
		language: func() *sitter.Language { return sitter.NewLanguage(grammar_css.Language()) },
		leads:    "comment",
		sep:      " ",
		rules: map[string]rule{
			"import_statement":    {imports: true},
			"block":               {act: enter},
			"rule_set":            {inspect: cssRuleSet},
			"media_statement":     at,
			"supports_statement":  at,
			"scope_statement":     at,
			"keyframes_statement": {inspect: cssAtRule},
			"at_rule":             at,
		},
		imports: cssImport,
	}
}

const shortRule = 5 // lines below which a rule set shares a chunk with its neighbours

// cssRuleSet names a rule set by its selectors.
func cssRuleSet(n *sitter.Node, src []byte) found {
	return found{act: define, kind: "rule", name: cssHead(n, src), gather: n.EndPosition().Row-n.StartPosition().Row+1 < shortRule}
}

// cssAtRule names @media, @supports and the like by all that stands before
// their block, and looks into those that hold rule sets and are long.
func cssAtRule(n *sitter.Node, src []byte) found {
	f := found{act: define, kind: "rule", name: cssHead(n, src)}
	if lines := n.EndPosition().Row - n.StartPosition().Row + 1; lines > 2*shortRule && !is(n, "keyframes_statement") {
		f.act = holds
	}
	return f
}

// cssHead returns what stands before the block of a rule.
func cssHead(n *sitter.Node, src []byte) string {
	for i := range min(n.NamedChildCount(), 32) {
		if c := n.NamedChild(i); is(c, "block", "keyframe_block_list") {
			head := strings.Join(strings.Fields(string(src[n.StartByte():c.StartByte()])), " ")
			return source.Truncate(head, 200)
		}
	}
	return ""
}

// cssImport returns what @import names, which is a string or the argument of url.
func cssImport(n *sitter.Node, src []byte) []string {
	what := text(n.NamedChild(0), src)
	if rest, ok := strings.CutPrefix(what, "url("); ok {
		what = strings.TrimSuffix(rest, ")")
	}
	return []string{quoted(strings.TrimSpace(what))}
}
