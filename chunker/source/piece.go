package source

import (
	"cmp"
	"slices"
)

// A Piece is a span of a file on its way to become a chunk.
type Piece struct {
	Start, End int // bytes, [Start, End)
	Kind       string
	Name       string // qualified; a piece with a name is never merged away
	Parent     string
	Doc        string
}

// A Break is a place at which a piece that is too long may be divided.
type Break struct {
	At   int // byte
	Rank int // depth in the tree: the smaller, the better
}

// SortBreaks orders breaks by place and keeps the best rank of each place.
func SortBreaks(breaks []Break) []Break {
	slices.SortFunc(breaks, func(a, b Break) int {
		if c := cmp.Compare(a.At, b.At); c != 0 {
			return c
		}
		return cmp.Compare(a.Rank, b.Rank)
	})
	return slices.CompactFunc(breaks, func(a, b Break) bool { return a.At == b.At })
}

// IsTail reports whether b is only space and closing punctuation.
func IsTail(b []byte) bool {
	for _, c := range b {
		switch c {
		case ' ', '\t', '\r', '\n', '\f', '}', ')', ']', ';', ',':
		default:
			return false
		}
	}
	return true
}
