package chunker

import (
	"bytes"
	"cmp"
	entity "html"
	"strings"
)

// cutHTML cuts before the tags that carry meaning: headings, sections, articles
// and the like, forms, tables, templates, scripts and styles. It reads tags
// only and knows nothing of what lies in what: it is for builds without parsers
// and for pages that are too long for one.
func cutHTML(lang string, src []byte, opt Options) Result {
	lines := indexLines(src)
	h := scanHTML(src)
	pieces := merge(h.pieces(lines), src, lines, opt.MinLines, opt.MaxLines)
	pieces = splitByLines(pieces, src, lines, opt.LineSize*2)
	return Result{
		Language: lang, Strategy: "html", Chunks: finish(pieces, lang, src, lines),
		Imports: unique(h.imports), Doc: sentence(h.title),
	}
}

// maxTag is how many bytes of a tag are read: without a bound, a file of
// unclosed tags costs the square of its size.
const maxTag = 1 << 10

// An html is what the tags of a page say.
type html struct {
	src     []byte
	marks   []htmlMark
	imports []string // src of scripts, href of style sheets
	title   string
	open    map[string]bool // names that are not closed any more: not looked for again
}

type htmlMark struct {
	at         int
	kind, name string
}

// scanHTML reads the tags of a page.
func scanHTML(src []byte) *html {
	h := &html{src: src, open: make(map[string]bool)}
	h.scan()
	return h
}

func (h *html) scan() {
	for at := 0; at < len(h.src); {
		i := bytes.IndexByte(h.src[at:], '<')
		if i < 0 {
			return
		}
		at += i
		rest := h.src[at:]
		if bytes.HasPrefix(rest, []byte("<!--")) {
			end := bytes.Index(rest[4:], []byte("-->"))
			if end < 0 {
				return
			}
			at += 4 + end + 3
			continue
		}
		name, attrs, size := htmlTag(rest)
		if size == 0 {
			at++
			continue
		}
		h.tag(at, name, attrs, rest[size:])
		at += size
		switch name { // their content is no markup
		case "script", "style", "textarea", "title":
			if h.open[name] {
				break
			}
			if end := indexClose(h.src[at:], name); end >= 0 {
				at += end
			} else {
				h.open[name] = true
			}
		}
	}
}

func (h *html) tag(at int, name string, attrs, content []byte) {
	switch {
	case isHeading(name):
		h.marks = append(h.marks, htmlMark{at: at, kind: name, name: innerText(content, name)})
	case isSection(name):
		h.marks = append(h.marks, htmlMark{at: at, kind: name, name: attribute(attrs, "id")})
	}
	switch name {
	case "script":
		h.imports = append(h.imports, attribute(attrs, "src"))
		h.marks = append(h.marks, htmlMark{at: at, kind: name})
	case "style":
		h.marks = append(h.marks, htmlMark{at: at, kind: name})
	case "link":
		if strings.Contains(attribute(attrs, "rel"), "stylesheet") {
			h.imports = append(h.imports, attribute(attrs, "href"))
		}
	case "title":
		if h.title == "" {
			h.title = innerText(content, name)
		}
	}
}

// pieces makes each mark the start of a piece. A section takes the heading that
// follows at once in, and its text as name.
func (h *html) pieces(lines *lineIndex) []piece {
	out := []piece{{end: len(h.src), kind: "lines"}}
	for i := 0; i < len(h.marks); i++ {
		m := h.marks[i]
		start := m.at
		if first := lines.start(start); len(bytes.TrimSpace(h.src[first:start])) == 0 {
			start = first
		}
		last := &out[len(out)-1]
		if isHeading(m.kind) && !isHeading(last.kind) && last.kind != "lines" && last.kind != "head" && lines.lines(last.start, start) <= 3 {
			last.name = cmp.Or(m.name, last.name)
			continue
		}
		if start <= last.start {
			continue
		}
		last.end = start
		out = append(out, piece{start: start, end: len(h.src), kind: m.kind, name: m.name})
	}
	return out
}

// isSection reports whether elements of a name carry a meaning of their own.
func isSection(name string) bool {
	switch name {
	case "section", "article", "main", "nav", "header", "footer", "aside", "form", "table", "body", "head", "template", "dialog", "figure", "fieldset":
		return true
	}
	return false
}

func isHeading(kind string) bool {
	return len(kind) == 2 && kind[0] == 'h' && kind[1] >= '1' && kind[1] <= '6'
}

// htmlTag reads the opening tag that b begins with: its lower-case name, its
// attributes, and its length, 0 if there is none.
func htmlTag(b []byte) (name string, attrs []byte, size int) {
	i := 1
	for i < len(b) && i < 32 && (b[i]|0x20 >= 'a' && b[i]|0x20 <= 'z' || i > 1 && b[i] >= '0' && b[i] <= '9') {
		i++
	}
	if i == 1 || i == len(b) {
		return "", nil, 0
	}
	name = strings.ToLower(string(b[1:i]))
	var quote byte
	for j := i; j < len(b) && j < maxTag; j++ {
		switch c := b[j]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return name, b[i:j], j + 1
		}
	}
	return "", nil, 0
}

// attribute returns the value of the attribute called name, "" if there is none.
func attribute(attrs []byte, name string) string {
	for i := 0; i < len(attrs); {
		n := bytes.Index(attrs[i:], []byte(name+"="))
		if n < 0 {
			return ""
		}
		i += n
		if i > 0 && !bytes.ContainsRune([]byte(" \t\r\n\"'"), rune(attrs[i-1])) {
			i += len(name)
			continue
		}
		value := attrs[i+len(name)+1:]
		if len(value) > 0 && (value[0] == '"' || value[0] == '\'') {
			if end := bytes.IndexByte(value[1:], value[0]); end >= 0 {
				return string(value[1 : 1+end])
			}
			return ""
		}
		if end := bytes.IndexAny(value, " \t\r\n"); end >= 0 {
			value = value[:end]
		}
		return string(value)
	}
	return ""
}

// innerText returns the words up to the closing tag called name, 200 bytes at most.
func innerText(content []byte, name string) string {
	content = content[:min(len(content), 2<<10)]
	if end := indexClose(content, name); end >= 0 {
		content = content[:end]
	}
	var b strings.Builder
	inTag := false
	for _, c := range content {
		switch {
		case c == '<':
			inTag = true
		case c == '>' && inTag:
			inTag = false
			b.WriteByte(' ')
		case !inTag:
			b.WriteByte(c)
		}
	}
	text := strings.ToValidUTF8(strings.Join(strings.Fields(entity.UnescapeString(b.String())), " "), "")
	return text[:runeStart([]byte(text), min(len(text), 200))]
}

// indexClose returns where the closing tag called name begins, -1 if nowhere.
func indexClose(b []byte, name string) int {
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte("</"))
		if i < 0 {
			return -1
		}
		at += i
		if len(b) >= at+2+len(name) && strings.EqualFold(string(b[at+2:at+2+len(name)]), name) {
			return at
		}
		at += 2
	}
}
