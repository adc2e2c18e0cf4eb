package fold

import "bytes"

// conflictMarker returns the line (from 1) of the first mark that git leaves
// where a merge failed, outside code fences, or 0. Seven equals signs count only
// where they cannot be the underline of a heading.
func conflictMarker(b []byte, l layout) int {
	if !bytes.Contains(b, []byte("<<<<<<<")) && !bytes.Contains(b, []byte("=======")) && !bytes.Contains(b, []byte(">>>>>>>")) {
		return 0
	}
	var f fenceState
	blank := true // the line before was blank, or there was none
	line := 0
	for pos := 0; pos < len(b); {
		line++
		end, next := len(b), len(b)
		if i := bytes.IndexByte(b[pos:], '\n'); i >= 0 {
			end, next = pos+i, pos+i+1
		}
		text := bytes.TrimRight(b[pos:end], "\r")
		inside := false
		if pos >= l.body {
			inside = f.line(string(text))
		}
		if !inside {
			switch {
			case marker(text, '<'), marker(text, '>'):
				return line
			case string(text) == "=======" && (blank || pos < l.body):
				return line
			}
		}
		blank = len(bytes.TrimSpace(text)) == 0 || pos < l.body
		pos = next
	}
	return 0
}

// marker reports whether text begins with exactly seven c, followed by a space
// or nothing.
func marker(text []byte, c byte) bool {
	if len(text) < 7 {
		return false
	}
	for _, have := range text[:7] {
		if have != c {
			return false
		}
	}
	return len(text) == 7 || text[7] == ' '
}
