package recall

import (
	"strings"
	"unicode/utf8"
)

// A prefilter tells lines in which words of a question may occur from lines in which they
// cannot, by the first three letters of each word, so that most lines need no analysis.
// It relies on the analyser's rules: a word begins at a letter or digit, at a capital,
// and between letters and digits; a stem has all letters but the last from the beginning
// of its word, and the first two in any case; a joined form begins as its first word
// does, which may have one or two letters. A nil prefilter lets all lines through.
type prefilter struct {
	bigrams        [alnums]uint64 // by first letter: the set of second letters
	anyThird       [alnums]uint64 // of those: the third letter may be any
	twoLetterWords [alnums]uint64 // of those: words of two letters
	trigrams       []trigram      // of the others: the third letters
	oneLetterWords uint64         // letters that may be words of their own
}

// A trigram is a set of third letters that may follow two.
type trigram struct {
	first, second int
	thirds        uint64
}

const alnums = 36 // letters, then digits

// alnum returns the number of a letter, in either case, or a digit; ok is false for other
// bytes.
func alnum(c byte) (n int, ok bool) {
	switch {
	case c >= 'a' && c <= 'z':
		return int(c - 'a'), true
	case c >= 'A' && c <= 'Z':
		return int(c - 'A'), true
	case c >= '0' && c <= '9':
		return 26 + int(c-'0'), true
	}
	return 0, false
}

// addTerm lets lines through that may have a term, which mostly is a stem.
func (f *prefilter) addTerm(t string) {
	if len(t) == 0 {
		return
	}
	first, ok := alnum(t[0])
	if !ok {
		return // a line of ASCII cannot have it
	}
	if len(t) == 1 {
		f.oneLetterWords |= 1 << first
		return
	}
	second, ok := alnum(t[1])
	if !ok {
		return
	}
	const known = 4 // letters of a stem of which the first three begin its word
	if len(t) < known || !f.addTrigram(first, second, t[2]) {
		f.bigrams[first] |= 1 << second
		f.anyThird[first] |= 1 << second
	}
}

// addTrigram lets lines through that may have a word of three letters or more with this
// beginning. It returns false if c is no letter or digit.
func (f *prefilter) addTrigram(first, second int, c byte) bool {
	n, ok := alnum(c)
	if !ok {
		return false
	}
	f.bigrams[first] |= 1 << second
	for i := range f.trigrams {
		if t := &f.trigrams[i]; t.first == first && t.second == second {
			t.thirds |= 1 << n
			return true
		}
	}
	f.trigrams = append(f.trigrams, trigram{first, second, 1 << n})
	return true
}

// addJoined lets lines through in which a joined form may begin.
func (f *prefilter) addJoined(j string) {
	if len(j) == 0 {
		return
	}
	f.addTerm(j[:1])
	if len(j) == 1 {
		return
	}
	first, ok := alnum(j[0])
	second, also := alnum(j[1])
	if !ok || !also {
		return
	}
	f.bigrams[first] |= 1 << second
	f.twoLetterWords[first] |= 1 << second
	if len(j) > 2 && !f.addTrigram(first, second, j[2]) {
		f.anyThird[first] |= 1 << second
	}
}

// wordMayBegin reports whether a word of the question may begin with these two letters,
// which are a known bigram, followed by c.
func (f *prefilter) wordMayBegin(first, second int, c byte) bool {
	if f.anyThird[first]>>second&1 == 1 {
		return true
	}
	if n, ok := alnum(c); ok {
		for i := range f.trigrams {
			if t := &f.trigrams[i]; t.first == first && t.second == second && t.thirds>>n&1 == 1 {
				return true
			}
		}
	}
	if f.twoLetterWords[first]>>second&1 == 0 {
		return false
	}
	if second < 26 {
		return c < 'a' || c > 'z' // a letter would continue the word
	}
	return c < '0' || c > '9'
}

// maxWordsPerRun is how many words a run without separators may have before the analyser
// may take it for one word.
const maxWordsPerRun = 30

// maxRun is below the length of the longest run of letters that the analyser cuts into
// words.
const maxRun = 150

// mayMatch reports whether a word of the question may occur in line, or a joined form
// begin there. It is true for lines that are not all ASCII, and for those with a long run
// without a blank, which the analyser may take for data.
func (f *prefilter) mayMatch(line string) bool {
	if f == nil {
		return true
	}
	at, whole := f.next(line, 0)
	return whole || at < len(line)
}

