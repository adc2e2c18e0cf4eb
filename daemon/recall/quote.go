package recall

import (
	"math/bits"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/words"
)

const (
	quotedLines = 3
	quotedRunes = 120      // of one line
	readLines   = 400      // of a text that is quoted from
	readBytes   = 64 << 10 // of the same
)

// A question is what a search asks, as far as it can be seen in a text.
type question struct {
	forms         map[string]form // as the analyser sees them
	formCount     int             // how many forms have a number
	partCount     int             // how many of those are looked for to the end
	words         []askedWord     // in order, each once
	numberedForms []string        // the forms that have a number
	prefilter     *prefilter      // what may have them
	buffers       *quoteBuffers
}

// A form is what a term or joined form of a text says of a question.
type form struct {
	bit      uint64 // of a term; the last has all after the 64th
	joined   bool   // an identifier or word pair without its separators
	number   int    // among what [question.has] asks for, from 1; 0 for none
	required bool   // it is that of a word or name, and looked for until it is found
}

// A quoteRoom is what quotes of one search are worked out in, one after the other.
type quoteBuffers struct {
	analysis words.Analysis
	lines    []quotedLine
	found    []uint64
	windows  []span
	has      []bool // by number of a form
	starts   []int  // see runeStarts
}

// rooms of quotes that no search works in.
var quoteBufferPool = sync.Pool{New: func() any { return &quoteBuffers{} }}

// release lets the next search have the room of q, which asks no more.
func (q question) release() {
	clear(q.buffers.lines[:cap(q.buffers.lines)]) // they hold texts
	quoteBufferPool.Put(q.buffers)
}

// An askedWord is one word of a question as it was typed, and those it is made
// of: getUser of get and User, but not is-a of is and a, which say nothing alone.
type askedWord struct {
	text   string
	parts  []wordPart
	number int    // of the form of the whole, or of text in small letters
	whole  string // the joined form of a name; "" of a word that is none
	loose  bool   // its words are joined by hyphens, as in prose, rather than as in code
	stops  bool   // words that say nothing alone are among its own
}

type wordPart struct {
	text, term string
	number     int // of the form term
}

// name reports whether w is several words written as one.
func (w *askedWord) name() bool { return w.whole != "" }

