package fold

import "strings"

// ForeignLines returns the lines of a memory file's frontmatter under keys that are
// not ours, as they are written; "" if there are none, or b has no frontmatter that
// can be read.
func ForeignLines(b []byte) string {
	l, err := split(b)
	if err != nil || !l.has {
		return ""
	}
	head := b[l.head:l.headEnd]
	entries, err := readHead(head, l.headLine)
	if err != nil {
		return ""
	}
	ours := map[string]bool{}
	for _, f := range fields(&Memory{}) {
		ours[f.Key] = true
	}
	var out strings.Builder
	for _, e := range entries {
		if !ours[canonicalKey(e.key)] {
			out.WriteString(lf(string(head[e.start:e.end])))
		}
	}
	return out.String()
}
