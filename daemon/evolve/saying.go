package evolve

import (
	"slices"
	"strings"
	"unicode"

	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/words"
)

// When one memory says all that another says.
const (
	// fewestWords is the least number of telling words of a memory: with fewer, equality
	// means nothing.
	fewestWords = 5
	// mayLack bounds how many telling words may be missing: one of this many. So none of
	// a short memory may be, since one word makes it another.
	mayLack = 20
	// inOrder is the least share of neighbouring words that must be neighbours in the
	// other memory too: "a before b" is not "b before a".
	inOrder = 0.8
)

// A saying is the content of a memory as a set of words.
type saying struct {
	count   int             // telling words
	words   map[string]int  // by how often they occur
	pairs   map[string]bool // of neighbours
	names   map[string]bool // numbers, paths, identifiers, which have no synonyms
	denials int             // not, never, without
}

// sayingOf reads the title and the text of a memory, not what was derived from them.
func sayingOf(row *index.Row) *saying {
	text := withoutTitle(row.Body, row.Title)
	if !strings.HasPrefix(strings.TrimSpace(text), strings.TrimRight(row.Title, "….:")) { // else it is the beginning of the text
		text = row.Title + "\n" + text
	}
	s := &saying{words: map[string]int{}, pairs: map[string]bool{}, names: map[string]bool{}}
	before := ""
	for _, w := range words.Analyze(text) {
		s.count++
		s.words[w]++
		if before != "" {
			s.pairs[before+" "+w] = true
		}
		before = w
	}
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("()[]{}<>\"`“”,;", r) }) {
		w = strings.Trim(w, ".:!?*_#-–—…'‘’")
		if name(w) {
			s.names[w] = true
		}
		if denies(strings.ReplaceAll(strings.ToLower(w), "’", "'")) {
			s.denials++
		}
	}
	return s
}

// withoutTitle removes the heading that repeats the title.
func withoutTitle(body, title string) string {
	first, rest, _ := strings.Cut(strings.TrimLeft(body, "\n"), "\n")
	if strings.TrimSpace(strings.TrimPrefix(first, "# ")) == title {
		return rest
	}
	return body
}

// name reports whether a word is an identifier: it has a digit, a mark inside, or a
// capital after a small letter.
func name(w string) bool {
	small := false
	for i, r := range w {
		switch {
		case unicode.IsDigit(r):
			return true
		case strings.ContainsRune("_/.:=@$%&+\\", r) && i > 0 && i < len(w)-1:
			return true
		case unicode.IsUpper(r) && small:
			return true
		}
		small = unicode.IsLower(r)
	}
	return len(w) > 1 && (w[0] == '-' || w[0] == '/' || w[0] == '$' || w[0] == '@' || w[0] == '.')
}

// denies reports whether a word, in lower case, negates or restricts a statement.
func denies(w string) bool {
	return strings.HasSuffix(w, "n't") || slices.Contains([]string{
		"not", "no", "never", "none", "nothing", "neither", "nor", "without", "cannot", "unless", "except", "instead", "only", "revert", "reverts", "reverted",
	}, w)
}

// missing counts the telling words of other that s does not have, each as often as it
// occurs.
func (s *saying) missing(other *saying) int {
	n := 0
	for w, k := range other.words {
		n += max(0, k-s.words[w])
	}
	return n
}

// saysAll reports whether s says all that other says, and which share of its words s has.
func (s *saying) saysAll(other *saying) (share float64, ok bool) {
	if other.count < fewestWords {
		return 0, false
	}
	missing := s.missing(other)
	if missing > other.count/mayLack {
		return 0, false
	}
	for n := range other.names {
		if !s.names[n] {
			return 0, false
		}
	}
	if s.denials != other.denials {
		return 0, false
	}
	kept := 0
	for p := range other.pairs {
		if s.pairs[p] {
			kept++
		}
	}
	if float64(kept) < inOrder*float64(len(other.pairs)) {
		return 0, false
	}
	return 1 - float64(missing)/float64(other.count), true
}
