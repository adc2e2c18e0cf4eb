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

// A question is a parsed query: the words it has, and the forms in which a text may have
// them.
type question struct {
	forms         map[string]form // by the term or joined form that the analyser makes
	formCount     int             // how many forms have a number
	partCount     int             // how many forms are required
	words         []askedWord     // in order, each once
	numberedForms []string        // the forms that have a number
	prefilter     *prefilter      // finds lines that may have them
	buffers       *quoteBuffers
}

// A form is what a term or joined form of a text stands for in the question.
type form struct {
	bit      uint64 // of a term; the last bit stands for all after the 63rd
	joined   bool   // an identifier or word pair without its separators
	number   int    // index in what [question.match] looks for, from 1; 0 for none
	required bool   // it belongs to a word or name; matching ends when all of these are found
}

// quoteBuffers are reused from one quote to the next.
type quoteBuffers struct {
	analysis words.Analysis
	lines    []quotedLine
	found    []uint64
	windows  []span
	has      []bool // by number of a form, see match
	starts   []int  // see runeStarts
}

// quoteBufferPool holds buffers for reuse.
var quoteBufferPool = sync.Pool{New: func() any { return &quoteBuffers{} }}

// release returns the buffers of q, which must not be used afterwards.
func (q question) release() {
	clear(q.buffers.lines[:cap(q.buffers.lines)]) // they point to texts
	quoteBufferPool.Put(q.buffers)
}

// An askedWord is one word of a question as it was typed, and the words it is made of:
// getUser of get and User. A word such as is-a, made of stop words, has no parts.
type askedWord struct {
	text   string
	parts  []wordPart
	number int    // of the form of the whole, or of text in lower case
	whole  string // the joined form of a name; "" if the word is no name
	loose  bool   // joined by hyphens, as in prose, rather than as in code
	stops  bool   // it contains stop words
}

type wordPart struct {
	text, term string
	number     int // of the form term
}

// name reports whether w is an identifier: several words written as one.
func (w *askedWord) name() bool { return w.whole != "" }

// parseQuestion analyses a query. The caller must release the question.
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

// numbered returns the number of f, the next one if it has none.
func (q *question) numbered(f form) int {
	if f.number == 0 {
		q.formCount++
		return q.formCount
	}
	return f.number
}

// A span is a part of a text in bytes, [start, end).
type span struct{ start, end int }

// marks returns where words of the question occur in line, in order and not touching, and
// the bits of their terms. It adds the forms to seen. A joined form that may continue on
// the next line begins at open; open is len(line) if there is none.
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
// beginning of a longer form of the question.
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

// marksIn is marks for a part of line; it adds to out and found.
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

// noteAcrossLines adds to seen the forms that begin in the last n bytes of text[:end],
// the end of a line, and continue on the next line.
func (q question) noteAcrossLines(text string, end, n int, seen *formSet) {
	if end == len(text) || n == 0 {
		return
	}
	start := max(end-n, 0)
	start = wordsStart(text, start)
	stop := wordsEnd(text, min(end+phraseGap, len(text)))
	q.marksIn(text, span{start, stop}, seen, nil, 0)
}

// A formSet says which forms of a question occur in a text, by their numbers up to a
// maximum, and whether the set is complete.
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

// unread returns text, or "" if s is complete and text has nothing more to find.
func (s formSet) unread(text string) string {
	if s&completeSet != 0 {
		return ""
	}
	return text
}

// merged sorts spans and merges those that overlap or touch.
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

// A quotedLine is one line of a text with the words of the question marked.
type quotedLine struct {
	n     int // number of the line in the text, from 1
	at    int // byte of the text at which it begins
	text  string
	marks []span
	shown bool // text was prepared by cleanUp
}

// A quote is the best lines of a text, [quotedLines] at most, each cut around its marks.
type quote []quotedLine

// quoteOf returns the consecutive lines of text that together have most of the question,
// the earliest such. Empty lines and common indentation are left out, tabs are two
// spaces, invalid UTF-8 is U+FFFD. Seen are the forms that were found on the way.
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
		// A word that is new counts more than one that another line has too.
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

// readable appends the lines of text that are not empty to lines, and reports whether
// that is all of them.
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

// cleanUp prepares the text of l for display: tabs are two spaces, invalid UTF-8 is
// U+FFFD.
func (l *quotedLine) cleanUp() {
	if !l.shown {
		line := strings.ToValidUTF8(l.text, "\uFFFD")
		l.text, l.shown = strings.ReplaceAll(strings.ReplaceAll(line, "\t", "  "), "\r", " "), true
	}
}

// dedent removes the spaces that all lines begin with.
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

// crop returns l cut to at most n runes, n > 2, where it covers most of the marks, with
// ellipses for what is cut off. It takes a buffer and returns it for the
// next call.
func (l quotedLine) crop(n int, buffer []int) (quotedLine, []int) {
	if utf8.RuneCountInString(l.text) <= n {
		return l, buffer
	}
	n -= 2                               // room for two ellipses
	starts := runeStarts(l.text, buffer) // byte of each rune, and the end
	total := len(starts) - 1
	from, most := 0, 0
	for i, m := range l.marks {
		at, _ := slices.BinarySearch(starts, m.start)
		// Some context before the mark is shown too; the beginning of the line, if it is
		// near.
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

// wordStart moves a cut at rune from to the next beginning of a word within reach runes,
// unless a mark would be lost, and never between a letter and its combining marks. A cut
// at 0 stays.
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

// slice returns the bytes [start, end) of l, with ellipses for what is missing.
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

// runeStarts returns the byte at which each rune of s begins, and the length of s, in
// buffer if that is large enough.
func runeStarts(s string, buffer []int) []int {
	starts := slices.Grow(buffer[:0], len(s)+1)
	for i := range s {
		starts = append(starts, i)
	}
	return append(starts, len(s))
}

// wire returns the lines of the quote joined by line feeds, their numbers if the whole
// text begins at line first, and the marks in runes.
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

// withoutTitle returns body without a heading at its start that repeats title, which is
// shown beside every quote.
func withoutTitle(body, title string) string {
	line, rest, _ := strings.Cut(strings.TrimLeft(body, "\r\n"), "\n")
	heading := strings.TrimLeft(line, "#")
	if heading != line && strings.EqualFold(strings.TrimSpace(heading), strings.TrimSpace(title)) {
		return rest
	}
	return body
}
