package eval

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// Bounds of what source is asked for without labels.
const (
	leastWords     = 4   // words of a question
	leastLines     = 5   // lines of a function that is asked for
	maxQuestion    = 600 // bytes
	commentsOfFile = 4   // of one file at most
)

// Question returns a text as a question: what people write above code, or about a
// commit, is cut to what they would ask.
func Question(text string) string {
	text = strings.TrimSpace(text)
	return strings.ToValidUTF8(text[:min(len(text), maxQuestion)], "")
}

// Asks reports whether a text has enough words to be a question.
func Asks(text string) bool { return len(strings.Fields(text)) >= leastWords }

// A Comment is a doc comment with the function below it: its first sentence asks
// for the function, and nobody had to label that. Lines count from 1, both ends
// included.
type Comment struct {
	Path       string
	Start, End int    // of the comment
	Last       int    // line of the function
	Text       string // the first sentence, without the function's name

	order [sha256.Size]byte // a fair choice that does not change
}

// Comments returns comments right above the functions of a file that has at least
// some lines: a fair choice of at most four, the same for the same names. Chunks are
// those of src.
func Comments(path string, src []byte, chunks []fold.Chunk) []Comment {
	lines := strings.Split(string(src), "\n")
	var out []Comment
	for _, ch := range chunks {
		if ch.NodeType != "function" && ch.NodeType != "method" || ch.EndLine > len(lines) {
			continue
		}
		start := ch.StartLine
		for start < ch.EndLine && strings.TrimSpace(lines[start-1]) == "" {
			start++
		}
		end := start - 1 // of the comment
		for end < ch.EndLine && isComment(lines[end]) {
			end++
		}
		text := sentence(lines[start-1:end], ch.NodeName)
		last := ch.EndLine
		for last > end && strings.TrimSpace(lines[last-1]) == "" {
			last--
		}
		if last-end < leastLines || !Asks(text) {
			continue
		}
		out = append(out, Comment{path, start, end, last, text, sha256.Sum256([]byte(path + "\x00" + ch.NodeName))})
	}
	return Fair(out, commentsOfFile)
}

// Fair returns at most n of some comments, in an order that has nothing to do with
// what they say and is the same for the same functions.
func Fair(all []Comment, n int) []Comment {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Comment) int { return slices.Compare(a.order[:], b.order[:]) })
	return all[:min(len(all), n)]
}

// Question returns what c asks of the corpus called repo.
func (c Comment) Question(repo string) Query {
	return Query{
		QID: fmt.Sprintf("comment-%s:%d", c.Path, c.Start), Set: "b", Repo: repo, Text: c.Text,
		Rel: []Target{{Path: c.Path, Start: c.End + 1, End: c.Last}}, Strip: &Target{Path: c.Path, Start: c.Start, End: c.End},
	}
}

// Blank returns src, the file of c, without the comment: it would answer itself.
// The lines below keep their numbers.
func (c Comment) Blank(src []byte) []byte {
	lines := strings.SplitAfter(string(src), "\n")
	for i := c.Start - 1; i < c.End && i < len(lines); i++ {
		lines[i] = "\n"
	}
	return []byte(strings.Join(lines, ""))
}

// markers begin a line of a comment in one language or another.
var markers = []string{"/**", "///", "//!", "//", "/*", "*/", "*", "##", "#", "--"}

func isComment(line string) bool {
	line = strings.TrimSpace(line)
	return slices.ContainsFunc(markers, func(m string) bool { return strings.HasPrefix(line, m) })
}

// sentence returns the first sentence of a comment, without the name of what it
// is about, which would give the answer away.
func sentence(lines []string, name string) string {
	var parts []string
	for _, line := range lines {
		line = strings.TrimSuffix(strings.TrimSpace(line), "*/")
		for _, m := range markers {
			if rest, ok := strings.CutPrefix(line, m); ok {
				line = rest
				break
			}
		}
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "@") {
			if len(parts) > 0 {
				break
			}
			continue
		}
		parts = append(parts, line)
	}
	text := strings.Join(parts, " ")
	if i := strings.Index(text, ". "); i > 0 {
		text = text[:i]
	}
	first, rest, _ := strings.Cut(text, " ")
	own := name[strings.LastIndexAny(name, ".:#")+1:]
	if strings.EqualFold(strings.Trim(first, "`.:()"), cmp.Or(own, name)) {
		text = rest
	}
	return Question(text)
}
