package chunker

import (
	"bytes"
	"strconv"
	"strings"
)

// cutMarkdown cuts at headings. Frontmatter and what lies before the first
// heading are chunks of their own; a section's name is the path of headings
// that leads to it, as in "Guide > Install". Code fences, HTML comments and
// indented code hide what looks like a heading.
func cutMarkdown(src []byte, opt Options) Result {
	lines := indexLines(src)
	m := &markdown{src: src, lines: lines}
	m.scan()
	pieces := merge(m.pieces(), src, lines, opt.MinLines, opt.MaxLines)
	pieces = split(pieces, lines, opt.MaxLines, m.cuts)
	pieces = splitByLines(pieces, src, lines, opt.MaxLines*5/4)
	return Result{
		Language: "markdown", Strategy: "markdown",
		Chunks: finish(pieces, "markdown", src, lines), Doc: m.doc,
	}
}

// markdown scans a file line by line.
type markdown struct {
	src   []byte
	lines *lineIndex

	body     int // first byte after the frontmatter
	headings []heading
	breaks   []int  // starts of paragraphs outside fences
	doc      string // first sentence of the first paragraph
}

type heading struct {
	at, level int
	text      string
}

func (m *markdown) line(i int) []byte {
	end := len(m.src)
	if i+1 < len(m.lines.starts) {
		end = m.lines.starts[i+1]
	}
	return m.src[m.lines.starts[i]:end]
}

func (m *markdown) scan() {
	first := m.frontmatter()
	if first < len(m.lines.starts) {
		m.body = m.lines.starts[first]
	} else {
		m.body = len(m.src)
	}
	var fence fence
	comment := false
	para := -1 // line the running paragraph started on; -1 if none runs
	blank := true
	for i := first; i < len(m.lines.starts); i++ {
		line := bytes.TrimRight(m.line(i), "\r\n")
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
					m.breaks = append(m.breaks, m.lines.starts[i])
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
				m.headings = append(m.headings, heading{at: m.lines.starts[i], level: level, text: title})
				para, blank = -1, true
				continue
			}
			if level := setextLevel(text); level > 0 && para >= 0 {
				m.headings = append(m.headings, heading{at: m.lines.starts[para], level: level, text: m.paragraph(para, i)})
				if n := len(m.breaks); n > 0 && m.breaks[n-1] == m.lines.starts[para] {
					m.breaks = m.breaks[:n-1]
				}
				para, blank = -1, true
				continue
			}
		}
		if blank {
			m.breaks = append(m.breaks, m.lines.starts[i])
		}
		if para < 0 && startsParagraph(text) {
			para = i
		} else if !startsParagraph(text) {
			para = -1
		}
		blank = false
	}
	m.doc = m.firstSentence()
}

// frontmatter returns the number of lines of the YAML (---) or TOML (+++) block
// that begins the file, 0 if there is none or it does not end.
func (m *markdown) frontmatter() int {
	head := bytes.TrimPrefix(m.line(0), []byte("\xef\xbb\xbf"))
	mark := strings.TrimRight(string(head[:min(len(head), 8)]), " \t\r\n")
	if mark != "---" && mark != "+++" {
		return 0
	}
	for i := 1; i < len(m.lines.starts); i++ {
		line := m.line(i)
		if len(line) > 8 {
			continue
		}
		if got := strings.TrimRight(string(line), " \t\r\n"); got == mark || mark == "---" && got == "..." {
			return i + 1
		}
	}
	return 0
}

// paragraph returns the text of lines [from, to) as one line.
func (m *markdown) paragraph(from, to int) string {
	var words []string
	for i := from; i < to; i++ {
		words = append(words, strings.Fields(string(m.line(i)))...)
	}
	return strings.Join(words, " ")
}

func (m *markdown) pieces() []piece {
	var out []piece
	if m.body > 0 {
		out = append(out, piece{end: m.body, kind: "frontmatter", name: "frontmatter"})
	}
	first := len(m.src)
	if len(m.headings) > 0 {
		first = m.headings[0].at
	}
	out = append(out, piece{start: m.body, end: first, kind: "paragraph"})
	var path []heading
	for i, h := range m.headings {
		for len(path) > 0 && path[len(path)-1].level >= h.level {
			path = path[:len(path)-1]
		}
		parent := headingPath(path)
		path = append(path, h)
		end := len(m.src)
		if i+1 < len(m.headings) {
			end = m.headings[i+1].at
		}
		out = append(out, piece{
			start: h.at, end: end, kind: "h" + strconv.Itoa(h.level),
			name: headingPath(path), parent: parent,
		})
	}
	return out
}

func headingPath(path []heading) string {
	var b strings.Builder
	for i, h := range path {
		if i > 0 {
			b.WriteString(" > ")
		}
		b.WriteString(h.text)
	}
	return b.String()
}

// cuts returns the starts of paragraphs.
func (m *markdown) cuts() []cut {
	out := make([]cut, len(m.breaks))
	for i, at := range m.breaks {
		out[i] = cut{at: at}
	}
	return out
}

func (m *markdown) firstSentence() string {
	for _, at := range m.breaks {
		i := m.lines.line(at) - 1
		if _, text := indentation(m.line(i)); !startsParagraph(text) || text[0] == '<' || text[0] == '[' || text[0] == '!' {
			continue
		}
		j := i
		for j < len(m.lines.starts) && len(bytes.TrimSpace(m.line(j))) > 0 && j < i+10 {
			j++
		}
		return sentence(m.paragraph(i, j))
	}
	return ""
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

// indentation returns the columns of space before the text of line, and the text.
func indentation(line []byte) (int, []byte) {
	col := 0
	for i, c := range line {
		switch c {
		case ' ':
			col++
		case '\t':
			col += 4 - col%4
		default:
			return col, line[i:]
		}
	}
	return col, nil
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

// startsParagraph reports whether text, the first of a block, is prose: no list
// item, quotation, table or rule, which do not become a heading when a line of
// dashes follows.
func startsParagraph(text []byte) bool {
	switch text[0] {
	case '>', '|', '<':
		return text[0] == '<' && len(text) > 1 && text[1] == 'h' && bytes.HasPrefix(text, []byte("http"))
	case '-', '*', '+':
		return len(text) > 1 && text[1] != ' ' && text[1] != '\t' && len(bytes.Trim(text, "-*_ \t")) > 0
	case '_':
		return len(bytes.Trim(text, "_ \t")) > 0
	}
	digits := 0
	for digits < len(text) && digits < 10 && text[digits] >= '0' && text[digits] <= '9' {
		digits++
	}
	if digits > 0 && digits+1 < len(text) && (text[digits] == '.' || text[digits] == ')') && text[digits+1] == ' ' {
		return false
	}
	return true
}
