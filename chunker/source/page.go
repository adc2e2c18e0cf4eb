package source

import (
	"bytes"
	entity "html"
	"strings"
)

// A Page is what the tags of a page say.
type Page struct {
	Marks   []Mark   // in order
	Imports []string // src of scripts, href of style sheets; may hold empty ones
	Title   string
}

// A Mark is an opening tag that carries meaning.
type Mark struct {
	At   int // byte
	Tag  string
	Name string // the text of a heading, the id of others
}

// ReadPage reads the tags of a page, and nothing of what lies in what.
func ReadPage(src []byte) Page {
	var page Page
	unclosed := make(map[string]bool) // not looked for again, or it costs the square
	for at := 0; at < len(src); {
		i := bytes.IndexByte(src[at:], '<')
		if i < 0 {
			break
		}
		at += i
		rest := src[at:]
		if bytes.HasPrefix(rest, []byte("<!--")) {
			end := bytes.Index(rest[4:], []byte("-->"))
			if end < 0 {
				break
			}
			at += 4 + end + 3
			continue
		}
		tag, ok := ReadTag(rest)
		if !ok {
			at++
			continue
		}
		page.add(at, tag, rest[tag.Size:])
		at += tag.Size
		switch tag.Name { // their content is no markup
		case "script", "style", "textarea", "title":
			if unclosed[tag.Name] {
				break
			}
			if end := indexClose(src[at:], tag.Name); end >= 0 {
				at += end
			} else {
				unclosed[tag.Name] = true
			}
		}
	}
	return page
}

// add notes what the tag at the byte at says, which content follows.
func (p *Page) add(at int, tag Tag, content []byte) {
	m := Mark{At: at, Tag: tag.Name}
	switch {
	case IsHeading(tag.Name):
		m.Name = InnerText(content, tag.Name)
		p.Marks = append(p.Marks, m)
	case IsSection(tag.Name):
		m.Name = tag.Attribute("id")
		p.Marks = append(p.Marks, m)
	case tag.Name == "script":
		p.Imports = append(p.Imports, tag.Attribute("src"))
		p.Marks = append(p.Marks, m)
	case tag.Name == "style":
		p.Marks = append(p.Marks, m)
	case tag.Name == "link" && strings.Contains(tag.Attribute("rel"), "stylesheet"):
		p.Imports = append(p.Imports, tag.Attribute("href"))
	case tag.Name == "title" && p.Title == "":
		p.Title = InnerText(content, tag.Name)
	}
}

// IsSection reports whether elements of a name carry a meaning of their own.
func IsSection(name string) bool {
	switch name {
	case "section", "article", "main", "nav", "header", "footer", "aside", "form", "table", "body", "head", "template", "dialog", "figure", "fieldset":
		return true
	}
	return false
}

func IsHeading(kind string) bool {
	return len(kind) == 2 && kind[0] == 'h' && kind[1] >= '1' && kind[1] <= '6'
}

// A Tag is an opening tag.
type Tag struct {
	Name  string // lower case
	Size  int    // bytes, with both brackets
	attrs []byte // as written
}

// maxTag is how many bytes of a tag are read: without a bound, a file of
// unclosed tags costs the square of its size.
const maxTag = 1 << 10

// ReadTag reads the opening tag that b begins with. It returns false if b begins
// with something else.
func ReadTag(b []byte) (Tag, bool) {
	i := 1
	for i < len(b) && i < 32 && (b[i]|0x20 >= 'a' && b[i]|0x20 <= 'z' || i > 1 && b[i] >= '0' && b[i] <= '9') {
		i++
	}
	if i == 1 || i >= len(b) {
		return Tag{}, false
	}
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
			return Tag{Name: strings.ToLower(string(b[1:i])), Size: j + 1, attrs: b[i:j]}, true
		}
	}
	return Tag{}, false
}

// Attribute returns the value of the attribute called name, "" if there is none.
func (t Tag) Attribute(name string) string {
	attrs := t.attrs
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

// InnerText returns the words of content up to the closing tag called name, 200 bytes at most.
func InnerText(content []byte, name string) string {
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
	return Truncate(text, 200)
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
