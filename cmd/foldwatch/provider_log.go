package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
)

func providerLogCommand(app *App) *cobra.Command {
	limit := 50
	c := &cobra.Command{
		Use:   "log",
		Short: "Print every request that left this machine",
		Long: "Prints when a provider on another machine was asked, for which project, with how many\n" +
			"texts and bytes, and what it answered: newest first. What was sent is not kept.",
		Args: between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return usagef("foldwatch provider log --limit 50", "--limit %d: at least one", limit)
			}
			cl, err := app.daemon.Connect(cmd.Context())
			if err != nil {
				return err
			}
			slug, _, _ := strings.Cut(app.slug, "@")
			all := wire.AuditList{Items: []wire.AuditLine{}}
			for q := (wire.AuditQuery{Project: slug}); len(all.Items) < limit; q.Cursor = all.NextCursor {
				q.Limit = min(limit-len(all.Items), 1000)
				page, err := cl.Audit(cmd.Context(), q)
				if err != nil {
					return err
				}
				all.Items, all.NextCursor = append(all.Items, page.Items...), page.NextCursor
				if page.NextCursor == "" {
					break
				}
			}
			return app.Emit(all, func(p terminal.Printer) {
				if len(all.Items) == 0 {
					app.Messages(false).Printf("nothing has left this machine\n")
					return
				}
				var t terminal.Table
				t.Row("TIME", "PROJECT", "HOST", "WHAT", "BYTES", "OUTCOME")
				for _, a := range all.Items {
					t.Row(a.At.Local().Format(time.DateTime), a.Project, a.Host, a.Action, fmt.Sprint(a.Bytes), a.Outcome)
				}
				t.Print(p)
			})
		},
	}
	c.Flags().IntVar(&limit, "limit", limit, "how many requests")
	return c
}
