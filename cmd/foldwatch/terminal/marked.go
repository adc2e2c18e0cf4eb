package terminal

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/foldwatch/foldwatch/api/wire"
)

// A markedLine is one line of text in which some characters are marked.
type markedLine struct {
	text  []rune
	marks []wire.Range
}

func (l markedLine) String() string { return string(l.text) }

// MarkedLines cuts text into lines that are not empty. Marks beyond the text are
// left out, and those that come before the one they follow.
func MarkedLines(text string, marks []wire.Range) []markedLine {
	var out []markedLine
	at := 0
	for line := range strings.Lines(text) {
		n := utf8.RuneCountInString(line)
		l := markedLine{text: []rune(strings.TrimRight(line, " \r\n"))}
		for _, m := range marks {
			s, e := max(m.Start-at, 0), min(m.End-at, len(l.text))
			if n := len(l.marks); s < e && (n == 0 || s >= l.marks[n-1].End) {
				l.marks = append(l.marks, wire.Range{Start: s, End: e})
			}
		}
		if at += n; len(l.text) > 0 {
			out = append(out, l)
		}
	}
	return out
}

// Cut returns l in at most n columns, with the first mark in it.
func (l markedLine) Cut(n int) markedLine {
	at := make([]int, 1, len(l.text)+1) // the column at which each character begins, and the end
	for _, r := range l.text {
		wide := Columns(string(r))
		if r == '\ufe0f' {
			wide = 1 // it makes the one before a picture, which is wide
		}
		at = append(at, at[len(at)-1]+wide)
	}
	all := at[len(l.text)]
	if all <= n || n < 4 {
		return l
	}
	first := 0
	if len(l.marks) > 0 && at[l.marks[0].End] > n-1 {
		first = min(max(at[l.marks[0].Start]-n/4, 0), all-(n-1))
	}
	from, _ := slices.BinarySearch(at, first)
	for from > 0 && from < len(l.text) && at[from+1] == at[from] {
		from++ // marks on what is left out
	}
	room := n
	head, tail := "", ""
	if from > 0 {
		head = "…"
		room--
	}
	if at[from]+room < all {
		tail = "…"
		room--
	}
	to, exact := slices.BinarySearch(at, at[from]+room)
	if !exact {
		to-- // a wide character has no room
	}
	for to < len(l.text) && at[to+1] == at[to] {
		to++ // marks on the last one
	}
	out := markedLine{text: []rune(head + string(l.text[from:to]) + tail)}
	shift := utf8.RuneCountInString(head) - from
	for _, m := range l.marks {
		if s, e := max(m.Start, from), min(m.End, to); s < e {
			out.marks = append(out.marks, wire.Range{Start: s + shift, End: e + shift})
		}
	}
	return out
}
