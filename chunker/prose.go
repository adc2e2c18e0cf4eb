package chunker

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/foldwatch/foldwatch/chunker/source"
)

// A prose is a file of headings and paragraphs, read line by line: markdown or
// reStructuredText. Who reads it fills in the fields below the blank line.
type prose struct {
	src   []byte
	lines *source.Lines

	body     int // first byte after the frontmatter
	headings []heading
	breaks   []source.Break // starts of paragraphs, except in code
}

type heading struct {
	at, level int
	text      string
}

// cut cuts at headings. Frontmatter and what lies before the first heading are
// chunks of their own; a section's name is the path of headings that leads to
// it, as in "Guide > Install".
func (p *prose) cut(lang, strategy string, opt Options) Result {
	pieces := merge(p.pieces(), p.src, p.lines, opt.MinLines, opt.MaxLines)
	pieces = split(pieces, p.lines, opt.MaxLines, func() []source.Break { return p.breaks })
	pieces = splitByLines(pieces, p.src, p.lines, opt.MaxLines*5/4)
	return Result{
		Language: lang, Strategy: strategy,
		Chunks: toChunks(pieces, lang, p.src, p.lines), Doc: p.firstSentence(),
	}
}

// line returns a line with its line feed. Here lines count from 0.
func (p *prose) line(i int) []byte { return p.src[p.lines.Starts[i]:p.lines.End(i+1)] }

func (p *prose) addBreak(line int) {
	p.breaks = append(p.breaks, source.Break{At: p.lines.Starts[line]})
}

// paragraph returns the text of lines [from, to) as one line.
func (p *prose) paragraph(from, to int) string {
	var words []string
	for i := from; i < to; i++ {
		words = append(words, strings.Fields(string(p.line(i)))...)
	}
	return strings.Join(words, " ")
}

func (p *prose) pieces() []source.Piece {
	var out []source.Piece
	if p.body > 0 {
		out = append(out, source.Piece{End: p.body, Kind: "frontmatter", Name: "frontmatter"})
	}
	first := len(p.src)
	if len(p.headings) > 0 {
		first = p.headings[0].at
	}
	out = append(out, source.Piece{Start: p.body, End: first, Kind: "paragraph"})
	var path []heading
	for i, h := range p.headings {
		for len(path) > 0 && path[len(path)-1].level >= h.level {
			path = path[:len(path)-1]
		}
		parent := headingPath(path)
		path = append(path, h)
		end := len(p.src)
		if i+1 < len(p.headings) {
			end = p.headings[i+1].at
		}
		out = append(out, source.Piece{
			Start: h.at, End: end, Kind: "h" + strconv.Itoa(h.level),
			Name: headingPath(path), Parent: parent,
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

// firstSentence returns the first sentence of the first paragraph.
func (p *prose) firstSentence() string {
	for _, b := range p.breaks {
		i := p.lines.At(b.At) - 1
		if _, text := indentation(p.line(i)); !startsParagraph(text) || text[0] == '<' || text[0] == '[' || text[0] == '!' {
			continue
		}
		j := i
		for j < len(p.lines.Starts) && len(bytes.TrimSpace(p.line(j))) > 0 && j < i+10 {
			j++
		}
		return source.Sentence(p.paragraph(i, j))
	}
	return ""
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
