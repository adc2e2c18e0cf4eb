// Package terminal is how a command talks to the person or program that runs it:
// streams, text that cannot steer a terminal, tables, progress, questions.
package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/foldwatch/foldwatch/meta/shown"
)

// Rules of the terminal: what was asked for goes to stdout, everything said
// about it to stderr. Every string that comes from files, git or a daemon
// passes clean or cleanText on its way, since a title can hold the bytes that
// move a cursor or rename a window.

// A Printer writes text in which no argument can steer the terminal.
type Printer struct {
	W     io.Writer
	Color bool
	quiet bool
}

// A Styled argument is shown in a style where the printer has colours.
type Styled struct {
	code string // SGR parameters
	text string
}

// Bold is text in bold.
func Bold(s string) Styled { return Styled{"1", s} }

// Dim is text that steps back.
func Dim(s string) Styled { return Styled{"2", s} }

// InColor is text in the style of the SGR parameters code.
func InColor(code, s string) Styled { return Styled{code, s} }

// Block is an argument that keeps its line ends and tabs.
type Block string

// Printf formats like fmt.Fprintf. Strings, errors and Stringers among args are
// cleaned and stay on one line; a block keeps its lines.
func (p Printer) Printf(format string, args ...any) {
	if p.quiet {
		return
	}
	for i, a := range args {
		switch a := a.(type) {
		case Block:
			args[i] = cleanText(string(a))
		case Styled:
			s := Clean(a.text)
			if p.Color && s != "" {
				s = "\x1b[" + a.code + "m" + s + "\x1b[0m"
			}
			args[i] = s
		case markedLine:
			args[i] = p.marked(a)
		case string:
			args[i] = Clean(a)
		case error:
			args[i] = Clean(a.Error())
		case fmt.Stringer:
			args[i] = Clean(a.String())
		}
	}
	// A full disk or closed pipe at the far end is not ours to report.
	_, _ = fmt.Fprintf(p.W, format, args...)
}

// marked returns l with its marks in bold where the printer has colours. Each part
// is cleaned by itself: nothing begins in one and ends in another.
func (p Printer) marked(l markedLine) string {
	if !p.Color {
		return Clean(string(l.text))
	}
	var b strings.Builder
	at := 0
	for _, m := range l.marks {
		b.WriteString(Clean(string(l.text[at:m.Start])))
		if s := Clean(string(l.text[m.Start:m.End])); s != "" {
			b.WriteString("\x1b[1m" + s + "\x1b[22m")
		}
		at = m.End
	}
	b.WriteString(Clean(string(l.text[at:])))
	return b.String()
}

// Clean returns s on one line, without escape sequences, control characters
// and characters that reorder the text around them.
func Clean(s string) string {
	return strip(s, func(r rune) (rune, bool) {
		if r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029' {
			return ' ', true
		}
		return 0, false
	})
}

// cleanText is clean for text of several lines: line ends and tabs stay.
func cleanText(s string) string {
	return strip(strings.ReplaceAll(s, "\r\n", "\n"), func(r rune) (rune, bool) {
		return r, r == '\n' || r == '\t'
	})
}

func strip(s string, keep func(rune) (rune, bool)) string {
	if !strings.ContainsFunc(s, shown.Unprintable) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if n := escapeLen(s[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		if !shown.Unprintable(r) {
			b.WriteRune(r) // invalid UTF-8 becomes U+FFFD
			continue
		}
		if k, ok := keep(r); ok {
			b.WriteRune(k)
		}
	}
	return b.String()
}

// escapeLen returns the length of the escape sequence that s begins with, 0 if
// it begins with none. It knows CSI, the string sequences (OSC, DCS, SOS, PM,
// APC), their 8-bit forms, and two-byte escapes. A string sequence without an
// end is its introducer only: the rest of the text is not swallowed.
func escapeLen(s string) int {
	if len(s) < 2 {
		return 0
	}
	const body = 2 // both introducers are two bytes long
	kind := s[1]
	switch {
	case s[0] == 0x1b:
	case s[0] == 0xc2 && s[1] >= 0x80 && s[1] <= 0x9f: // C1 in UTF-8
		kind -= 0x40
	default:
		return 0
	}
	switch kind {
	case '[':
		for i := body; i < len(s) && i < body+64; i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 || s[i] > 0x7e {
				break
			}
		}
		return body
	case ']', 'P', 'X', '^', '_':
		for i := body; i < len(s) && i < body+4096; i++ {
			switch {
			case s[i] == 0x07:
				return i + 1
			case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
				return i + 2
			case s[i] == 0xc2 && i+1 < len(s) && s[i+1] == 0x9c:
				return i + 2
			case s[i] == '\n':
				return body
			}
		}
		return body
	}
	if kind < 0x20 || kind > 0x7e {
		return 1 // a lone ESC before a byte that is text or another control
	}
	return body
}

// WriteJSON writes v indented, and one line end. Control characters are
// escaped, also those that JSON would let pass (DEL, C1).
func WriteJSON(w io.Writer, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	out := buf.Bytes()
	if bytes.ContainsFunc(out, needsEscape) {
		var safe bytes.Buffer
		for _, r := range buf.String() {
			if needsEscape(r) {
				fmt.Fprintf(&safe, `\u%04x`, r)
				continue
			}
			safe.WriteRune(r)
		}
		out = safe.Bytes()
	}
	_, err := w.Write(out)
	return err
}

func needsEscape(r rune) bool { return r != '\n' && shown.Unprintable(r) }