// parseQuestion analyses a query.
func parseQuestion(query string) question {
	q := question{forms: map[string]form{}, prefilter: &prefilter{}, buffers: quoteBufferPool.Get().(*quoteBuffers)}
	a := &q.buffers.analysis
	a.Reset(query)
	var names []words.Span
	for _, j := range a.Joined {
		if j.Form == words.Whole {
			names = append(names, j)
		}
		b := string(a.Bytes(j))
		q.forms[b] = form{joined: true}
		q.prefilter.addJoined(b)
	}
	terms, nameEnd := 0, uint32(0)
	for _, t := range a.Terms {
		term := string(a.Bytes(t))
		f := q.forms[term]
		if f.bit == 0 {
			f.bit = 1 << min(terms, 63)
			terms++
			q.prefilter.addTerm(term)
		}
		if !f.required {
			f.required = true
			q.partCount++
		}
		f.number = q.numbered(f)
		q.forms[term] = f
		part := wordPart{query[t.Start:t.End], term, f.number}
		for len(names) > 0 && names[0].End <= t.Start {
			names = names[1:]
		}
		switch inside := len(names) > 0 && names[0].Start <= t.Start; {
		case inside && names[0].End == nameEnd:
			w := &q.words[len(q.words)-1]
			w.parts = append(w.parts, part)
		case inside:
			nameEnd = names[0].End
			w := askedWord{text: query[names[0].Start:nameEnd], parts: []wordPart{part}, whole: string(a.Bytes(names[0]))}
			dashed := names[0].Start > 0 && query[names[0].Start-1] == '-'
			w.loose = !dashed && strings.Contains(w.text, "-") && !strings.ContainsAny(w.text, "_ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
			q.words = append(q.words, w)
		default:
			q.words = append(q.words, askedWord{text: part.text, parts: []wordPart{part}})
		}
	}
	for i := range q.words {
		w := &q.words[i]
		whole := w.whole
		if !w.name() {
			whole = strings.ToLower(w.text)
		}
		letters := len(w.text) - strings.Count(w.text, "-") - strings.Count(w.text, "_")
		for _, p := range w.parts {
			letters -= len(p.text)
		}
		w.stops = letters > 0
		f := q.forms[whole]
		if w.name() && !f.required {
			f.required = true
			q.partCount++
		}
		f.number = q.numbered(f)
		q.forms[whole], w.number = f, f.number
	}
	for form, f := range q.forms {
		if f.number > 0 {
			q.numberedForms = append(q.numberedForms, form)
			q.prefilter.addJoined(form)
		}
	}
	return q
}

// numbered returns the number of f, a new one if it has none.
func (q *question) numbered(f form) int {
	if f.number == 0 {
		q.formCount++
		return q.formCount
	}
	return f.number
}

// A span is a part of a line in bytes, [start, end).
type span struct{ start, end int }

// marks returns where words of the question stand in line, in order, no two of
// them touching, and the bits of the terms that do. It notes in seen what forms
// there are. Where a joined form may go on in the next line, it begins at open; that is
// len(line) if none does.
func (q question) marks(line string, seen *formSet) (out []span, found uint64, open int) {
	windows := q.prefilter.windows(line, q.buffers.windows[:0])
	q.buffers.windows = windows
	for _, w := range windows {
		out, found = q.marksIn(line, w, seen, out, found)
	}
	open = len(line)
	if last := len(windows) - 1; last >= 0 && windows[last].end == len(line) && q.continues(line[windows[last].start:]) {
		open = windows[last].start
	}
	return merged(out), found, open
}

// continues reports whether the last word of text, which was analysed last, is the
// beginning of a form of the question that has more letters.
func (q question) continues(text string) bool {
	last := len(q.buffers.analysis.Terms) - 1
	if last < 0 {
		return false
	}
	t := q.buffers.analysis.Terms[last]
	word := text[t.Start:t.End]
	return slices.ContainsFunc(q.numberedForms, func(form string) bool {
		return len(form) > len(word) && strings.EqualFold(form[:len(word)], word)
	}) || strings.ContainsFunc(word, func(r rune) bool { return r >= utf8.RuneSelf })
}

// marksIn is marks for a part of line, which it adds to out and found.
func (q question) marksIn(line string, part span, seen *formSet, out []span, found uint64) ([]span, uint64) {
	a := &q.buffers.analysis
	a.Reset(line[part.start:part.end])
	for _, t := range a.Terms {
		b := a.Bytes(t)
		if !q.prefilter.formMayMatch(b) {
			continue
		}
		if f := q.forms[string(b)]; f.bit|uint64(f.number) != 0 {
			seen.add(f.number)
			if found |= f.bit; f.bit != 0 {
				out = append(out, span{part.start + int(t.Start), part.start + int(t.End)})
			}
		}
	}
	for _, j := range a.Joined {
		b := a.Bytes(j)
		if !q.prefilter.formMayMatch(b) {
			continue
		}
		if f := q.forms[string(b)]; f.joined || f.number != 0 {
			if seen.add(f.number); f.joined {
				out = append(out, span{part.start + int(j.Start), part.start + int(j.End)})
			}
		}
	}
	return out, found
}

// noteAcrossLines notes in seen the forms that begin in the last n bytes of text[:end], which
// is where a line of it ends, and go on behind it.
func (q question) noteAcrossLines(text string, end, n int, seen *formSet) {
	if end == len(text) || n == 0 {
		return
	}
	start := max(end-n, 0)
	start = wordsStart(text, start)
	stop := wordsEnd(text, min(end+phraseGap, len(text)))
	q.marksIn(text, span{start, stop}, seen, nil, 0)
}

// SeenForms are which forms of a question stand in a text, of the first that
// have a number; and whether a text has no others.
type formSet uint64

const (
	maxFormSet          = 63
	completeSet formSet = 1 << maxFormSet
)

func (s *formSet) add(number int) {
	if number > 0 && number <= maxFormSet {
		*s |= 1 << (number - 1)
	}
}

func (s formSet) has(number int) bool { return number <= maxFormSet && s>>(number-1)&1 == 1 }

// unread is text, of which s was seen; "" where that is all it has.
func (s formSet) unread(text string) string {
	if s&completeSet != 0 {
		return ""
	}
	return text
}

// merged sorts spans and makes those one that overlap or touch.
func merged(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return a.start - b.start })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.start <= out[n-1].end {
			out[n-1].end = max(out[n-1].end, s.end)
		} else if s.start < s.end {
			out = append(out, s)
		}
	}
	return out
}

