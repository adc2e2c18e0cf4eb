package chunker

import (
	"bytes"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/foldwatch/foldwatch/chunker/source"
)

// isRST reports whether the file is reStructuredText, which Sphinx also ships as
// index.rst.txt.
func isRST(name string) bool {
	base := strings.TrimSuffix(strings.ToLower(path.Base(name)), ".txt")
	return strings.HasSuffix(base, ".rst") || strings.HasSuffix(base, ".rest")
}

// cutRST cuts reStructuredText at its section titles, as [cutMarkdown] does at
// headings: a title is underlined, and may have the same line above it. Which
// line stands for which level is told by the order in which they come.
func cutRST(src []byte, opt Options) Result {
	p := &prose{src: src, lines: source.IndexLines(src)}
	p.scanRST()
	return p.cut("text", "rst", opt)
}

// adornment is what a title is marked by: the sign, and whether it is above too.
type adornment struct {
	sign byte
	over bool
}

// maxLevel is the deepest section that is told apart.
const maxLevel = 6

// scanRST finds titles and paragraphs.
func (p *prose) scanRST() {
	var levels []adornment
	at := func(i int) []byte {
		if i < 0 || i >= len(p.lines.Starts) {
			return nil
		}
		return bytes.TrimRight(p.line(i), " \t\r\n")
	}
	blank := true
	for i := 0; i < len(p.lines.Starts); i++ {
		line := at(i)
		if len(line) == 0 {
			blank = true
			continue
		}
		a, start, end := adornment{}, i, i+1
		switch {
		case underlines(line, at(i+1)) && blank:
			a, end = adornment{sign: at(i + 1)[0]}, i+2
		case isAdornment(line) && bytes.Equal(line, at(i+2)) && underlines(bytes.TrimLeft(at(i+1), " "), line):
			a, end = adornment{line[0], true}, i+3
		}
		if a.sign == 0 {
			if blank && !bytes.HasPrefix(line, []byte("..")) && !isAdornment(line) {
				p.addBreak(i)
			}
			blank = false
			continue
		}
		level := 0
		for level < len(levels) && levels[level] != a {
			level++
		}
		if level == len(levels) {
			levels = append(levels, a)
		}
		title := start
		if a.over {
			title++
		}
		p.headings = append(p.headings, heading{at: p.lines.Starts[start], level: min(level+1, maxLevel), text: p.paragraph(title, title+1)})
		i, blank = end-1, true
	}
}

// isAdornment reports whether a line is one sign over and over.
func isAdornment(line []byte) bool {
	if len(line) < 3 || !strings.ContainsRune("=-~^\"'`+*#.:_<>", rune(line[0])) {
		return false
	}
	return len(bytes.Trim(line, string(line[:1]))) == 0
}

// underlines reports whether under marks text as a title: it stands at the margin,
// is no adornment itself, and is not much longer than its line.
func underlines(text, under []byte) bool {
	if len(text) == 0 || text[0] == ' ' || text[0] == '\t' || !isAdornment(under) || isAdornment(text) {
		return false
	}
	return len(under) >= utf8.RuneCount(text)-1 && !bytes.HasPrefix(text, []byte(".. "))
}
