package main

import (
	"regexp"
	"strings"
)

var (
	mdHeading = regexp.MustCompile(`^(#{1,6})[ \t]+(.*?)[ \t#]*$`)
	mdAnchor  = regexp.MustCompile(`\s*\{#[^}]*\}`)
)

// minSection is how many bytes a section must have to be learned from.
const minSection = 120

// sectionPairs returns a pair for every section of a markdown file: its heading,
// behind that of its parent if it is short, and the text up to the next heading.
func sectionPairs(f file) []textPair {
	var out []textPair
	var titles [7]string
	about, fenced := "", false
	var body strings.Builder
	flush := func() {
		if about != "" && body.Len() >= minSection {
			s := body.String()
			out = append(out, textPair{about: about, text: s[:min(len(s), maxText)]})
		}
		about = ""
		body.Reset()
	}
	for line := range strings.Lines(f.text) {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
			fenced = !fenced
			continue
		}
		m := mdHeading.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if fenced || m == nil {
			body.WriteString(mdLink.ReplaceAllString(htmlTag.ReplaceAllString(line, " "), "$1"))
			continue
		}
		flush()
		level := len(m[1])
		title := mdAnchor.ReplaceAllString(m[2], "")
		title = strings.TrimSpace(mdLink.ReplaceAllString(htmlTag.ReplaceAllString(title, " "), "$1"))
		titles[level] = title
		clear(titles[level+1:])
		about = title
		if len(strings.Fields(title)) < 3 {
			for k := level - 1; k > 0; k-- {
				if titles[k] != "" {
					about = titles[k] + ": " + title
					break
				}
			}
		}
	}
	flush()
	return out
}
