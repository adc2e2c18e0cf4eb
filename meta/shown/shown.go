// Package shown makes stored text safe to show: to a person on a terminal, and to
// a model. It knows nothing of what the text is.
package shown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Unprintable reports what acts on a terminal or hides text: control characters,
// line separators, the marks that reorder text, and the tags that nobody sees.
func Unprintable(r rune) bool {
	switch {
	case unicode.IsControl(r), r == '\u2028', r == '\u2029':
		return true
	case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069', r == '\u200e', r == '\u200f', r == '\u061c', r >= 0xE0000 && r <= 0xE007F:
		return true
	}
	return false
}

// Text removes what is [Unprintable] but line feeds and tabs; other separators of
// lines become line feeds. Bytes that are no UTF-8 become U+FFFD.
func Text(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\u2028', r == '\u2029':
			return '\n'
		case Unprintable(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// Line returns s as one line of [Text].
func Line(s string) string { return strings.Join(strings.Fields(Text(s)), " ") }

// Clip cuts s to at most n runes, and says so with an ellipsis.
func Clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	if n <= 0 {
		return ""
	}
	return strings.TrimRightFunc(string([]rune(s)[:n-1]), unicode.IsSpace) + "…"
}

// OneLine makes foreign text fit into one line of a message, of at most 200 bytes and
// an ellipsis.
func OneLine(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return -1
		}
		return r
	}, s)
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + "…"
	}
	return s
}
