package fold

import "strings"

// fenceState follows code fences through the lines of a markdown text. Its
// zero value stands before the first line.
type fenceState struct {
	mark  byte // '`' or '~' while inside a fence, else 0
	n     int  // length of the opening fence
	quote int  // depth of block quote at which it was opened
}

// line takes the next line, without its end, and reports whether it belongs to
// a fenced block; the fences themselves do.
func (f *fenceState) line(text string) bool {
	rest, quote := unquote(text)
	if f.mark != 0 {
		if quote < f.quote { // the quote ended, and its fence with it
			f.mark = 0
		} else {
			mark, n, info := fenceMark(rest)
			if mark == f.mark && n >= f.n && strings.TrimSpace(info) == "" {
				f.mark = 0
			}
			return true
		}
	}
	mark, n, info := fenceMark(unlist(rest))
	if mark == 0 || mark == '`' && strings.Contains(info, "`") {
		return false
	}
	f.mark, f.n, f.quote = mark, n, quote
	return true
}

// unquote strips white space and block quote marks, and counts the latter.
func unquote(text string) (rest string, depth int) {
	rest = strings.TrimLeft(text, " \t")
	for strings.HasPrefix(rest, ">") {
		depth++
		rest = strings.TrimLeft(rest[1:], " \t")
	}
	return rest, depth
}

// unlist strips the list markers a line begins with: a fence may open there.
func unlist(text string) string {
	for {
		n := listMark(text)
		if n == 0 {
			return text
		}
		text = strings.TrimLeft(text[n:], " \t")
	}
}

// listMark returns the length of the list marker text begins with, the space
// after it included, or 0.
func listMark(text string) int {
	if len(text) < 2 {
		return 0
	}
	switch text[0] {
	case '-', '*', '+':
		if text[1] == ' ' || text[1] == '\t' {
			return 2
		}
		return 0
	}
	i := 0
	for i < len(text) && i < 9 && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	if i > 0 && i+1 < len(text) && (text[i] == '.' || text[i] == ')') && (text[i+1] == ' ' || text[i+1] == '\t') {
		return i + 2
	}
	return 0
}

// fenceMark returns the character and length of the fence text begins with and
// what follows it; mark is 0 if there is none.
func fenceMark(text string) (mark byte, n int, info string) {
	if text == "" || text[0] != '`' && text[0] != '~' {
		return 0, 0, ""
	}
	for n < len(text) && text[n] == text[0] {
		n++
	}
	if n < 3 {
		return 0, 0, ""
	}
	return text[0], n, text[n:]
}
