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
	// fewestWords is how many telling words a memory has at least: of fewer, nothing
	// follows from their being the same.
	fewestWords = 5
	// mayLack is how many telling words of the one the other may lack: one of this
	// many. A short memory may lack none, since one word makes it another.
	mayLack = 20
	// inOrder is the least share of neighbouring words of the one that are neighbours
	// in the other: "a before b" is not "b before a".
	inOrder = 0.8
)

// A saying is what a memory says, as far as words tell it.
type saying struct {
	count   int             // telling words
	words   map[string]int  // by how often they occur
	pairs   map[string]bool // of neighbours
	names   map[string]bool // numbers, paths, identifiers: what is never said in other words
	denials int             // not, never, without
}

// sayingOf reads a memory: its title and its text, not what was made of them.
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

// withoutTitle takes the heading off that repeats the title.
func withoutTitle(body, title string) string {
	first, rest, _ := strings.Cut(strings.TrimLeft(body, "\n"), "\n")
	if strings.TrimSpace(strings.TrimPrefix(first, "# ")) == title {
		return rest
	}
	return body
}

// name reports whether a word is said in one way only: it has a digit, joins words
// by a mark, or has a capital behind a small letter.
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

// denies reports whether a word, in lower case, turns what is said into its contrary,
// or bounds it.
func denies(w string) bool {
	return strings.HasSuffix(w, "n't") || slices.Contains([]string{
		"not", "no", "never", "none", "nothing", "neither", "nor", "without", "cannot", "unless", "except", "instead", "only", "revert", "reverts", "reverted",
	}, w)
}

// missing returns how many telling words of other s does not have, each as often as
// it occurs.
func (s *saying) missing(other *saying) int {
	n := 0
	for w, k := range other.words {
		n += max(0, k-s.words[w])
	}
	return n
}

// saysAll reports whether s says what other says, and which share of its words it has.
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
