package recall

import (
	"strings"

	"github.com/foldwatch/foldwatch/meta/words"
)

// passageRunes is how much of a text a snippet quotes at most.
const passageRunes = 240

// queryTerms returns the terms of a question as the analyser sees them.
func queryTerms(query string) map[string]bool {
	terms := map[string]bool{}
	for _, t := range words.Analyze(query) {
		terms[t] = true
	}
	return terms
}

// withoutTitle returns body without a heading at its start that repeats title,
// which stands beside every passage anyway.
func withoutTitle(body, title string) string {
	line, rest, _ := strings.Cut(strings.TrimLeft(body, "\r\n"), "\n")
	heading := strings.TrimLeft(line, "#")
	if heading != line && strings.EqualFold(strings.TrimSpace(heading), strings.TrimSpace(title)) {
		return rest
	}
	return body
}

// passage returns the n lines of text that together hold most of the terms,
// early ones before late ones, without empty lines.
func passage(text string, terms map[string]bool, n int) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \t\r\n"); strings.TrimSpace(line) != "" {
			lines = append(lines, strings.ReplaceAll(line, "\t", "  "))
		}
		if len(lines) == 400 {
			break
		}
	}
	counts := make([]int, len(lines))
	for i, line := range lines {
		seen := map[string]bool{}
		for _, t := range words.Analyze(line[:min(len(line), 400)]) {
			if terms[t] && !seen[t] {
				seen[t] = true
				counts[i]++
			}
		}
	}
	best, at := -1, 0
	for i := range lines {
		sum := 0
		for j := i; j < min(i+n, len(lines)); j++ {
			sum += counts[j]
		}
		if sum > best {
			best, at = sum, i
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return clip(strings.Join(dedent(lines[at:min(at+n, len(lines))]), "\n"), passageRunes)
}

// dedent takes the white space that all lines begin with off them.
func dedent(lines []string) []string {
	indent := -1
	for _, l := range lines {
		if n := len(l) - len(strings.TrimLeft(l, " ")); indent < 0 || n < indent {
			indent = n
		}
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l[max(indent, 0):]
	}
	return out
}
