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

// placesIn returns the part of ordered cuts that lies in (start, end).
func placesIn(cuts []cut, start, end int) []cut {
	at := func(c cut, to int) int { return cmp.Compare(c.at, to) }
	i, _ := slices.BinarySearchFunc(cuts, start+1, at)
	j, _ := slices.BinarySearchFunc(cuts, end, at)
	if i >= j {
		return nil
	}
	return cuts[i:j]
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
