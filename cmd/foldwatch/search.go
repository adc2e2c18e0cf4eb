package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
)

func searchCommand(app *App) *cobra.Command {
	var in wire.SearchRequest
	var chunks, all bool
	c := &cobra.Command{
		Use:     "search QUERY",
		Aliases: []string{"find", "query", "grep"},
		Short:   "Find source and memories by words, names and structure",
		Example: "foldwatch search \"session timeout\" --type decision\nfoldwatch search ServeHTTP --source file --lang go --chunks\nfoldwatch search retry --path 'internal/**'",
		Args:    between(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Query = strings.Join(args, " ")
			if strings.TrimSpace(in.Query) == "" {
				return usagef("foldwatch search WORDS; what there is, newest first: foldwatch memory list", "there is nothing to search for")
			}
			if in.Limit < 1 || in.Limit > 100 {
				return usagef("", "--limit must be between 1 and 100")
			}
			ctx := cmd.Context()
			cl, err := app.daemon.Connect(ctx)
			if err != nil {
				return err
			}
			var reply wire.SearchReply
			if all {
				reply, err = cl.SearchAll(ctx, in)
			} else {
				var slug string
				if slug, err = app.project(ctx, cl); err == nil {
					reply, err = cl.Search(ctx, slug, in)
				}
			}
			if err != nil {
				return err
			}
			if reply.IndexStale {
				app.Messages(false).Printf("some changes are still being indexed\n")
			}
			if len(reply.NotFound) > 0 && len(reply.Results) > 0 {
				app.Messages(false).Printf("%s; nearest:\n", notFound(reply.NotFound))
			}
			if reply.Notice != "" && (reply.Notice != wire.NoticeNear || len(reply.NotFound) == 0) {
				app.Messages(false).Printf("%s\n", reply.Notice)
			}
			return app.Emit(reply, func(p terminal.Printer) {
				rp := resultPrinter{Printer: p, width: app.Width(), chunks: chunks, withProject: all}
				for i, r := range reply.Results {
					if i > 0 {
						p.Printf("\n")
					}
					rp.result(r)
				}
				if len(reply.Results) == 0 {
					tellNothingFound(app, in, reply, all)
				} else if in.Explain {
					tellQuery(app, reply)
				}
				tellPage(app, reply)
			})
		},
	}
	f := c.Flags()
	f.IntVar(&in.Limit, "limit", 10, "at most N results (1 to 100)")
	f.StringVar(&in.Cursor, "cursor", "", "go on from where a page ended; it names the next")
	f.IntVar(&in.TokenBudget, "token-budget", 0, "at most N tokens of results as JSON (at least 300), for agents")
	f.Var(oneOf(&in.Source, "file", "agent", "git"), "source", "only what comes from file|agent|git")
	f.StringVar(&in.Type, "type", "", "only memories of type T")
	f.StringArrayVar(&in.Tags, "tag", nil, "only with tag T; repeat for all of several")
	f.StringVar(&in.Author, "author", "", "only by author A")
	f.StringVar(&in.FilePattern, "path", "", "only source paths that match GLOB, quoted; ** crosses folders")
	f.StringVar(&in.Language, "lang", "", "only in language L, as go, typescript (or ts), csharp")
	f.StringVar(&in.After, "after", "", "updated after D (YYYY-MM-DD or RFC 3339)")
	f.StringVar(&in.Before, "before", "", "updated before D")
	f.Float64Var(&in.MinScore, "min-score", 0, "leave out scores below X; 1 is the best a search could give, so what is enough differs from query to query")
	f.BoolVar(&chunks, "chunks", false, "also show the spans that matched")
	f.BoolVar(&in.Explain, "explain", false, "show how each score comes about, where the words occur, what each filter takes away")
	f.BoolVar(&all, "all-projects", false, "search every project, and name that of each result")
	f.BoolVar(&in.WaitForPending, "wait", false, "wait until queued writes are searchable")
	return c
}
