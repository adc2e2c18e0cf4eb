package main

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/doctor"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/fold"
)

func problemsCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:        "problems [ID]",
		SuggestFor: []string{"quarantine"},
		Short:      "Print the files that are set aside, and why",
		Args:       between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.inProject(cmd.Context(), func(c local.Client, slug string) error {
				list, err := allProblems(cmd.Context(), c, slug)
				if err != nil {
					return err
				}
				if len(args) == 1 {
					want := args[0]
					list.Items = slices.DeleteFunc(list.Items, func(pb wire.FileProblem) bool {
						return pb.ID != want && pb.Path != want && strings.TrimSuffix(path.Base(pb.Path), ".md") != want
					})
					if len(list.Items) == 0 {
						return fmt.Errorf("%q is not set aside: %w", want, fold.ErrNotFound)
					}
				}
				return app.Emit(list, func(p terminal.Printer) {
					printProblems(p, "", 0, list.Items)
					if len(list.Items) == 0 {
						app.Messages(false).Printf("no file is set aside\n")
					}
					if len(args) == 0 {
						tellLeftOut(cmd.Context(), app, c, slug)
					}
				})
			})
		},
	}
}

// tellLeftOut says what is not indexed because the checkout says so: nothing is wrong
// with that, and who looks here may look for it.
func tellLeftOut(ctx context.Context, app *App, c local.Client, slug string) {
	st, err := c.ProjectStatus(ctx, slug)
	if err != nil {
		return // what was asked for is printed
	}
	for _, n := range st.Notices {
		if strings.HasPrefix(n, doctor.LeftOut) {
			app.Messages(false).Printf("%s\n", n)
		}
	}
}

// allProblems returns every page of the files set aside.
func allProblems(ctx context.Context, c local.Client, slug string) (wire.ProblemList, error) {
	all := wire.ProblemList{Items: []wire.FileProblem{}}
	q := wire.ProblemQuery{Limit: 1000}
	for {
		page, err := c.Problems(ctx, slug, q)
		if err != nil {
			return all, err
		}
		all.Items = append(all.Items, page.Items...)
		if q.Cursor = page.NextCursor; q.Cursor == "" {
			return all, nil
		}
	}
}
