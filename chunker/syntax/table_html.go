//go:build cgo

package syntax

import (
	"cmp"
	"strings"

	sitter "github.com/tree-sitter/go-tree-sitter"
	grammar_html "github.com/tree-sitter/tree-sitter-html/bindings/go"

	"github.com/foldwatch/foldwatch/chunker/source"
)

func htmlTable() *table {
	return &table{
		language: func() *sitter.Language { return sitter.NewLanguage(grammar_html.Language()) },
		leads:    "comment",
		prose:    "text raw_text",
		sep:      " > ",
		rules: map[string]rule{
			"element":        {inspect: htmlElement},
			"script_element": {inspect: htmlScript},
			"style_element":  {inspect: htmlScript},
		},
		prepare:     func(src []byte) []byte { return maskExpressions(src, "{{") },
		fileImports: func(src []byte) []string { return source.ReadPage(src).Imports },
		fileDoc: func(_ *sitter.Node, src []byte) string {
			if title := source.ReadPage(src).Title; !strings.Contains(title, "{") { // else it is made when it is shown
				return source.Sentence(title)
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
	leastScript  = 3  // lines of a script or style that gets a chunk
	leastElement = 5  // lines of an element that gets a chunk
	longElement  = 24 // lines above which the elements in an element get chunks
)

// htmlElement finds headings, which reach to what comes next, and the elements
// that carry meaning. They are named by their heading, id or label.
func htmlElement(n *sitter.Node, src []byte) found {
	opening, _ := source.ReadTag(src[n.StartByte():n.EndByte()])
	tag := opening.Name
	if source.IsHeading(tag) {
		if name := source.InnerText(src[int(n.StartByte())+opening.Size:n.EndByte()], tag); name != "" {
			return found{act: define, kind: tag, name: name, open: true}
		}
		return found{act: enter}
	}
	id := opening.Attribute("id")
	lines := int(n.EndPosition().Row-n.StartPosition().Row) + 1
	if lines < leastElement || tag == "body" || !source.IsSection(tag) && (tag != "div" || id == "") ||
		tag == "template" && id == "" && !is(n.Parent(), "document") { // a part of a component's markup
		return found{act: enter}
	}
	f := found{act: define, kind: tag}
	f.name, f.titled = htmlTitle(n, src, 2)
	f.name = cmp.Or(f.name, id, strings.Join(strings.Fields(opening.Attribute("aria-label")), " "))
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
		tag, _ := source.ReadTag(src[c.StartByte():c.EndByte()])
		switch {
		case source.IsHeading(tag.Name):
			return source.InnerText(src[int(c.StartByte())+tag.Size:c.EndByte()], tag.Name), int(c.StartByte())
		case depth > 1 && (tag.Name == "div" || tag.Name == "header" || tag.Name == "hgroup"):
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
	tag, _ := source.ReadTag(src[n.StartByte():n.EndByte()])
	f := found{act: define, kind: tag.Name, name: cmp.Or(tag.Attribute("id"), tag.Name)}
	for i := range n.NamedChildCount() {
		if c := n.NamedChild(i); is(c, "raw_text") {
			f.lang, f.from, f.to = partLanguage(tag), int(c.StartByte()), int(c.EndByte())
		}
	}
	if lines := n.EndPosition().Row - n.StartPosition().Row + 1; lines < leastScript || f.to == 0 {
		return found{}
	} else if tag.Name == "style" && lines <= longElement {
		f.lang = ""
	}
	return f
}

// partLanguage returns the language that a script or style says it is written
// in, "" if that is none there is a table for.
func partLanguage(tag source.Tag) string {
	lang, kind := tag.Attribute("lang"), strings.ToLower(tag.Attribute("type"))
	switch {
	case tag.Name == "style" && (lang == "" || lang == "css" || lang == "postcss"):
		return "css"
	case tag.Name == "style":
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