// A quotedLine is one line of a text, and what of a question stands in it.
type quotedLine struct {
	n     int // its number in the text, from 1
	at    int // byte of the text where it begins
	text  string
	marks []span
	shown bool // text is as it is shown
}

// A quote is the best lines of a text, [quotedLines] at most, each cut around
// what it is quoted for.
type quote []quotedLine

// quoteOf returns the lines of text that together have most of the question,
// early ones before late ones, without empty lines. White space that all of them
// begin with is left out, tabs are two spaces, bytes that are not UTF-8 are
// U+FFFD. What is read of text for that has the forms seen.
func quoteOf(text string, q question) (_ quote, seen formSet) {
	text = text[:min(len(text), readBytes)]
	lines, whole := readable(text, q.buffers.lines[:0])
	found := append(q.buffers.found[:0], make([]uint64, len(lines))...)
	q.buffers.lines, q.buffers.found = lines, found
	for i := range lines {
		if l := &lines[i]; q.prefilter.mayMatch(l.text) {
			end := l.at + len(l.text)
			l.cleanUp()
			var open int
			l.marks, found[i], open = q.marks(l.text, &seen)
			q.noteAcrossLines(text, end, len(l.text)-open, &seen)
		}
	}
	if whole && q.prefilter != nil && q.formCount <= maxFormSet {
		seen |= completeSet
	}
	best, at := -1, 0
	for i := range lines {
		all, sum := uint64(0), 0
		for _, terms := range found[i:min(i+quotedLines, len(lines))] {
			all |= terms
			sum += bits.OnesCount64(terms)
		}
		// A line that says again what another said is worth less than a new word.
		if sum += quotedLines * bits.OnesCount64(all); sum > best {
			best, at = sum, i
		}
	}
	out := slices.Clone(lines[at:min(at+quotedLines, len(lines))])
	for i := range out {
		out[i].cleanUp()
	}
	dedent(out)
	for i := range out {
		out[i], q.buffers.starts = out[i].crop(quotedRunes, q.buffers.starts)
	}
	return out, seen
}

// readable appends the lines of text that are not empty to lines, as they stand
// there, and reports whether that is all of them.
func readable(text string, lines []quotedLine) (_ []quotedLine, whole bool) {
	n, at := 0, 0
	for line := range strings.Lines(text) {
		begins := at
		n, at = n+1, at+len(line)
		line = strings.TrimRight(line, " \t\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		if lines = append(lines, quotedLine{n: n, at: begins, text: line}); len(lines) == readLines {
			return lines, at == len(text)
		}
	}
	return lines, true
}

// cleanUp makes the text of l what is shown: tabs are two spaces, bytes that are not
// UTF-8 are U+FFFD.
func (l *quotedLine) cleanUp() {
	if !l.shown {
		line := strings.ToValidUTF8(l.text, "\uFFFD")
		l.text, l.shown = strings.ReplaceAll(strings.ReplaceAll(line, "\t", "  "), "\r", " "), true
	}
}

// dedent takes the spaces that all lines begin with off them.
func dedent(lines []quotedLine) {
	indent := -1
	for _, l := range lines {
		if n := len(l.text) - len(strings.TrimLeft(l.text, " ")); indent < 0 || n < indent {
			indent = n
		}
	}
	for i := range lines {
		lines[i].text = lines[i].text[indent:]
		for j := range lines[i].marks {
			lines[i].marks[j].start -= indent
			lines[i].marks[j].end -= indent
		}
	}
}

