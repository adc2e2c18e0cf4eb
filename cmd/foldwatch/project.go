package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// project returns the slug a command is about: --project, else that of the
// checkout which contains the working directory. A directory is in a project of its own
// or in none: no other is taken for it, not even the only one there is.
func (e *environment) project(ctx context.Context, c local.Client) (string, error) {
	if e.slug != "" {
		return e.slug, nil
	}
	wd, err := e.workDir()
	if err != nil {
		return "", err
	}
	here, err := c.ProjectOfPath(ctx, wd)
	switch {
	case err == nil:
		return here.Slug, nil
	case !errors.Is(err, fold.ErrNotFound):
		return "", err
	}
	list, err := c.Projects(ctx)
	if err != nil {
		return "", err
	}
	if len(list.Items) == 0 {
		return "", fold.WithHint(fmt.Errorf("no project is registered: %w", fold.ErrNotFound), "foldwatch up")
	}
	slugs := make([]string, len(list.Items))
	for i, p := range list.Items {
		slugs[i] = p.Slug
	}
	return "", usagef("foldwatch up registers it; or name a project: -p SLUG", "this folder is in no registered checkout; the projects are: %s", strings.Join(slugs, ", "))
}

// inProject connects and finds the project, then runs fn.
func (e *environment) inProject(ctx context.Context, fn func(c local.Client, slug string) error) error {
	c, err := e.daemon.Connect(ctx)
	if err != nil {
		return err
	}
	slug, err := e.project(ctx, c)
	if err != nil {
		return err
	}
	return fn(c, slug)
}

// absolute returns a path as the daemon needs it, which has another working
// directory.
func (e *environment) absolute(path string) (string, error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	wd, err := e.workDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(wd, path), nil
}

func addCommand(e *environment) *cobra.Command {
	var in wire.ProjectCreate
	var system bool
	c := &cobra.Command{
		Use:     "add PATH",
		Aliases: []string{"register"},
		Short:   "Register a checkout; it is indexed in the background",
		Args:    between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := e.absolute(args[0])
			if err != nil {
				return err
			}
			if err := e.needRepository(cmd.Context(), path, "add"); err != nil {
				return err
			}
			if system {
				return e.addToSystem(cmd, path)
			}
			in.Path = path
			if in.Remote, err = e.remote(in.Remote); err != nil {
				return err
			}
			cl, err := e.daemon.Connect(cmd.Context())
			if err != nil {
				return err
			}
			added, err := cl.AddProject(cmd.Context(), in)
			if err != nil {
				return err
			}
			for _, n := range added.Notices {
				e.Messages(false).Printf("foldwatch: %s\n", n)
			}
			return e.Emit(added, func(p terminal.Printer) {
				did := "added"
				if !added.Created {
					did = "is registered already:"
				}
				p.Printf("%s %s  %s\n", did, added.Project.Slug, path)
				if added.Repository != nil {
					e.printSyncOn(p, *added.Repository)
				}
			})
		},
	}
	registrationFlags(c, &in)
	systemFlag(c, &system)
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

func removeCommand(e *environment) *cobra.Command {
	var purge, yes, system bool
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
			if system {
				return e.removeFromSystem(cmd)
			}
			return e.inProject(ctx, func(cl local.Client, slug string) error {
				pr, err := cl.Project(ctx, slug)
				if err != nil {
					return err
				}
				in := wire.ProjectRemove{Purge: purge, Path: e.checkoutHere(pr)}
				if purge && !yes {
					if !e.Ask(fmt.Sprintf("Delete all memories of %s, with their history?", slug)) {
						return fold.WithHint(errors.New("nothing was deleted"), "foldwatch remove --purge --yes")
					}
				}
				if err := cl.RemoveProject(ctx, slug, in); err != nil {
					return err
				}
				return e.Emit(map[string]any{"removed": slug, "purged": purge, "path": in.Path}, func(p terminal.Printer) {
					p.Printf("removed %s\n", slug)
					if in.Path == "" && len(pr.Checkouts) > 1 {
						for _, co := range pr.Checkouts {
							p.Printf("    %s\n", co.Path)
						}
					}
					if !purge {
						e.Messages(false).Printf("fold/ and its history are where they were\n")
					}
				})
			})
		},
	}
	c.Flags().BoolVar(&purge, "purge", false, "also delete fold/, history, index and mirror")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	systemFlag(c, &system)
	return c
}

// checkoutHere returns the path of the one of several checkouts that contains
// the working directory; "" where -p names the whole project.
func (e *environment) checkoutHere(pr wire.Project) string {
	wd, err := e.workDir()
	if err != nil || e.slug != "" || len(pr.Checkouts) < 2 {
		return ""
	}
	best := ""
	for _, co := range pr.Checkouts {
		rel, err := filepath.Rel(co.Path, wd)
		if err == nil && filepath.IsLocal(rel) && len(co.Path) > len(best) {
			best = co.Path
		}
	}
	return best
}

func projectsCommand(e *environment) *cobra.Command {
	return &cobra.Command{
		Use:     "projects",
		Aliases: []string{"project"},
		Short:   "List the registered projects",
		Args:    between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, err := e.daemon.Connect(cmd.Context())
			if err != nil {
				return err
			}
			list, err := cl.Projects(cmd.Context())
			if err != nil {
				return err
			}
			return e.Emit(list, func(p terminal.Printer) {
				var t terminal.Table
				for _, pr := range list.Items {
					for _, co := range pr.Checkouts {
						t.Row(pr.Slug, co.Path, pr.Name, strings.TrimSpace("sync "+co.Sync+"  "+co.Remote))
					}
				}
				t.Print(p)
				if len(t.Rows) == 0 {
					e.Messages(false).Printf("no project is registered yet; start with: foldwatch up\n")
				}
			})
		},
	}
}
