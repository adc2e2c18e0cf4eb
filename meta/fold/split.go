package fold

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/adrg/frontmatter"
)

// What a file may hold at most. Larger ones are quarantined before any of
// their bytes is interpreted.
const (
	MaxFile        = 1 << 20  // bytes of a memory file (git.md G6)
	MaxFrontmatter = 64 << 10 // bytes between the two fences
)

const bom = "\xef\xbb\xbf"

// layout says where the parts of a file lie, in bytes from its start.
type layout struct {
	has       bool // there is a frontmatter
	head      int  // first byte after the opening fence line
	headEnd   int  // first byte of the closing fence line
	body      int  // first byte after the closing fence line
	headLine  int  // line number of the first line of the frontmatter, from 1
	bodyLine  int  // line number of the first line of the body
	crlf      bool // lines of the frontmatter (or the body) end with CRLF
	bomLength int  // 3 if the file begins with a byte order mark
}

// quarantine is an ErrQuarantined with the line (from 1; 0 if none) at which
// the reason shows.
type quarantine struct {
	line   int
	reason string
}

func (q *quarantine) Error() string {
	if q.line > 0 {
		return fmt.Sprintf("line %d: %s", q.line, q.reason)
	}
	return q.reason
}

// Is reports whether target is ErrQuarantined.
func (q *quarantine) Is(target error) bool { return target == ErrQuarantined }

func quarantinef(line int, format string, args ...any) error {
	return &quarantine{line: line, reason: fmt.Sprintf(format, args...)}
}

// split finds the fences of b. A file of ours begins with a fence in its first
// byte (or right after a byte order mark); a note may have blank lines before.
func split(b []byte) (layout, error) {
	if len(b) > MaxFile {
		return layout{}, quarantinef(0, "the file has %d bytes, more than %d", len(b), MaxFile)
	}
	if i := badByte(b); i >= 0 {
		return layout{}, quarantinef(1+bytes.Count(b[:i], []byte("\n")), "the text is not UTF-8, or has a NUL byte")
	}
	var l layout
	if bytes.HasPrefix(b, []byte(bom)) {
		l.bomLength = len(bom)
	}
	l.body, l.bodyLine = l.bomLength, 1
	end, ok := fence(b, l.bomLength)
	if !ok {
		first, _, _ := bytes.Cut(b[l.bomLength:], []byte("\n"))
		if len(bytes.TrimSpace(first)) == 0 {
			splitForeign(b, &l)
		}
		l.crlf = mostlyCRLF(b)
		return l, nil
	}
	l.has, l.head, l.headLine = true, end, 2
	limit := min(len(b), l.head+MaxFrontmatter+1)
	line := 2
	for pos := l.head; pos < limit; line++ {
		if next, ok := fence(b, pos); ok {
			l.headEnd, l.body, l.bodyLine = pos, next, line+1
			l.crlf = bytes.HasSuffix(b[:l.head], []byte("\r\n"))
			return l, nil
		}
		i := bytes.IndexByte(b[pos:limit], '\n')
		if i < 0 {
			break
		}
		pos += i + 1
	}
	if limit < len(b) {
		return layout{}, quarantinef(1, "the frontmatter has no end mark (---) within %d bytes", MaxFrontmatter)
	}
	return layout{}, quarantinef(1, "the frontmatter has no end mark (---)")
}

// badByte returns the offset of the first byte that is no text, or -1.
func badByte(b []byte) int {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return i
	}
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// fence reports whether the line at pos is a fence, and where the next begins.
// Only column 0 counts: YAML cannot hold --- there, not even in a block scalar.
func fence(b []byte, pos int) (next int, ok bool) {
	if !bytes.HasPrefix(b[pos:], []byte("---")) {
		return 0, false
	}
	for i := pos + 3; i < len(b); i++ {
		switch b[i] {
		case '\n':
			return i + 1, true
		case ' ', '\t', '\r':
		default:
			return 0, false
		}
	}
	return len(b), true
}

// splitForeign lets adrg/frontmatter look for a frontmatter that begins after
// blank lines, as other programs write it. Its word is taken only if the parts
// it returns add up to the file and the first of them reads as keys.
func splitForeign(b []byte, l *layout) {
	text := b[l.bomLength:]
	if lead := text[:min(len(text), MaxFrontmatter)]; !bytes.HasPrefix(bytes.TrimLeft(lead, " \t\r\n"), []byte("---")) {
		return
	}
	var head []byte
	found := false
	keep := func(data []byte, _ any) error {
		head, found = bytes.Clone(data), true
		return nil
	}
	var none struct{}
	rest, err := frontmatter.Parse(bytes.NewReader(text), &none, frontmatter.NewFormat("---", "---", keep))
	if err != nil || !found || len(head) > MaxFrontmatter || !bytes.HasSuffix(text, rest) {
		return
	}
	body := len(b) - len(rest)
	open := bytes.Index(b, []byte("---"))
	start, ok := fence(b, open)
	closing := bytes.LastIndex(b[:body], []byte("---"))
	if !ok || closing < start || b[open-1] != '\n' || b[closing-1] != '\n' {
		return
	}
	if end, ok := fence(b, closing); !ok || end > body {
		return
	}
	line := 1 + bytes.Count(b[:start], []byte("\n"))
	if entries, err := readHead(b[start:closing], line); err != nil || len(entries) == 0 {
		return
	}
	l.has, l.head, l.headEnd = true, start, closing
	l.body, _ = fence(b, closing)
	l.headLine = line
	l.bodyLine = 1 + bytes.Count(b[:l.body], []byte("\n"))
}

func mostlyCRLF(b []byte) bool {
	return 2*bytes.Count(b, []byte("\r\n")) > bytes.Count(b, []byte("\n"))
}

func (l layout) eol() string {
	if l.crlf {
		return "\r\n"
	}
	return "\n"
}

// lf returns s with LF line ends: carriage returns before a line feed go.
func lf(s string) string {
	if !strings.Contains(s, "\r\n") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for line := range strings.SplitAfterSeq(s, "\n") {
		if text, ok := strings.CutSuffix(line, "\n"); ok {
			b.WriteString(strings.TrimRight(text, "\r"))
			b.WriteByte('\n')
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}
