package chunker

import (
	"bytes"
	"cmp"
	"slices"
)

// sortPlaces orders cuts by where they are and keeps the best rank of each place.
func sortPlaces(cuts []cut) []cut {
	slices.SortFunc(cuts, func(a, b cut) int {
		if c := cmp.Compare(a.at, b.at); c != 0 {
			return c
		}
		return cmp.Compare(a.rank, b.rank)
	})
	return slices.CompactFunc(cuts, func(a, b cut) bool { return a.at == b.at })
}

// lineStart returns the start of the line that at lies in if there is nothing
// but space before at, else at.
func lineStart(src []byte, at int) int {
	first := bytes.LastIndexByte(src[:at], '\n') + 1
	if len(bytes.TrimSpace(src[first:at])) == 0 {
		return first
	}
	return at
}