// crop returns l cut to at most n runes, n > 2, around the marks it has most
// of within so many. What was cut off is an ellipsis. It returns room for the next.
func (l quotedLine) crop(n int, room []int) (quotedLine, []int) {
	if utf8.RuneCountInString(l.text) <= n {
		return l, room
	}
	n -= 2                             // an ellipsis on either side
	starts := runeStarts(l.text, room) // byte of each rune, and the end
	total := len(starts) - 1
	from, most := 0, 0
	for i, m := range l.marks {
		at, _ := slices.BinarySearch(starts, m.start)
		// What stands before belongs to it too. A line is read from its beginning
		// where that is near.
		s := max(at-n/4, 0)
		if at < n/2 {
			s = 0
		}
		covered := 0
		for _, o := range l.marks[i:] {
			if o.end <= starts[min(s+n, total)] {
				covered += o.end - o.start
			}
		}
		if covered > most {
			from, most = s, covered
		}
	}
	from = l.wordStart(starts, min(from, total-n), n/8)
	return l.slice(starts[from], starts[min(from+n, total)]), starts
}

// wordStart moves a cut at rune from, not 0, to the next beginning of a word
// within reach runes, unless a mark would be lost, and never between a letter and
// its marks.
func (l quotedLine) wordStart(starts []int, from, reach int) int {
	if from == 0 {
		return 0
	}
	total := len(starts) - 1
	for i := from; i < min(from+reach, total); i++ {
		if slices.ContainsFunc(l.marks, func(m span) bool { return m.start < starts[i] && m.end > starts[from] }) {
			break
		}
		if l.text[starts[i]-1] == ' ' {
			return i
		}
	}
	for from < total && unicode.Is(unicode.M, firstRune(l.text[starts[from]:])) {
		from++
	}
	return from
}

// slice returns the bytes [start, end) of l, with an ellipsis for what is
// missing.
func (l quotedLine) slice(start, end int) quotedLine {
	const ellipsis = "…"
	out := quotedLine{n: l.n, text: l.text[start:end], shown: true}
	shift := -start
	if start > 0 {
		out.text = ellipsis + out.text
		shift += len(ellipsis)
	}
	if end < len(l.text) {
		out.text += ellipsis
	}
	for _, m := range l.marks {
		m.start, m.end = max(m.start, start), min(m.end, end)
		if m.start < m.end {
			out.marks = append(out.marks, span{m.start + shift, m.end + shift})
		}
	}
	return out
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// runeStarts returns where each rune of s begins, and where the last one ends, in
// room if that is enough.
func runeStarts(s string, room []int) []int {
	starts := slices.Grow(room[:0], len(s)+1)
	for i := range s {
		starts = append(starts, i)
	}
	return append(starts, len(s))
}

// wire returns the lines of the quote joined by line feeds, the number of each
// when the first line of the whole text has the number first, and what is marked
// in characters.
func (qu quote) wire(first int) (text string, numbers []int, marks []wire.Range) {
	var b strings.Builder
	runes := 0
	for i, l := range qu {
		if i > 0 {
			b.WriteByte('\n')
			runes++
		}
		for _, m := range l.marks {
			start := runes + utf8.RuneCountInString(l.text[:m.start])
			marks = append(marks, wire.Range{Start: start, End: start + utf8.RuneCountInString(l.text[m.start:m.end])})
		}
		b.WriteString(l.text)
		runes += utf8.RuneCountInString(l.text)
		numbers = append(numbers, first+l.n-1)
	}
	return b.String(), numbers, marks
}

// withoutTitle returns body without a heading at its start that repeats title,
// which stands beside every quote anyway.
func withoutTitle(body, title string) string {
	line, rest, _ := strings.Cut(strings.TrimLeft(body, "\r\n"), "\n")
	heading := strings.TrimLeft(line, "#")
	if heading != line && strings.EqualFold(strings.TrimSpace(heading), strings.TrimSpace(title)) {
		return rest
	}
	return body
}
