package main

import (
	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
)

func linkCommand(app *App) *cobra.Command {
	c := parent("link", "Link memories", linkAddCommand(app), linkListCommand(app), linkRemoveCommand(app))
	c.SuggestFor = []string{"links", "relate"}
	return c
}

func linkAddCommand(app *App) *cobra.Command {
	var in wire.LinkCreate
	c := &cobra.Command{
		Use:     "add SRC DST",
		Aliases: []string{"new", "create"},
		Short:   "Link one memory to another",
		Args:    between(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			src, err := memoryID(args[0])
			if err != nil {
				return err
			}
			if in.TargetID, err = memoryID(args[1]); err != nil {
				return err
			}
			return app.inProject(cmd.Context(), func(c local.Client, slug string) error {
				l, err := c.AddLink(cmd.Context(), slug, src, in)
				if err != nil {
					return err
				}
				return app.Emit(l, func(p terminal.Printer) { p.Printf("%s  %s %s %s\n", l.ID, l.SourceID, l.Type, l.TargetID) })
			})
		},
	}
	c.Flags().StringVar(&in.Type, "type", "related", "related, references, depends_on, modifies, or any WORD")
	c.Flags().StringVar(&in.Context, "context", "", "why they are linked")
	return c
}

func linkListCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:     "list ID",
		Aliases: []string{"ls", "show"},
		Short:   "List the links of a memory, in both directions",
		Args:    between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := memoryID(args[0])
			if err != nil {
				return err
			}
			return app.inProject(cmd.Context(), func(c local.Client, slug string) error {
				list, err := c.Links(cmd.Context(), slug, id)
				if err != nil {
					return err
				}
				return app.Emit(list, func(p terminal.Printer) {
					for _, l := range list.Items {
						arrow := "→"
						if l.Direction == "in" {
							arrow = "←"
						}
						p.Printf("%s  %s\n", l.ID, linkText(l, arrow))
					}
				})
			})
		},
	}
}

func linkRemoveCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:     "rm LINKID",
		Aliases: []string{"delete", "del", "remove", "unlink"},
		Short:   "Remove a link; `link list` prints the ids",
		Args:    between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.inProject(cmd.Context(), func(c local.Client, slug string) error {
				if err := c.RemoveLink(cmd.Context(), slug, args[0]); err != nil {
					return err
				}
				return app.Emit(map[string]string{"removed": args[0]}, func(p terminal.Printer) { p.Printf("removed %s\n", args[0]) })
			})
		},
	}
}
