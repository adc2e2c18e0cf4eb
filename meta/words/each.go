package words

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Each calls f with the words of text as they are written, for counting rather
// than for finding: nothing is stemmed and no stop word is left out. Identifiers
// are split at case changes and underscores; words of 3 to 24 letters count, as
// they are written if they are ASCII, else in lower case. What looks like a
// number, a hash or encoded data is no word.
func Each(text string, f func(string)) {
	for at := 0; at < len(text); {
		c := text[at]
		if c < utf8.RuneSelf && !isAlnum(c) {
			at++
			continue
		}
		start, switches, foreign := at, 0, false
		digit := c >= '0' && c <= '9'
		first := digit
		for at < len(text) {
			c := text[at]
			if c >= utf8.RuneSelf {
				r, n := utf8.DecodeRuneInString(text[at:])
				if !unicode.IsLetter(r) && !unicode.IsMark(r) {
					break
				}
				foreign = true
				at += n
				continue
			}
			if !isAlnum(c) {
				break
			}
			if d := c <= '9'; d != digit {
				digit = d
				switches++
			}
			at++
		}
		switch {
		case at == start: // a sign beyond ASCII
			_, n := utf8.DecodeRuneInString(text[at:])
			at += n
		case first, switches > 2, switches > 1 && at-start > 11, switches > 0 && at-start > 40, at-start < 3:
		case switches > 0 && at-start > 7 && isHex(text[start:at]):
		case foreign:
			foreignWords(text[start:at], f)
		default:
			plainWords(text[start:at], f)
		}
	}
}

func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i] | 0x20; c > 'f' {
			return false
		}
	}
	return true
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// plainWords splits an identifier of ASCII letters and digits at case changes:
// HTTPServer2 is HTTP and Server.
func plainWords(run string, f func(string)) {
	start := 0
	emit := func(end int) {
		if n := end - start; n >= 3 && n <= 24 && !oneLetter(run[start:end]) {
			f(run[start:end])
		}
		start = end
	}
	for i := 1; i < len(run); i++ {
		c, before := run[i], run[i-1]
		switch {
		case c <= '9':
			if before > '9' {
				emit(i)
			}
			start = i + 1
		case c >= 'a' && before >= 'A' && before <= 'Z' && i-1 > start:
			emit(i - 1)
		case c < 'a' && before >= 'a':
			emit(i)
		}
	}
	emit(len(run))
}

// foreignWords does the same for letters of any script.
func foreignWords(run string, f func(string)) {
	start, lowBefore := 0, false
	emit := func(end int) {
		if w := strings.ToLower(run[start:end]); len(w) <= 24*utf8.UTFMax && utf8.RuneCountInString(w) >= 3 {
			f(w)
		}
		start = end
	}
	for i, r := range run {
		if unicode.IsUpper(r) && lowBefore {
			emit(i)
		}
		lowBefore = unicode.IsLower(r)
	}
	emit(len(run))
}

func oneLetter(w string) bool {
	for i := 1; i < len(w); i++ {
		if w[i] != w[0] {
			return false
		}
	}
	return true
}
