package main

import (
	"fmt"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/words"
)

// What a search says of the query itself goes to stderr: which words occur, and what
// its filters do.

// notFound says which words of a query are nowhere.
func notFound(words []string) string {
	if len(words) == 1 {
		return "no word or name " + quotedWords(words) + " anywhere"
	}
	return "none of these anywhere: " + quotedWords(words)
}

func quotedWords(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = fmt.Sprintf("%q", terminal.Clean(w))
	}
	return strings.Join(out, ", ")
}

// filterFlags are the flags of filters, by their names in requests.
var filterFlags = map[string]string{"tags": "tag", "file_pattern": "path", "language": "lang", "min_score": "min-score"}

// flagOf is a filter as it is typed.
func flagOf(name, value string) string {
	if flag, ok := filterFlags[name]; ok {
		name = flag
	}
	return "--" + name + " " + terminal.Quote(value)
}

// filtersOf are the filters of a search as they are typed.
func filtersOf(in wire.SearchRequest) (out []string) {
	set := []struct{ name, value string }{
		{"source", in.Source}, {"type", in.Type}, {"author", in.Author}, {"file_pattern", in.FilePattern}, {"language", in.Language}, {"after", in.After}, {"before", in.Before},
	}
	for _, tag := range in.Tags {
		set = append(set, struct{ name, value string }{"tags", tag})
	}
	if in.MinScore > 0 {
		set = append(set, struct{ name, value string }{"min_score", fmt.Sprint(in.MinScore)})
	}
	for _, s := range set {
		if s.value != "" {
			out = append(out, flagOf(s.name, s.value))
		}
	}
	return out
}

// tellNothingFound says so with the filters that were set, what each of them and of the
// words has to do with it, and what to try.
func tellNothingFound(app *App, in wire.SearchRequest, reply wire.SearchReply, all bool) {
	p := app.Messages(false)
	if in.Cursor != "" && reply.Total > 0 {
		p.Printf("no more results for %q: there are %d\n", in.Query, reply.Total)
		return
	}
	text := fmt.Sprintf("nothing found for %q", in.Query)
	filters := filtersOf(in)
	if len(filters) > 0 {
		text += " with " + strings.Join(filters, " ")
	}
	p.Printf("%s\n", text)
	tellQuery(app, reply)
	_, known := chunker.LanguageCalled(in.Language)
	switch {
	case in.Language != "" && !known:
		p.Printf("hint: no language is called %q; names are as in go, typescript, tsx, python, cpp, csharp, shell, hcl, markdown\n", in.Language)
	case len(filters) > 0:
		p.Printf("hint: try it without filters: foldwatch search %s\n", terminal.Quote(in.Query))
	case len(words.Analyze(in.Query)) == 0:
		p.Printf("hint: the query has no word to look for\n")
	case all:
		p.Printf("hint: try another word for it, or one that stands in the code; foldwatch projects lists what is searched\n")
	default:
		p.Printf("hint: try another word for it, or one that stands in the code; --all-projects searches every project, foldwatch status says what is indexed\n")
	}
}

// tellQuery says where the words of a query occur, and what its filters take away.
func tellQuery(app *App, reply wire.SearchReply) {
	p := app.Messages(false)
	var found, not []string
	for _, w := range reply.Words {
		text := fmt.Sprintf("%q", terminal.Clean(w.Word))
		switch {
		case w.Filtered:
			not = append(not, text+" (only in what the filters leave out)")
		case w.Found > 0:
			found = append(found, fmt.Sprintf("%s (%d)", text, w.Found))
		default:
			var parts []string
			for _, part := range w.Parts {
				parts = append(parts, fmt.Sprintf("%s %d", terminal.Clean(part.Word), part.Found))
			}
			if len(parts) > 0 {
				text += " (its words: " + strings.Join(parts, ", ") + ")"
			}
			not = append(not, text)
		}
	}
	if len(found) > 0 {
		p.Printf("words found: %s\n", strings.Join(found, ", "))
	}
	if len(not) > 0 {
		p.Printf("words not found: %s\n", strings.Join(not, ", "))
	}
	for _, f := range reply.Filters {
		p.Printf("%s\n", filterLine(f))
	}
}

// filterLine says what one filter does.
func filterLine(f wire.FilterEffect) string {
	flag := flagOf(f.Name, f.Value)
	known := quotedWords(f.Known)
	switch {
	case f.Passing > 0 && f.Name == "min_score":
		return fmt.Sprintf("%s leaves %s, and takes away %d", flag, terminal.Plural(f.Passing, "result"), f.Removed)
	case f.Passing > 0:
		return fmt.Sprintf("%s leaves %s, and of what the query finds takes away %d", flag, terminal.Plural(f.Passing, "memory"), f.Removed)
	case f.Name == "min_score" && len(f.Known) > 0:
		return fmt.Sprintf("%s takes away all %s: the best score is %s", flag, terminal.Plural(f.Removed, "result"), terminal.Clean(f.Known[0]))
	case f.Name == "min_score":
		return fmt.Sprintf("%s takes away nothing", flag)
	case len(f.Known) == 0:
		return fmt.Sprintf("%s: no memory has any such value", flag)
	case f.Name == "after":
		return fmt.Sprintf("%s: no memory is as new; the newest is of %s", flag, terminal.Clean(f.Known[0]))
	case f.Name == "before":
		return fmt.Sprintf("%s: no memory is as old; the oldest is of %s", flag, terminal.Clean(f.Known[0]))
	case f.Name == "file_pattern":
		return fmt.Sprintf("%s: no path matches; there are %s", flag, known)
	}
	return fmt.Sprintf("%s: no memory has it; there are %s", flag, known)
}
