//go:build cgo

package chunker

import (
	"cmp"
	"strings"

	sitter "github.com/tree-sitter/go-tree-sitter"
	grammar_html "github.com/tree-sitter/tree-sitter-html/bindings/go"
)

func htmlTable() *table {
	return &table{
		language: func() *sitter.Language { return sitter.NewLanguage(grammar_html.Language()) },
		leads:    "comment",
		prose:    "text raw_text",
		sep:      " > ",
		rules: map[string]rule{
			"element":        {look: htmlElement},
			"script_element": {look: htmlScript},
			"style_element":  {look: htmlScript},
		},
		prepare:     func(src []byte) []byte { return maskExpressions(src, "{{") },
		fileImports: func(src []byte) []string { return scanHTML(src).imports },
		fileDoc: func(_ *sitter.Node, src []byte) string {
			if title := scanHTML(src).title; !strings.Contains(title, "{") { // else it is made when it is shown
				return sentence(title)
			}
			return ""
		},
	}
}

// svelteTable differs from that of pages and of Vue in what expressions look like.
func svelteTable() *table {
	t := htmlTable()
	t.prepare = func(src []byte) []byte { return maskExpressions(src, "{") }
	return t
}

const (
	leastElement = 5  // lines of an element that gets a chunk
	longElement  = 24 // lines above which the elements in an element get chunks
)

// htmlElement finds headings, which reach to what comes next, and the elements
// that carry meaning. They are named by their heading, id or label.
func htmlElement(n *sitter.Node, src []byte) found {
	tag, attrs, size := htmlTag(src[n.StartByte():n.EndByte()])
	if isHeading(tag) {
		if name := innerText(src[int(n.StartByte())+size:n.EndByte()], tag); name != "" {
			return found{act: define, kind: tag, name: name, open: true}
		}
		return found{act: enter}
	}
	id := attribute(attrs, "id")
	lines := int(n.EndPosition().Row-n.StartPosition().Row) + 1
	if lines < leastElement || tag == "body" || !isSection(tag) && (tag != "div" || id == "") ||
		tag == "template" && id == "" && !is(n.Parent(), "document") { // a part of a component's markup
		return found{act: enter}
	}
	f := found{act: define, kind: tag}
	f.name, f.titled = htmlTitle(n, src, 2)
	f.name = cmp.Or(f.name, id, strings.Join(strings.Fields(attribute(attrs, "aria-label")), " "))
	switch {
	case lines > longElement:
		f.act = holds
	case f.name == "" && !isLandmark(tag): // it belongs to what it stands in
		return found{act: enter}
	}
	f.name = cmp.Or(f.name, tag)
	return f
}

// isLandmark reports whether there is one element of a name, or few, on a page.
func isLandmark(tag string) bool {
	switch tag {
	case "head", "header", "footer", "main", "nav", "aside", "form", "template":
		return true
	}
	return false
}

// htmlTitle returns the text of the heading that an element begins with, and
// where it is: a child of one of the first, or of one of their first if depth
// is 2.
func htmlTitle(n *sitter.Node, src []byte, depth int) (string, int) {
	for i := range min(n.NamedChildCount(), 4) {
		c := n.NamedChild(i)
		if !is(c, "element") {
			continue
		}
		tag, _, size := htmlTag(src[c.StartByte():c.EndByte()])
		switch {
		case isHeading(tag):
			return innerText(src[int(c.StartByte())+size:c.EndByte()], tag), int(c.StartByte())
		case depth > 1 && (tag == "div" || tag == "header" || tag == "hgroup"):
			if name, at := htmlTitle(c, src, depth-1); name != "" {
				return name, at
			}
		}
	}
	return "", 0
}

// htmlScript finds scripts and styles that are written out, and says what they
// are written in.
func htmlScript(n *sitter.Node, src []byte) found {
	tag, attrs, _ := htmlTag(src[n.StartByte():n.EndByte()])
	f := found{act: define, kind: tag, name: cmp.Or(attribute(attrs, "id"), tag)}
	for i := range n.NamedChildCount() {
		if c := n.NamedChild(i); is(c, "raw_text") {
			f.lang, f.from, f.to = partLanguage(tag, attrs), int(c.StartByte()), int(c.EndByte())
		}
	}
	if lines := n.EndPosition().Row - n.StartPosition().Row + 1; lines < leastEntry || f.to == 0 {
		return found{}
	} else if tag == "style" && lines <= longElement {
		f.lang = ""
	}
	return f
}

// partLanguage returns the language that a script or style says it is written
// in, "" if that is none there is a table for.
func partLanguage(tag string, attrs []byte) string {
	lang, kind := attribute(attrs, "lang"), strings.ToLower(attribute(attrs, "type"))
	switch {
	case tag == "style" && (lang == "" || lang == "css" || lang == "postcss"):
		return "css"
	case tag == "style":
		return ""
	case lang == "ts", lang == "typescript":
		return "typescript"
	case lang == "tsx":
		return "tsx"
	case lang == "" && (kind == "" || kind == "module" || strings.HasSuffix(kind, "javascript") || kind == "text/babel"), lang == "js", lang == "jsx", lang == "javascript":
		return "javascript"
	}
	return ""
}
