package chunker

import (
	"bytes"

	"github.com/foldwatch/foldwatch/chunker/source"
)

// maxLicence is how many bytes of a file are looked at for its licence.
const maxLicence = 16 << 10

// Licence returns how many bytes at the start of a file are the terms it may be
// used by, with what stands before them; 0 if it does not begin with such. Only
// comments are looked at, in whatever language, and only as long as nothing but
// comments, blank lines and [source.IsOpening] came before.
func Licence(src []byte) int {
	src = src[:min(len(src), maxLicence)]
	end, at := 0, 0
	for at < len(src) {
		n := openingComment(src[at:])
		switch {
		case n > 0:
			if source.IsLicence(string(src[at:at+n])) && !bytes.HasPrefix(src[at:], []byte("#!")) {
				end = at + n
			}
		default:
			n = len(src) - at
			if i := bytes.IndexByte(src[at:], '\n'); i >= 0 {
				n = i + 1
			}
			if !source.IsOpening(src[at:at+n], at) {
				return end
			}
		}
		at += n
	}
	return end
}

// openingComment returns how long the comment is that b begins with: one between
// marks, or lines that follow each other and begin with the same mark.
func openingComment(b []byte) int {
	for _, marks := range [...][2]string{{"/*", "*/"}, {"<!--", "-->"}, {`"""`, `"""`}, {"--[[", "]]"}, {"{-", "-}"}, {"(*", "*)"}, {"=begin", "=end"}} {
		if rest, ok := bytes.CutPrefix(b, []byte(marks[0])); ok {
			if i := bytes.Index(rest, []byte(marks[1])); i >= 0 {
				return len(marks[0]) + i + len(marks[1])
			}
			return len(b)
		}
	}
	for _, mark := range [...]string{"//", "#!", "#", "--", ";", "%"} {
		if !bytes.HasPrefix(b, []byte(mark)) || bytes.HasPrefix(b, []byte("#[")) {
			continue
		}
		n := 0
		for line := range bytes.Lines(b) {
			if !bytes.HasPrefix(line, []byte(mark)) {
				break
			}
			n += len(line)
			if mark == "#!" {
				break // names the interpreter
			}
		}
		return n
	}
	return 0
}
