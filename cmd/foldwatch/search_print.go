package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/foldwatch/foldwatch/api/wire"
)

// plainWidth is how wide results are where nothing says how wide the reader's
// window is.
const plainWidth = 100

// resultIndent is where what belongs to a result begins: below its title.
const resultIndent = "       "

// width is how many columns a line on stdout may have.
func (e *environment) width() int {
	if f, ok := e.stdout.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n >= 40 {
			return min(n, 160)
		}
	}
	return plainWidth
}

// A resultPrinter prints what a search found.
type resultPrinter struct {
	printer
	width       int
	chunks      bool // all spans that matched
	withProject bool
}

// result prints score, title, place, the best lines, and why it is a result.
func (p resultPrinter) result(r wire.SearchResult) {
	room := p.width - len(resultIndent)
	p.printf("%.3f  %s\n", r.Score, bold(short(clean(r.Title), room)))
	where := place(r)
	if p.withProject && r.Project != "" {
		where = r.Project + ": " + where
	}
	if len(r.MatchedChunks) > 0 && r.MatchedChunks[0].NodeName != "" {
		// Where it does not fit, it stands among the reasons still.
		if node := "  " + r.MatchedChunks[0].NodeType + " " + r.MatchedChunks[0].NodeName; columns(clean(where+node)) <= room || len(r.Why) == 0 {
			where += node
		}
	}
	p.printf("%s%s\n", resultIndent, where)
	p.quote(r, room)
	var why []string
	for _, w := range r.Why {
		why = append(why, w.Text)
	}
	for i, line := range wrapped(clean(strings.Join(why, "; ")), room-5) {
		head := "why  "
		if i > 0 {
			head = "     "
		}
		p.printf("%s%s\n", resultIndent, dim(head+line))
	}
	mark := ""
	if r.Stale {
		mark = "  stale"
	}
	p.printf("%s%s\n", resultIndent, dim(fmt.Sprintf("%s  %s, %s%s", r.ID, r.Type, r.Metadata.Source, mark)))
	if p.chunks {
		for _, ch := range r.MatchedChunks {
			name := ch.NodeType
			if ch.NodeName != "" {
				name += " " + ch.NodeName
			}
			p.printf("%s%.3f  %s:%d-%d  %s\n", resultIndent, ch.Score, r.Metadata.FilePath, ch.StartLine, ch.EndLine, name)
		}
	}
	p.explain(r)
}

// quote prints the best lines of the best span, with their numbers, else of the
// memory; at most three.
func (p resultPrinter) quote(r wire.SearchResult, room int) {
	text, marks, numbers := r.Snippet, r.Highlights, []int(nil)
	if len(r.MatchedChunks) > 0 && r.MatchedChunks[0].Snippet != "" {
		c := r.MatchedChunks[0]
		text, marks, numbers = c.Snippet, c.Highlights, c.SnippetLines
	}
	digits := 0
	if len(numbers) > 0 {
		digits = len(fmt.Sprint(numbers[len(numbers)-1]))
		room -= digits + 2
	}
	for i, l := range markedLines(text, marks) {
		if i == 3 {
			break
		}
		number := ""
		if i < len(numbers) {
			number = fmt.Sprintf("%*d  ", digits, numbers[i])
		}
		p.printf("%s%s%s\n", resultIndent, dim(number), l.cut(room))
	}
}

// explain prints the score as a sum: the features of one channel together, with
// what they add up to.
func (p resultPrinter) explain(r wire.SearchResult) {
	if len(r.Explain) == 0 {
		return
	}
	p.printf("\n%s%s\n", resultIndent, dim(fmt.Sprintf("%-17s %6s   %6s    %7s  %s", "feature", "value", "weight", "adds", "what it is")))
	sum, rest := 0.0, r.Explain
	for len(rest) > 0 {
		n := 1
		for n < len(rest) && rest[n].Channel == rest[0].Channel {
			n++
		}
		sum += p.channel(rest[:n])
		rest = rest[n:]
	}
	p.printf("%s%-33s = %8.4f\n", resultIndent, "score", sum)
	if len(r.Lacks) > 0 {
		p.printf("%s%s\n", resultIndent, dim("without "+quotedWords(r.Lacks)))
	}
}

// channel prints the terms of one channel below their sum, which it returns; one
// that is named like its channel stands for it.
func (p resultPrinter) channel(terms []wire.ScoreTerm) float64 {
	adds, weight := 0.0, 0.0
	for _, t := range terms {
		adds, weight = adds+t.Adds, weight+max(t.Weight, 0)
	}
	indent := ""
	if len(terms) > 1 || terms[0].Name != terms[0].Channel {
		indent = "  "
		// Padded by hand: a width would count the bytes of the style.
		name := short(clean(terms[0].Channel), 17)
		pad := strings.Repeat(" ", 27-columns(name))
		p.printf("%s%s%s%6.3f = %+8.4f\n", resultIndent, bold(name), pad, weight, adds)
	}
	for _, t := range terms {
		p.printf("%s%-17s %6.3f × %6.3f = %+8.4f  %s\n", resultIndent, short(clean(indent+t.Name), 17), t.Value, t.Weight, t.Adds, dim(t.About))
	}
	return adds
}

// A markedLine is one line of text in which some characters are marked.
type markedLine struct {
	text  []rune
	marks []wire.Range
}

func (l markedLine) String() string { return string(l.text) }

// markedLines cuts text into lines that are not empty. Marks beyond the text are
// left out, and those that come before the one they follow.
func markedLines(text string, marks []wire.Range) []markedLine {
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

// cut returns l in at most n columns, with the first mark in it.
func (l markedLine) cut(n int) markedLine {
	at := make([]int, 1, len(l.text)+1) // the column at which each character begins, and the end
	for _, r := range l.text {
		wide := columns(string(r))
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

// wrapped breaks a line between words so that each part has at most n columns, but
// for a word that has more.
func wrapped(s string, n int) []string {
	var out []string
	for w := range strings.FieldsSeq(s) {
		if last := len(out) - 1; last >= 0 && columns(out[last])+1+columns(w) <= n {
			out[last] += " " + w
		} else {
			out = append(out, w)
		}
	}
	return out
}

// place names where to look: the source with the line of the best chunk, else
// the memory's own file.
func place(r wire.SearchResult) string {
	switch {
	case r.Metadata.FilePath != "" && len(r.MatchedChunks) > 0:
		return fmt.Sprintf("%s:%d", r.Metadata.FilePath, r.MatchedChunks[0].StartLine)
	case r.Metadata.FilePath != "":
		return r.Metadata.FilePath
	case r.Metadata.Path != "":
		return "fold/" + r.Metadata.Path
	}
	return r.ID
}

// tellPage says on stderr which results these are, and how to see the next.
func (e *environment) tellPage(reply wire.SearchReply) {
	if reply.NextCursor == "" && reply.Omitted == 0 || e.flags.json {
		return
	}
	first := 1
	if c, err := wire.ParseSearchCursor(reply.Cursor); err == nil {
		first += c.Offset
	}
	e.messages(false).printf("\nresults %d to %d of %d; next page: --cursor %s\n", first, first+len(reply.Results)-1, reply.Total, reply.NextCursor)
}
