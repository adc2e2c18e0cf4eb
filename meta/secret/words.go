package secret

import (
	"slices"
	"strings"
)

// A wordSet finds many short words in a text, whatever their case.
type wordSet struct {
	list []string // lower case, at least two bytes long
	fold [256]byte
	// slot holds, for a hash of three folded bytes, 1 + the place in begin of
	// the words that can begin with them; 0 for nearly every three bytes.
	slot  [1 << 15]uint16
	begin [][]int // longest word first
}

type hit struct{ word, at int }

// next takes c into the hash of the last three bytes: five bits of each, eight
// of the last.
func next(h uint32, c byte) uint32 { return (h<<5 ^ uint32(c)) & (1<<15 - 1) }

func newWordSet(list []string) *wordSet {
	w := &wordSet{list: list}
	for c := range 256 {
		w.fold[c] = lower(byte(c))
	}
	byHash := map[uint32][]int{}
	put := func(h uint32, word int) {
		if !slices.Contains(byHash[h], word) {
			byHash[h] = append(byHash[h], word)
		}
	}
	for i, s := range list {
		h := next(next(0, s[0]), s[1])
		if len(s) > 2 {
			put(next(h, s[2]), i)
			continue
		}
		for c := range 256 {
			put(next(h, w.fold[c]), i)
		}
	}
	for h, words := range byHash {
		slices.SortFunc(words, func(a, b int) int { return len(list[b]) - len(list[a]) })
		w.begin = append(w.begin, words)
		w.slot[h] = uint16(len(w.begin))
	}
	return w
}

// find returns where the words stand in b, in order.
func (w *wordSet) find(b []byte) []hit {
	var hits []hit
	if len(b) < 2 {
		return nil
	}
	h := next(next(0, w.fold[b[0]]), w.fold[b[1]])
	for i := 2; i < len(b); i++ {
		h = next(h, w.fold[b[i]])
		if slot := w.slot[h]; slot != 0 {
			hits = w.check(hits, b, i-2, w.begin[slot-1])
		}
	}
	// A word of two bytes may be the last.
	for n, s := range w.list {
		if len(s) == 2 && strings.EqualFold(string(b[len(b)-2:]), s) {
			hits = append(hits, hit{n, len(b) - 2})
		}
	}
	return hits
}

func (w *wordSet) check(hits []hit, b []byte, at int, words []int) []hit {
	for _, n := range words {
		s := w.list[n]
		if at+len(s) <= len(b) && equalLower(b[at:at+len(s)], s) {
			hits = append(hits, hit{n, at})
		}
	}
	return hits
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 32
	}
	return c
}

// equalLower reports whether b in lower case is s.
func equalLower(b []byte, s string) bool {
	for i := range b {
		if lower(b[i]) != s[i] {
			return false
		}
	}
	return true
}
