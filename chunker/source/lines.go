package source

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

// Lines knows where the lines of a file begin. Lines count from 1.
type Lines struct {
	Starts []int // Starts[i] is the first byte of line i+1
	size   int
}

// IndexLines finds the lines of src. An empty file has one.
func IndexLines(src []byte) *Lines {
	x := &Lines{Starts: make([]int, 1, 1+bytes.Count(src, []byte{'\n'})), size: len(src)}
	for i := 0; ; {
		n := bytes.IndexByte(src[i:], '\n')
		if n < 0 || i+n+1 == len(src) {
			return x
		}
		i += n + 1
		x.Starts = append(x.Starts, i)
	}
}

// At returns the line that byte at lies in.
func (x *Lines) At(at int) int {
	return sort.Search(len(x.Starts), func(i int) bool { return x.Starts[i] > at })
}

// Start returns the first byte of the line that byte at lies in.
func (x *Lines) Start(at int) int { return x.Starts[x.At(at)-1] }

// After returns the first byte of the line after the one that byte at lies in,
// or the size of the file.
func (x *Lines) After(at int) int { return x.End(x.At(at)) }

// End returns the first byte after a line.
func (x *Lines) End(line int) int {
	if line < len(x.Starts) {
		return x.Starts[line]
	}
	return x.size
}

// Count returns how many lines [start, end) touches.
func (x *Lines) Count(start, end int) int {
	if end <= start {
		return 0
	}
	return x.At(end-1) - x.At(start) + 1
}

// RuneStart returns the largest i <= n at which src may be cut without dividing
// a rune. Bytes that are no UTF-8 may be cut anywhere. It is never 0 unless n is,
// so that who goes on behind it gets on.
func RuneStart(src []byte, n int) int {
	for i := n; i > 0 && i > n-utf8.UTFMax; i-- {
		if i == len(src) {
			if r, size := utf8.DecodeLastRune(src[:i]); r != utf8.RuneError || size != 1 {
				return i
			}
			continue
		}
		if utf8.RuneStart(src[i]) {
			return i
		}
	}
	return n
}

// Truncate returns at most n bytes of text and no part of a rune. N is at least 4.
func Truncate(text string, n int) string {
	return text[:RuneStart([]byte(text), min(len(text), n))]
}
