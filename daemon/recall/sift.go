package recall

import (
	"strings"
	"unicode/utf8"
)

// A sift tells lines in which words of a question may stand from those in which
// they cannot, by looking at the first two letters of each word: nine lines of code
// in ten need no analysis then. It knows of the analyser that a word begins where
// letters and digits do, at a capital, and between letters and digits; that a stem
// has the first two letters of its word; and that a joined form begins as its first
// word does, which may have one letter. A nil sift lets all through.
type sift struct {
	pairs  [alnums]uint64 // by first letter: the second ones
	single uint64         // letters that may be words of their own
}

const alnums = 36 // letters, then digits

// alnum returns the number of a letter, in any case, or a digit; ok is false for
// what is none.
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

// term lets lines through that may have a term, a stem for most.
func (s *sift) term(t string) {
	if len(t) == 0 {
		return
	}
	first, ok := alnum(t[0])
	if !ok {
		return // no line of ASCII has it
	}
	if len(t) == 1 {
		s.single |= 1 << first
	} else if second, ok := alnum(t[1]); ok {
		s.pairs[first] |= 1 << second
	}
}

// joined lets lines through that may have the beginning of a joined form.
func (s *sift) joined(j string) {
	if s.term(j); len(j) > 0 {
		s.term(j[:1])
	}
}

// mostStarts is how many words one run of letters has before the analyser may take
// it for one, without what stands between them.
const mostStarts = 30

// longLine is less than the longest run of letters that the analyser takes for words.
const longLine = 150

// may reports whether a word of the question may stand in line, or a joined form
// begin there. Lines that are not all ASCII are not looked into, nor long ones,
// which the analyser may take for data.
func (s *sift) may(line string) bool {
	if s == nil || len(line) > longLine {
		return true
	}
	starts := 0
	prev := byte(' ')
	for i := 0; i < len(line); i++ {
		c := line[i]
		if c >= utf8.RuneSelf {
			return true
		}
		n, ok := alnum(c)
		if !ok {
			if c == ' ' || c == '\t' {
				starts = 0
			}
			prev = c
			continue
		}
		inside := c >= 'a' && isLetter(prev) || c <= '9' && prev >= '0' && prev <= '9'
		prev = c
		if inside {
			continue
		}
		if starts++; starts > mostStarts {
			return true
		}
		next := byte(' ')
		if i+1 < len(line) {
			next = line[i+1]
		}
		if m, ok := alnum(next); ok && s.pairs[n]>>m&1 == 1 {
			return true
		}
		goes := next >= 'a' && next <= 'z' // the word goes on
		if c <= '9' {
			goes = next >= '0' && next <= '9'
		}
		if s.single>>n&1 == 1 && !goes {
			return true
		}
	}
	// What stands behind the first hit is not looked at: it may be anything.
	return false
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// phraseGap is more bytes than stand between the two words of a phrase.
const phraseGap = 16

// begins reports whether a term or joined form of a text may be one of a word of the
// question, by its first letters.
func (s *sift) begins(form []byte) bool {
	if s == nil || len(form) < 2 || form[0] >= utf8.RuneSelf || form[1] >= utf8.RuneSelf {
		return true
	}
	first, ok := alnum(form[0])
	if !ok {
		return true
	}
	second, ok := alnum(form[1])
	return !ok || s.pairs[first]>>second&1 == 1 || s.single>>first&1 == 1
}

// passing calls fn for the parts of text that may have words of the question, or
// joined forms of them: the lines that pass, each with what it takes for a phrase
// that begins in it; until fn returns false.
func (s *sift) passing(text string, fn func(part string) bool) {
	start, end := -1, 0 // of the part at hand
	for at := 0; at < len(text); {
		line := text[at:lineEnd(text, at)]
		if start >= 0 && at >= end {
			if !fn(text[start:end]) {
				return
			}
			start = -1
		}
		if next := at + len(line); s.may(strings.TrimRight(line, "\r\n")) {
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

// lineEnd returns where the line ends that has byte at of text, behind its line feed.
func lineEnd(text string, at int) int {
	if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(text)
}
