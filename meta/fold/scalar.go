package fold

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxFlow is how deep brackets may nest: more than any person writes, less
// than what makes the YAML library slow.
const maxFlow = 32

// quoted reads the quoted scalar s begins with, up to the quote that closes it
// on the same line, and returns its text and length. Escapes that YAML
// programs disagree about make ok false.
func quoted(s string) (text string, n int, ok bool) {
	if s[0] == '\'' {
		return singleQuoted(s)
	}
	i := 1
	for i < len(s) && s[i] != '"' && s[i] != '\\' && s[i] != '\n' {
		i++
	}
	if i < len(s) && s[i] == '"' {
		return s[1:i], i + 1, true
	}
	var b strings.Builder
	b.WriteString(s[1:i])
	for i < len(s) {
		switch c := s[i]; c {
		case '"':
			return b.String(), i + 1, true
		case '\n':
			return "", 0, false
		case '\\':
			r, size := unescape(s[i:])
			if size == 0 {
				return "", 0, false
			}
			b.WriteRune(r)
			i += size
		default:
			b.WriteByte(c)
			i++
		}
	}
	return "", 0, false
}

// unescape reads one escape of a double-quoted scalar; size is 0 if it is not
// one of those that every program reads alike.
func unescape(s string) (r rune, size int) {
	if len(s) < 2 {
		return 0, 0
	}
	switch s[1] {
	case '"', '\\':
		return rune(s[1]), 2
	case 'n':
		return '\n', 2
	case 't':
		return '\t', 2
	case 'r':
		return '\r', 2
	case 'x':
		return hexRune(s, 2)
	case 'u':
		return hexRune(s, 4)
	}
	return 0, 0
}

func hexRune(s string, digits int) (rune, int) {
	if len(s) < 2+digits {
		return 0, 0
	}
	n, err := strconv.ParseUint(s[2:2+digits], 16, 32)
	if err != nil || !utf8.ValidRune(rune(n)) || n == 0 {
		return 0, 0
	}
	return rune(n), 2 + digits
}

func singleQuoted(s string) (text string, n int, ok bool) {
	double := false
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\n':
			return "", 0, false
		case '\'':
			if i+1 < len(s) && s[i+1] == '\'' {
				double = true
				i++
				continue
			}
			text = s[1:i]
			if double {
				text = strings.ReplaceAll(text, "''", "'")
			}
			return text, i + 1, true
		}
	}
	return "", 0, false
}

// plainScalar reads the unquoted scalar s begins with, up to a comment or the
// end of the line, or in a flow collection up to a comma or bracket. It returns
// the text and where it ends. What YAML would read as anything but one scalar
// makes ok false.
func plainScalar(s string, flow bool) (text string, n int, ok bool) {
	if s == "" || strings.IndexByte("&*!|>%@`\"'#,[]{}", s[0]) >= 0 {
		return "", 0, false
	}
	if strings.IndexByte("-?:", s[0]) >= 0 && (len(s) == 1 || strings.IndexByte(" \t\n\r,[]{}", s[1]) >= 0) {
		return "", 0, false
	}
	i := 0
scan:
	for ; i < len(s); i++ {
		switch c := s[i]; c {
		case '\n', '\r':
			break scan
		case ':':
			if i+1 == len(s) || strings.IndexByte(" \t\n\r", s[i+1]) >= 0 || flow && strings.IndexByte(",[]{}", s[i+1]) >= 0 {
				return "", 0, false
			}
		case '#':
			if s[i-1] == ' ' || s[i-1] == '\t' {
				break scan
			}
		case ',', '[', ']', '{', '}':
			if flow {
				break scan
			}
		}
	}
	text = strings.TrimRight(s[:i], " \t")
	return text, len(text), true
}

// flowList reads the flat list in brackets s begins with, over lines too, and
// returns its items and length. Anything but quoted and plain scalars makes ok
// false.
func flowList(s string) (items []scalar, n int, ok bool) {
	if s[0] != '[' {
		return nil, 0, false
	}
	i := flowBlank(s, 1)
	for i < len(s) && s[i] != ']' {
		var sc scalar
		var size int
		if s[i] == '"' || s[i] == '\'' {
			sc.text, size, ok = quoted(s[i:])
		} else {
			sc.text, size, ok = plainScalar(s[i:], true)
			sc.plain = true
			ok = ok && plainValue(sc.text).shape == shapeScalar
		}
		if !ok {
			return nil, 0, false
		}
		items = append(items, sc)
		i = flowBlank(s, i+size)
		if i < len(s) && s[i] == ',' {
			i = flowBlank(s, i+1)
			continue
		}
		break
	}
	if i >= len(s) || s[i] != ']' {
		return nil, 0, false
	}
	return items, i + 1, true
}

// flowBlank returns the offset of the first byte from i on that is no blank,
// line end or comment of a flow collection.
func flowBlank(s string, i int) int {
	for i < len(s) {
		switch s[i] {
		case ' ', '\t', '\n', '\r':
			i++
		case '#':
			if strings.IndexByte(" \t\n", s[i-1]) < 0 {
				return i
			}
			end := strings.IndexByte(s[i:], '\n')
			if end < 0 {
				return len(s)
			}
			i += end
		default:
			return i
		}
	}
	return i
}

// closeQuote returns the offset after the quote that closes the scalar at pos,
// over lines, or -1.
func closeQuote(s string, pos int) int {
	q := s[pos]
	for i := pos + 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && q == '"':
			i++
		case s[i] == q:
			if q == '\'' && i+1 < len(s) && s[i+1] == '\'' {
				i++
				continue
			}
			return i + 1
		}
	}
	return -1
}

// closeFlow returns the offset after the bracket that closes the one at pos,
// or why there is none.
func closeFlow(s string, pos int) (end int, reason string) {
	depth := 0
	for i := pos; i < len(s); i++ {
		switch s[i] {
		case '[', '{':
			if depth++; depth > maxFlow {
				return 0, "brackets nest too deep"
			}
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1, ""
			}
		case '"', '\'':
			if strings.IndexByte(" \t\n[{,:", s[i-1]) < 0 {
				continue // inside a plain scalar
			}
			end := closeQuote(s, i)
			if end < 0 {
				return 0, "quotes do not close"
			}
			i = end - 1
		case '#':
			if strings.IndexByte(" \t\n", s[i-1]) >= 0 {
				for i+1 < len(s) && s[i+1] != '\n' {
					i++
				}
			}
		}
	}
	return 0, "brackets do not close"
}
