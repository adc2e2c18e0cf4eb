package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/fold"
)

func addCommand(app *App) *cobra.Command {
	var in wire.ProjectCreate
	c := &cobra.Command{
		Use:     "add PATH",
		Aliases: []string{"register"},
		Short:   "Register a checkout; it is indexed in the background",
		Args:    between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := app.absolute(args[0])
			if err != nil {
				return err
			}
			if err := needRepository(cmd.Context(), app, path, "add"); err != nil {
				return err
			}
			in.Path = path
			if in.Remote, err = remoteURL(app, in.Remote); err != nil {
				return err
			}
			cl, err := app.daemon.Connect(cmd.Context())
			if err != nil {
				return err
			}
			added, err := cl.AddProject(cmd.Context(), in)
			if err != nil {
				return err
			}
			for _, n := range added.Notices {
				app.Messages(false).Printf("foldwatch: %s\n", n)
			}
			return app.Emit(added, func(p terminal.Printer) {
				did := "added"
				if !added.Created {
					did = "is registered already:"
				}
				p.Printf("%s %s  %s\n", did, added.Project.Slug, path)
				if added.Repository != nil {
					printSyncOn(app, p, *added.Repository)
				}
			})
		},
	}
	registrationFlags(c, &in)
	return c
}

func registrationFlags(c *cobra.Command, in *wire.ProjectCreate) {
	f := c.Flags()
	f.StringVar(&in.Name, "name", "", "display NAME")
	f.StringVar(&in.Slug, "slug", "", "short name in commands and ids (default: from the remote or folder)")
	f.Var(oneOf(&in.FileMemories, "auto", "fold", "local"), "file-memories", "one memory file per source file: auto|fold|local")
	f.StringVar(&in.FoldDir, "fold-dir", "", "NAME of the folder of memories (default fold)")
	f.BoolVar(&in.Sync, "sync", false, "publish memories to the remote, and take those of others")
	f.StringVar(&in.Remote, "remote", "", "remote NAME|URL to sync with")
	f.BoolVar(&in.FromMirror, "from-mirror", false, "bring fold/ back from this machine's mirror of the project")
}

func removeCommand(app *App) *cobra.Command {
	var purge, yes bool
	c := &cobra.Command{
		Use:     "remove",
		Aliases: []string{"unregister"},
		Short:   "Unregister a checkout; fold/ and its history stay",
		Long: "Unregisters the checkout you are in, or with -p every checkout of that project.\n" +
			"fold/ and its history stay where they are. --purge deletes both, the index and\n" +
			"the mirror too; it asks first. With --no-input it needs --yes.",
		Args: between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return app.inProject(ctx, func(cl local.Client, slug string) error {
				pr, err := cl.Project(ctx, slug)
				if err != nil {
					return err
				}
				in := wire.ProjectRemove{Purge: purge, Path: app.checkoutHere(pr)}
				if purge && !yes {
					if !app.Ask(fmt.Sprintf("Delete all memories of %s, with their history?", slug)) {
						return fold.WithHint(errors.New("nothing was deleted"), "foldwatch remove --purge --yes")
					}
				}
				if err := cl.RemoveProject(ctx, slug, in); err != nil {
					return err
				}
				return app.Emit(map[string]any{"removed": slug, "purged": purge, "path": in.Path}, func(p terminal.Printer) {
					p.Printf("removed %s\n", slug)
					if in.Path == "" && len(pr.Checkouts) > 1 {
						for _, co := range pr.Checkouts {
							p.Printf("    %s\n", co.Path)
						}
					}
					if !purge {
						app.Messages(false).Printf("fold/ and its history are where they were\n")
					}
				})
			})
		},
	}
	c.Flags().BoolVar(&purge, "purge", false, "also delete fold/, history, index and mirror")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

func projectsCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:     "projects",
		Aliases: []string{"project"},
		Short:   "List the registered projects",
		Args:    between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, err := app.daemon.Connect(cmd.Context())
			if err != nil {
				return err
			}
			list, err := cl.Projects(cmd.Context())
			if err != nil {
				return err
			}
			return app.Emit(list, func(p terminal.Printer) {
				var t terminal.Table
				for _, pr := range list.Items {
					for _, co := range pr.Checkouts {
						t.Row(pr.Slug, co.Path, pr.Name, strings.TrimSpace("sync "+co.Sync+"  "+co.Remote))
					}
				}
				t.Print(p)
				if len(t.Rows) == 0 {
					app.Messages(false).Printf("no project is registered yet; start with: foldwatch up\n")
				}
			})
		},
	}
}
