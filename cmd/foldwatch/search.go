package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/chunker"
)

func searchCommand(e *environment) *cobra.Command {
	var in wire.SearchRequest
	var chunks, all bool
	c := &cobra.Command{
		Use:     "search QUERY",
		Short:   "Find source and memories by words, names and structure",
		Example: "foldwatch search \"session timeout\" --type decision\nfoldwatch search ServeHTTP --source file --lang go --chunks\nfoldwatch search retry --path 'internal/**'",
		Args:    between(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Query = strings.Join(args, " ")
			if in.Limit < 1 || in.Limit > 100 {
				return usagef("", "--limit must be between 1 and 100")
			}
			ctx := cmd.Context()
			cl, err := e.connect(ctx)
			if err != nil {
				return err
			}
			var reply wire.SearchReply
			if all {
				reply, err = cl.SearchAll(ctx, in)
			} else {
				var slug string
				if slug, err = e.project(ctx, cl); err == nil {
					reply, err = cl.Search(ctx, slug, in)
				}
			}
			if err != nil {
				return err
			}
			if reply.IndexStale {
				e.messages(false).printf("some changes are still being indexed\n")
			}
			if reply.Notice != "" {
				e.messages(false).printf("%s\n", reply.Notice)
			}
			return e.emit(reply, func(p printer) {
				for i, r := range reply.Results {
					printResult(p, r, i > 0, chunks, all)
				}
				if len(reply.Results) == 0 {
					e.nothingFound(in)
				}
			})
		},
	}
	f := c.Flags()
	f.IntVar(&in.Limit, "limit", 10, "at most N results (1 to 100)")
	f.Var(oneOf(&in.Source, "file", "agent", "git"), "source", "only what comes from file|agent|git")
	f.StringVar(&in.Type, "type", "", "only memories of type T")
	f.StringArrayVar(&in.Tags, "tag", nil, "only with tag T; repeat for all of several")
	f.StringVar(&in.Author, "author", "", "only by author A")
	f.StringVar(&in.FilePattern, "path", "", "only source paths that match GLOB, quoted; ** crosses folders")
	f.StringVar(&in.Language, "lang", "", "only in language L, as go, typescript (or ts), csharp")
	f.StringVar(&in.After, "after", "", "updated after D (YYYY-MM-DD or RFC 3339)")
	f.StringVar(&in.Before, "before", "", "updated before D")
	f.Float64Var(&in.MinScore, "min-score", 0, "leave out scores below X")
	f.BoolVar(&chunks, "chunks", false, "also show the spans that matched")
	f.BoolVar(&in.Explain, "explain", false, "show every term of the score")
	f.BoolVar(&all, "all-projects", false, "search every project")
	f.BoolVar(&in.WaitForPending, "wait", false, "wait until queued writes are searchable")
	return c
}

// nothingFound says so with the filters that were set, since one of them may be
// why.
func (e *environment) nothingFound(in wire.SearchRequest) {
	text := fmt.Sprintf("nothing found for %q", in.Query)
	set := []struct{ flag, value string }{
		{"source", in.Source}, {"type", in.Type}, {"author", in.Author}, {"path", in.FilePattern}, {"lang", in.Language}, {"after", in.After}, {"before", in.Before},
	}
	for _, tag := range in.Tags {
		set = append(set, struct{ flag, value string }{"tag", tag})
	}
	var filters []string
	for _, s := range set {
		if s.value != "" {
			filters = append(filters, "--"+s.flag+" "+quoteArg(s.value))
		}
	}
	if len(filters) > 0 {
		text += " with " + strings.Join(filters, " ")
	}
	p := e.messages(false)
	p.printf("%s\n", text)
	if _, known := chunker.LanguageCalled(in.Language); in.Language != "" && !known {
		p.printf("hint: no language is called %q; names are as in go, typescript, tsx, python, cpp, csharp, shell, hcl, markdown\n", in.Language)
	}
}

// printResult prints score, title, path:line and snippet of one result.
func printResult(p printer, r wire.SearchResult, gap, chunks, withProject bool) {
	if gap {
		p.printf("\n")
	}
	where := place(r)
	if withProject && r.Project != "" {
		where = r.Project + ": " + where
	}
	if len(r.MatchedChunks) > 0 && r.MatchedChunks[0].NodeName != "" {
		where += "  " + r.MatchedChunks[0].NodeType + " " + r.MatchedChunks[0].NodeName
	}
	p.printf("%.3f  %s  %s\n", r.Score, bold(r.Title), where)
	mark := ""
	if r.Stale {
		mark = "  stale"
	}
	p.printf("       %s\n", dim(fmt.Sprintf("%s  %s, %s%s", r.ID, r.Type, r.Metadata.Source, mark)))
	for _, line := range quote(r) {
		p.printf("       %s\n", short(clean(line), 110))
	}
	if chunks {
		for _, ch := range r.MatchedChunks {
			name := ch.NodeType
			if ch.NodeName != "" {
				name += " " + ch.NodeName
			}
			p.printf("       %.3f  %s:%d-%d  %s\n", ch.Score, r.Metadata.FilePath, ch.StartLine, ch.EndLine, name)
		}
	}
	for _, t := range r.Explain {
		p.printf("       %-24s %8.4f × %.3f = %+.4f\n", t.Name, t.Value, t.Weight, t.Adds)
	}
}

// quote is what a result shows of its text: of the best chunk, else of the
// memory; at most three lines.
func quote(r wire.SearchResult) []string {
	text := r.Snippet
	if len(r.MatchedChunks) > 0 && r.MatchedChunks[0].Snippet != "" {
		text = r.MatchedChunks[0].Snippet
	}
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \r\n"); line != "" {
			lines = append(lines, line)
		}
	}
	return lines[:min(len(lines), 3)]
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