// windows appends the parts of line to out in which words of the question may occur, each
// long enough for a phrase that begins there; in order, from blank to blank, none
// touching. It is the whole line if mayMatch cannot check it.
func (f *prefilter) windows(line string, out []span) []span {
	for at := 0; at < len(line); {
		hit, whole := 0, f == nil
		if !whole {
			hit, whole = f.next(line, at)
		}
		if whole {
			return append(out[:0], span{0, len(line)})
		}
		if hit == len(line) {
			break
		}
		at = wordsEnd(line, hit)
		w := span{wordsStart(line, hit), wordsEnd(line, min(at+phraseGap, len(line)))}
		if last := len(out) - 1; last >= 0 && w.start <= out[last].end {
			out[last].end = w.end
		} else {
			out = append(out, w)
		}
	}
	return out
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// wordsStart returns where the run without blanks begins that has byte at of text, or
// ends before it.
func wordsStart(text string, at int) int {
	for at > 0 && !isBlank(text[at-1]) {
		at--
	}
	return at
}

// wordsEnd returns where the run without blanks ends that has byte at of text; at, if
// there is a blank.
func wordsEnd(text string, at int) int {
	for at < len(text) && !isBlank(text[at]) {
		at++
	}
	return at
}

// next returns where the first word in line[at:] begins that may be one of the question,
// len(line) if none does; or whole, if the line must be analysed to tell. At is at a
// blank or the beginning of the line.
func (f *prefilter) next(line string, at int) (hit int, whole bool) {
	starts, blank := 0, at-1 // words since the last blank, and where that blank is
	prev := byte(' ')
	for i := at; i < len(line); i++ {
		c := line[i]
		if c >= utf8.RuneSelf {
			return 0, true
		}
		n, ok := alnum(c)
		if !ok {
			if c == ' ' || c == '\t' {
				if i-blank > maxRun {
					return 0, true
				}
				starts, blank = 0, i
			}
			prev = c
			continue
		}
		inside := c >= 'a' && isLetter(prev) || c <= '9' && prev >= '0' && prev <= '9'
		prev = c
		if inside {
			continue
		}
		if starts++; starts > maxWordsPerRun {
			return 0, true
		}
		next := byte(' ')
		if i+1 < len(line) {
			next = line[i+1]
		}
		if m, ok := alnum(next); ok && f.bigrams[n]>>m&1 == 1 {
			then := byte(' ')
			if i+2 < len(line) {
				then = line[i+2]
			}
			if then >= utf8.RuneSelf || f.wordMayBegin(n, m, then) {
				return i, false
			}
		}
		goes := next >= 'a' && next <= 'z' // the word continues
		if c <= '9' {
			goes = next >= '0' && next <= '9'
		}
		if f.oneLetterWords>>n&1 == 1 && !goes {
			return i, false
		}
	}
	return len(line), len(line)-blank > maxRun
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// phraseGap is more bytes than the two words of a phrase can have between them.
const phraseGap = 16

// formMayMatch reports whether a term or joined form of a text may be one of the
// question, by its first letters.
func (f *prefilter) formMayMatch(form []byte) bool {
	if f == nil || len(form) < 2 || form[0] >= utf8.RuneSelf || form[1] >= utf8.RuneSelf {
		return true
	}
	first, ok := alnum(form[0])
	if !ok {
		return true
	}
	second, ok := alnum(form[1])
	if !ok || f.oneLetterWords>>first&1 == 1 {
		return true
	}
	if f.bigrams[first]>>second&1 == 0 {
		return false
	}
	return len(form) == 2 || f.wordMayBegin(first, second, form[2]) || f.twoLetterWords[first]>>second&1 == 1
}

// eachMatchingPart calls fn for the parts of text that may have words or joined forms of
// the question, each long enough for a phrase that begins in it, until fn returns false.
func (f *prefilter) eachMatchingPart(text string, fn func(part string) bool) {
	start, end := -1, 0 // of the current part
	for at := 0; at < len(text); {
		line := text[at:lineEnd(text, at)]
		if start >= 0 && at >= end {
			if !fn(text[start:end]) {
				return
			}
			start = -1
		}
		if next := at + len(line); f.mayMatch(strings.TrimRight(line, "\r\n")) {
			if start < 0 {
				start = at
			}
			end = lineEnd(text, min(next+phraseGap, len(text)))
		}
		at += len(line)
	}
	if start >= 0 {
		fn(text[start:end])
	}
}

// lineEnd returns the end of the line that has byte at of text, after its line feed.
func lineEnd(text string, at int) int {
	if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(text)
}
