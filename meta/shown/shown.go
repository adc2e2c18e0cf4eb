// Package shown makes stored text safe to show: to a person on a terminal, and to
// a model. It knows nothing of what the text is.
package shown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text removes what acts on a terminal or hides text: control characters other
// than line feeds and tabs, and marks that reorder or hide what follows. Bytes that
// are no UTF-8 become U+FFFD.
func Text(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case unicode.IsControl(r), r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r >= 0xE0000 && r <= 0xE007F:
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
