package secret

import "slices"

// A wordSet finds many short words in a text, whatever their case.
type wordSet struct {
	list []string // lower case, at least two bytes long
	// pairs has a bit for each pair of bytes, as written, with which a word
	// can begin; nearly every position of a text fails this one test.
	pairs [1 << 16 / 64]uint64
	first map[uint16][]int // lower-case pair → words, longest first
}

type hit struct{ word, at int }

func newWordSet(list []string) *wordSet {
	w := &wordSet{list: list, first: map[uint16][]int{}}
	for i, s := range list {
		pair := uint16(s[0])<<8 | uint16(s[1])
		w.first[pair] = append(w.first[pair], i)
		for _, a := range cases(s[0]) {
			for _, c := range cases(s[1]) {
				p := uint16(a)<<8 | uint16(c)
				w.pairs[p>>6] |= 1 << (p & 63)
			}
		}
	}
	for _, at := range w.first {
		slices.SortFunc(at, func(a, b int) int { return len(list[b]) - len(list[a]) })
	}
	return w
}

func cases(c byte) []byte {
	if c >= 'a' && c <= 'z' {
		return []byte{c, c - 32}
	}
	return []byte{c}
}

// find returns where the words stand in b, in order.
func (w *wordSet) find(b []byte) []hit {
	var hits []hit
	if len(b) < 2 {
		return nil
	}
	pair := uint16(b[0])
	for i := 1; i < len(b); i++ {
		pair = pair<<8 | uint16(b[i])
		if w.pairs[pair>>6]&(1<<(pair&63)) == 0 {
			continue
		}
		low := uint16(lower(byte(pair>>8)))<<8 | uint16(lower(byte(pair)))
		for _, n := range w.first[low] {
			if s := w.list[n]; i-1+len(s) <= len(b) && equalLower(b[i-1:i-1+len(s)], s) {
				hits = append(hits, hit{n, i - 1})
			}
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
