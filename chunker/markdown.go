package chunker

import (
	"bytes"
	"strings"

	"github.com/foldwatch/foldwatch/chunker/source"
)

// cutMarkdown cuts markdown at its headings. Code fences, HTML comments and
// indented code hide what looks like a heading.
func cutMarkdown(src []byte, opt Options) Result {
	p := &prose{src: src, lines: source.IndexLines(src)}
	p.scanMarkdown()
	return p.cut("markdown", "markdown", opt)
}

// scanMarkdown finds headings and paragraphs.
func (p *prose) scanMarkdown() {
	first := p.frontmatter()
	if first < len(p.lines.Starts) {
		p.body = p.lines.Starts[first]
	} else {
		p.body = len(p.src)
	}
	var fence fence
	comment := false
	para := -1 // line the running paragraph started on; -1 if none runs
	blank := true
	for i := first; i < len(p.lines.Starts); i++ {
		line := bytes.TrimRight(p.line(i), "\r\n")
		indent, text := indentation(line)
		switch {
		case fence.char != 0:
			if indent < 4 && fence.closes(text) {
				fence.char = 0
			}
			blank = false
			continue
		case comment:
			comment = !bytes.Contains(line, []byte("-->"))
			continue
		case len(text) == 0:
			blank, para = true, -1
			continue
		case indent >= 4 && para < 0:
			continue // indented code
		}
		if indent < 4 {
			if fence.opens(text) {
				if blank {
					p.addBreak(i)
				}
				para = -1
				continue
			}
			if bytes.HasPrefix(text, []byte("<!--")) {
				comment = !bytes.Contains(text[4:], []byte("-->"))
				para = -1
				continue
			}
			if level, title, ok := atxHeading(text); ok {
				p.headings = append(p.headings, heading{at: p.lines.Starts[i], level: level, text: title})
				para, blank = -1, true
				continue
			}
			if level := setextLevel(text); level > 0 && para >= 0 {
				p.headings = append(p.headings, heading{at: p.lines.Starts[para], level: level, text: p.paragraph(para, i)})
				if n := len(p.breaks); n > 0 && p.breaks[n-1].At == p.lines.Starts[para] {
					p.breaks = p.breaks[:n-1]
				}
				para, blank = -1, true
				continue
			}
		}
		if blank {
			p.addBreak(i)
		}
		if para < 0 && startsParagraph(text) {
			para = i
		} else if !startsParagraph(text) {
			para = -1
		}
		blank = false
	}
}

// frontmatter returns the number of lines of the YAML (---) or TOML (+++) block
// that begins the file, 0 if there is none or it does not end.
func (p *prose) frontmatter() int {
	head := bytes.TrimPrefix(p.line(0), []byte("\xef\xbb\xbf"))
	mark := strings.TrimRight(string(head[:min(len(head), 8)]), " \t\r\n")
	if mark != "---" && mark != "+++" {
		return 0
	}
	for i := 1; i < len(p.lines.Starts); i++ {
		line := p.line(i)
		if len(line) > 8 {
			continue
		}
		if got := strings.TrimRight(string(line), " \t\r\n"); got == mark || mark == "---" && got == "..." {
			return i + 1
		}
	}
	return 0
}

// A fence is an open code fence; char is 0 when none is open.
type fence struct {
	char byte
	size int
}

func (f *fence) opens(text []byte) bool {
	c := text[0]
	if c != '`' && c != '~' {
		return false
	}
	n := len(text) - len(bytes.TrimLeft(text, string(c)))
	if n < 3 || c == '`' && bytes.IndexByte(text[n:], '`') >= 0 {
		return false
	}
	f.char, f.size = c, n
	return true
}

func (f *fence) closes(text []byte) bool {
	rest := bytes.TrimLeft(text, string(f.char))
	return len(text)-len(rest) >= f.size && len(bytes.TrimSpace(rest)) == 0
}

func atxHeading(text []byte) (level int, title string, ok bool) {
	for level < len(text) && text[level] == '#' {
		level++
	}
	if level == 0 || level > 6 || level < len(text) && text[level] != ' ' && text[level] != '\t' {
		return 0, "", false
	}
	title = strings.TrimSpace(string(text[level:]))
	if bare := strings.TrimRight(title, "#"); bare == "" || strings.HasSuffix(bare, " ") || strings.HasSuffix(bare, "\t") {
		title = strings.TrimSpace(bare)
	}
	return level, strings.Join(strings.Fields(title), " "), true
}

// setextLevel returns 1 for a line of =, 2 for one of -, else 0.
func setextLevel(text []byte) int {
	text = bytes.TrimRight(text, " \t")
	for i, mark := range [...]string{"=", "-"} {
		if len(text) > 0 && len(bytes.Trim(text, mark)) == 0 {
			return i + 1
		}
	}
	return 0
}
