// Package tokens says how much of a model's context a text takes, at most.
package tokens

import "unicode/utf8"

// Count returns how many tokens a model counts in s, rather too many than too few.
// Tokenisers differ, and none is asked: words count one token for every three
// letters begun, an upper case letter after a lower case one begins anew; numbers
// one for every two digits; runs of other ASCII characters one for every two; line
// feeds and wider gaps one, single spaces none; other characters as many as they
// have bytes in UTF-8, less one. English prose and code have a third to a half
// fewer tokens than that.
func Count(s string) int {
	n, run := 0, 0
	last := space
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			i += size
			if r == utf8.RuneError {
				size = 3
			}
			n, last, run = n+size-1, space, 0
			continue
		}
		i++
		k := kindOf(c)
		if same := k == last || last == upper && k == lower; !same {
			run = 0
		}
		last = k
		if run%share[k] == share[k]-1 && k == space || run%share[k] == 0 && k != space {
			n++
		}
		run++
	}
	return n
}

// Kinds of ASCII characters.
const (
	space = iota
	lower
	upper
	digit
	other
	feed
)

// share is how many characters of a kind are one token at most.
var share = [...]int{space: 2, lower: 3, upper: 3, digit: 2, other: 2, feed: 1}

func kindOf(c byte) int {
	switch {
	case c == ' ' || c == '\t':
		return space
	case c >= 'a' && c <= 'z':
		return lower
	case c >= 'A' && c <= 'Z':
		return upper
	case c >= '0' && c <= '9':
		return digit
	case c == '\n':
		return feed
	}
	return other
}
