package main

import (
	"fmt"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
)

// resultIndent is where what belongs to a result begins: below its title.
const resultIndent = "       "

// A resultPrinter prints what a search found.
type resultPrinter struct {
	terminal.Printer
	width       int
	chunks      bool // all spans that matched
	withProject bool
}

// result prints score, title, place, the best lines, and why it is a result.
func (p resultPrinter) result(r wire.SearchResult) {
	room := p.width - len(resultIndent)
	p.Printf("%.3f  %s\n", r.Score, terminal.Bold(terminal.Short(terminal.Clean(r.Title), room)))
	where := place(r)
	if p.withProject && r.Project != "" {
		where = r.Project + ": " + where
	}
	if len(r.MatchedChunks) > 0 && r.MatchedChunks[0].NodeName != "" {
		// Where it does not fit, it stands among the reasons still.
		if node := "  " + r.MatchedChunks[0].NodeType + " " + r.MatchedChunks[0].NodeName; terminal.Columns(terminal.Clean(where+node)) <= room || len(r.Why) == 0 {
			where += node
		}
	}
	p.Printf("%s%s\n", resultIndent, where)
	p.quote(r, room)
	var why []string
	for _, w := range r.Why {
		why = append(why, w.Text)
	}
	for i, line := range wrapped(terminal.Clean(strings.Join(why, "; ")), room-5) {
		head := "why  "
		if i > 0 {
			head = "     "
		}
		p.Printf("%s%s\n", resultIndent, terminal.Dim(head+line))
	}
	mark := ""
	if r.Stale {
		mark = "  stale"
	}
	p.Printf("%s%s\n", resultIndent, terminal.Dim(fmt.Sprintf("%s  %s, %s%s", r.ID, r.Type, r.Metadata.Source, mark)))
	if p.chunks {
		for _, ch := range r.MatchedChunks {
			name := ch.NodeType
			if ch.NodeName != "" {
				name += " " + ch.NodeName
			}
			p.Printf("%s%.3f  %s:%d-%d  %s\n", resultIndent, ch.Score, r.Metadata.FilePath, ch.StartLine, ch.EndLine, name)
		}
	}
	p.explain(r)
}

// quote prints the best lines of the best span, with their numbers, else of the
// memory; at most three.
func (p resultPrinter) quote(r wire.SearchResult, room int) {
	text, marks, numbers := r.Snippet, r.Highlights, []int(nil)
	if len(r.MatchedChunks) > 0 && r.MatchedChunks[0].Snippet != "" {
		c := r.MatchedChunks[0]
		text, marks, numbers = c.Snippet, c.Highlights, c.SnippetLines
	}
	digits := 0
	if len(numbers) > 0 {
		digits = len(fmt.Sprint(numbers[len(numbers)-1]))
		room -= digits + 2
	}
	for i, l := range terminal.MarkedLines(text, marks) {
		if i == 3 {
			break
		}
		number := ""
		if i < len(numbers) {
			number = fmt.Sprintf("%*d  ", digits, numbers[i])
		}
		p.Printf("%s%s%s\n", resultIndent, terminal.Dim(number), l.Cut(room))
	}
}

// explain prints the score as a sum: the features of one channel together, with
// what they add up to.
func (p resultPrinter) explain(r wire.SearchResult) {
	if len(r.Explain) == 0 {
		return
	}
	p.Printf("\n%s%s\n", resultIndent, terminal.Dim(fmt.Sprintf("%-17s %6s   %6s    %7s  %s", "feature", "value", "weight", "adds", "what it is")))
	sum, rest := 0.0, r.Explain
	for len(rest) > 0 {
		n := 1
		for n < len(rest) && rest[n].Channel == rest[0].Channel {
			n++
		}
		sum += p.channel(rest[:n])
		rest = rest[n:]
	}
	p.Printf("%s%-33s = %8.4f\n", resultIndent, "score", sum)
	if len(r.Lacks) > 0 {
		p.Printf("%s%s\n", resultIndent, terminal.Dim("without "+quotedWords(r.Lacks)))
	}
}

// channel prints the terms of one channel below their sum, which it returns; one
// that is named like its channel stands for it.
func (p resultPrinter) channel(terms []wire.ScoreTerm) float64 {
	adds, weight := 0.0, 0.0
	for _, t := range terms {
		adds, weight = adds+t.Adds, weight+max(t.Weight, 0)
	}
	indent := ""
	if len(terms) > 1 || terms[0].Name != terms[0].Channel {
		indent = "  "
		// Padded by hand: a width would count the bytes of the style.
		name := terminal.Short(terminal.Clean(terms[0].Channel), 17)
		pad := strings.Repeat(" ", 27-terminal.Columns(name))
		p.Printf("%s%s%s%6.3f = %+8.4f\n", resultIndent, terminal.Bold(name), pad, weight, adds)
	}
	for _, t := range terms {
		p.Printf("%s%-17s %6.3f × %6.3f = %+8.4f  %s\n", resultIndent, terminal.Short(terminal.Clean(indent+t.Name), 17), t.Value, t.Weight, t.Adds, terminal.Dim(t.About))
	}
	return adds
}

// wrapped breaks a line between words so that each part has at most n columns, but
// for a word that has more.
func wrapped(s string, n int) []string {
	var out []string
	for w := range strings.FieldsSeq(s) {
		if last := len(out) - 1; last >= 0 && terminal.Columns(out[last])+1+terminal.Columns(w) <= n {
			out[last] += " " + w
		} else {
			out = append(out, w)
		}
	}
	return out
}

// place names where to look: the source with the line of the best chunk, else
// the memory's own file.
func place(r wire.SearchResult) string {
	switch {
	case r.Metadata.FilePath != "" && len(r.MatchedChunks) > 0:
		return fmt.Sprintf("%s:%d", r.Metadata.FilePath, r.MatchedChunks[0].StartLine)
	case r.Metadata.FilePath != "":
		return r.Metadata.FilePath
	case r.Metadata.Path != "":
		return "fold/" + r.Metadata.Path
	}
	return r.ID
}

// tellPage says on stderr which results these are, and how to see the next.
func tellPage(app *App, reply wire.SearchReply) {
	if reply.NextCursor == "" && reply.Omitted == 0 || app.JSON {
		return
	}
	first := 1
	if c, err := wire.ParseSearchCursor(reply.Cursor); err == nil {
		first += c.Offset
	}
	app.Messages(false).Printf("\nresults %d to %d of %d; next page: --cursor %s\n", first, first+len(reply.Results)-1, reply.Total, reply.NextCursor)
}
