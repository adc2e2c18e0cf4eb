package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
)

// shownPaths is how many lines the paths of one commit take at most: that of a
// first index has thousands.
const shownPaths = 10

func logCommand(app *App) *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use:        "log [ID]",
		Aliases:    []string{"history"},
		SuggestFor: []string{"commits"},
		Short:      "Print the history of all memories, or of one",
		Args:       between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := ""
			if len(args) == 1 {
				var err error
				if id, err = memoryID(args[0]); err != nil {
					return err
				}
			}
			return app.inProject(cmd.Context(), func(c local.Client, slug string) error {
				list, err := c.Log(cmd.Context(), slug, id, limit)
				if err != nil {
					return err
				}
				return app.Emit(list, func(p terminal.Printer) {
					for _, ci := range list.Items {
						printCommit(p, ci)
					}
					if len(list.Items) == 0 {
						app.Messages(false).Printf("no history yet\n")
					}
				})
			})
		},
	}
	c.Flags().IntVar(&limit, "limit", 20, "at most N commits")
	return c
}

func printCommit(p terminal.Printer, ci wire.CommitInfo) {
	p.Printf("%s  %s  %s%s\n", terminal.Dim(ci.Rev[:min(12, len(ci.Rev))]), ci.Time.Local().Format(time.DateTime), ci.Message, terminal.Dim(writtenBy(ci)))
	shown := ci.Paths
	if len(shown) > shownPaths {
		shown = shown[:shownPaths-1]
	}
	for _, path := range shown {
		p.Printf("    %s\n", path)
	}
	if more := len(ci.Paths) - len(shown); more > 0 {
		p.Printf("    and %d more files\n", more)
	}
}

// writtenBy says who wrote what a revision holds, and where.
func writtenBy(ci wire.CommitInfo) string {
	who := strings.Join(ci.Writers, ", ")
	switch {
	case ci.From == "remote":
		return "  (" + who + ", on another machine)"
	case ci.From == "sync" && who != "":
		return "  (of " + who + ")"
	case ci.From == "sync" || ci.Author == "":
		return ""
	}
	return "  (" + ci.Author + ")"
}

func diffCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:   "diff [REV]",
		Short: "Print what changed in fold/ since a revision (default: the last commit)",
		Args:  between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			rev := strings.Join(args, "")
			return app.inProject(cmd.Context(), func(c local.Client, slug string) error {
				d, err := c.Diff(cmd.Context(), slug, rev)
				if err != nil {
					return err
				}
				return app.Emit(d, func(p terminal.Printer) {
					p.Printf("%s", terminal.Block(d.Diff))
					if d.Diff == "" {
						app.Messages(false).Printf("no difference\n")
					}
				})
			})
		},
	}
}

func restoreCommand(app *App) *cobra.Command {
	var in wire.Restore
	var rev string
	var lost, forget bool
	c := &cobra.Command{
		Use:        "restore ID|--commit REV|--lost",
		SuggestFor: []string{"undo", "revert"},
		Short:      "Bring a memory back as it was, or take back a whole commit",
		Args:       between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if lost || forget {
				if !lost || rev != "" || in.At != "" || len(args) > 0 {
					return usagef("foldwatch restore --help", "--lost stands alone, or with --forget, and --forget only with --lost")
				}
				return showLost(app, cmd, forget)
			}
			if (rev != "") == (len(args) > 0) || rev != "" && in.At != "" {
				return usagef("foldwatch restore --help", "give the id of a memory, --commit REV or --lost")
			}
			if rev != "" {
				return undoCommit(app, cmd, rev)
			}
			var err error
			if in.ID, err = memoryID(args[0]); err != nil {
				return err
			}
			return app.inProject(cmd.Context(), func(c local.Client, slug string) error {
				r, err := c.Restore(cmd.Context(), slug, in)
				if err != nil {
					return err
				}
				return emitWrite(app, r, "restored")
			})
		},
	}
	c.Flags().StringVar(&in.At, "at", "", "as of revision REV (default: the last that differs)")
	c.Flags().StringVar(&rev, "commit", "", "take back what commit REV of foldwatch log changed")
	c.Flags().BoolVar(&lost, "lost", false, "list the memories that git took away before they were committed; restore ID brings one back")
	c.Flags().BoolVar(&forget, "forget", false, "with --lost: list and count them no more")
	return c
}

// showLost lists the memories that git took away before they were committed, or ends the
// matter.
func showLost(app *App, cmd *cobra.Command, forget bool) error {
	return app.inProject(cmd.Context(), func(c local.Client, slug string) error {
		if forget {
			r, err := c.ForgetLost(cmd.Context(), slug)
			if err != nil {
				return err
			}
			return app.Emit(r, func(terminal.Printer) {
				app.Messages(false).Printf("%s forgotten; foldwatch log ID has the text still\n", terminal.Plural(r.Count, "memory"))
			})
		}
		list, err := c.Lost(cmd.Context(), slug)
		if err != nil {
			return err
		}
		return app.Emit(list, func(p terminal.Printer) {
			var t terminal.Table
			for _, m := range list.Items {
				t.Row(m.ID, m.WrittenAt.Local().Format(time.DateTime), terminal.Short(terminal.Clean(m.Title), 60), "fold/"+m.Path)
			}
			t.Print(p)
			if len(list.Items) == 0 {
				app.Messages(false).Printf("nothing is lost\n")
			} else {
				app.Messages(false).Printf("to bring one back: foldwatch restore ID; to end the matter: foldwatch restore --lost --forget\n")
			}
		})
	})
}

// undoCommit takes back what revision rev changed.
func undoCommit(app *App, cmd *cobra.Command, rev string) error {
	return app.inProject(cmd.Context(), func(c local.Client, slug string) error {
		r, err := c.Undo(cmd.Context(), slug, wire.Undo{Rev: rev})
		if err != nil {
			return err
		}
		return app.Emit(r, func(p terminal.Printer) {
			for _, path := range r.Paths {
				p.Printf("fold/%s\n", path)
			}
			app.Messages(false).Printf("took back %s: %s\n", rev, terminal.Plural(len(r.Paths), "file"))
		})
	})
}
