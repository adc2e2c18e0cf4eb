package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
)

func indexCommand(app *App) *cobra.Command {
	var in wire.Reindex
	var wait bool
	c := &cobra.Command{
		Use:        "index",
		Aliases:    []string{"reindex"},
		SuggestFor: []string{"embed"},
		Short:      "Look at every file again; what has not changed costs nothing",
		Args:       between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if in.RetryFailed && (in.Full || in.History > 0) {
				return usagef("foldwatch index --retry-failed", "--retry-failed looks at nothing else: leave out --full and --history")
			}
			if in.History < 0 {
				return usagef("foldwatch index --history 100", "--history %d: how many of the last commits", in.History)
			}
			return reindex(cmd.Context(), app, in, wait)
		},
	}
	c.Flags().BoolVar(&in.Full, "full", false, "also describe anew what was deleted by hand")
	c.Flags().IntVar(&in.History, "history", 0, "also make memories of the last N commits")
	c.Flags().BoolVar(&in.RetryFailed, "retry-failed", false, "only try again what failed or is set aside")
	c.Flags().BoolVar(&wait, "wait", false, "wait until it is done")
	return c
}

func rebuildCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:   "rebuild",
		Short: "Drop the derived stores and make them anew from fold/ and source",
		Args:  between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return reindex(cmd.Context(), app, wire.Reindex{Rebuild: true}, true)
		},
	}
}

// reindexReply is what `index --json` prints.
type reindexReply struct {
	JobID  string              `json:"job_id"`
	Status *wire.ProjectStatus `json:"status,omitempty"` // with --wait
}

func reindex(ctx context.Context, app *App, in wire.Reindex, wait bool) error {
	return app.inProject(ctx, func(c local.Client, slug string) error {
		ref, err := c.Reindex(ctx, slug, in)
		if err != nil {
			return err
		}
		r := reindexReply{JobID: ref.JobID}
		if !wait {
			return app.Emit(r, func(p terminal.Printer) {
				p.Printf("queued %s\n", r.JobID)
				app.Messages(false).Printf("to watch it: foldwatch jobs %s\n", r.JobID)
			})
		}
		b := app.NewBar(app.now)
		if err := follow(ctx, c, ref.JobID, b); err != nil {
			return err
		}
		st, err := settled(ctx, c, wire.ProjectAdded{Project: wire.Project{Slug: slug}}, b)
		if err != nil {
			return err
		}
		r.Status = &st
		return app.Emit(r, func(p terminal.Printer) {
			f := st.Files
			p.Printf("%s: %d indexed, %d skipped, %d failed; %s, %s\n", slug, f.Indexed, f.Skipped, f.Failed,
				terminal.Plural(st.Memories, "memory"), terminal.Plural(st.Chunks, "chunk"))
			if f.Failed > 0 {
				app.Messages(false).Printf("why: foldwatch problems\n")
			}
		})
	})
}

func jobsCommand(app *App) *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use:   "jobs [ID]",
		Short: "Print the queue, or one job",
		Args:  between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := app.daemon.Connect(cmd.Context())
			if err != nil {
				return err
			}
			if len(args) == 1 {
				j, err := cl.Job(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return app.Emit(j, func(p terminal.Printer) { printJob(p, j) })
			}
			list, err := cl.Jobs(cmd.Context(), app.slug, limit)
			if err != nil {
				return err
			}
			return app.Emit(list, func(p terminal.Printer) {
				var t terminal.Table
				for _, j := range list.Items {
					t.Row(j.ID, j.Status, j.Type, j.Project, terminal.Ago(j.CreatedAt, app.now()), j.Error)
				}
				t.Print(p)
				if len(t.Rows) == 0 {
					app.Messages(false).Printf("no jobs\n")
				}
			})
		},
	}
	c.Flags().IntVar(&limit, "limit", 20, "at most N jobs")
	return c
}

func printJob(p terminal.Printer, j wire.Job) {
	p.Printf("%s  %s %s  %s\n", terminal.Bold(j.ID), j.Type, j.Project, j.Status)
	if j.Progress != nil {
		p.Printf("  progress  %s\n", terminal.ProgressLine(*j.Progress))
	}
	p.Printf("  attempts  %d\n", j.Attempts)
	if j.StartedAt != nil && j.EndedAt != nil {
		p.Printf("  took      %s\n", fmt.Sprintf("%.1f s", j.EndedAt.Sub(*j.StartedAt).Seconds()))
	}
	if j.Error != "" {
		p.Printf("  error     %s\n", j.Error)
	}
	if j.NextRetry != nil {
		p.Printf("  retry at  %s\n", j.NextRetry.Local().Format("15:04:05"))
	}
}
