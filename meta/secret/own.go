package secret

import (
	"bytes"
	"hash/crc32"
)

// The tokens of foldwatch itself: the prefix, 43 letters and digits, and 6 for the
// CRC-32 (IEEE) of those. What has another sum opens nothing: it is an example, or
// cut short.
const (
	ownRule   = "foldwatch-token"
	ownPrefix = "fwt_"
	ownDigits = 43
	ownSum    = 6
	base62    = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// isOwn reports whether a token begins at the prefix b[at:end].
func isOwn(b []byte, at, end int) bool {
	if len(b) < end+ownDigits+ownSum || string(b[at:end]) != ownPrefix { // a keyword is found whatever its case
		return false
	}
	digits, sum := b[end:end+ownDigits], b[end+ownDigits:end+ownDigits+ownSum]
	n := uint64(0)
	for _, c := range sum {
		i := bytes.IndexByte([]byte(base62), c)
		if i < 0 {
			return false
		}
		n = n*uint64(len(base62)) + uint64(i)
	}
	return n == uint64(crc32.ChecksumIEEE(digits)) && len(bytes.Trim(digits, base62)) == 0
}

// ownTokens returns the lines, from 1, on which a token begins.
func ownTokens(b []byte) (lines []int) {
	for at := 0; ; at++ {
		i := bytes.Index(b[at:], []byte(ownPrefix))
		if i < 0 {
			return lines
		}
		if at += i; isOwn(b, at, at+len(ownPrefix)) {
			lines = append(lines, 1+bytes.Count(b[:at], []byte{'\n'}))
		}
	}
}
