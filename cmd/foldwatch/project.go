package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// project returns the slug a command is about: --project, else that of the
// checkout which contains the working directory. A directory is in a project of its own
// or in none: no other is taken for it, not even the only one there is.
func (e *environment) project(ctx context.Context, c daemonClient) (string, error) {
	if e.flags.project != "" {
		return e.flags.project, nil
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
func (e *environment) inProject(ctx context.Context, fn func(c daemonClient, slug string) error) error {
	c, err := e.connect(ctx)
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
	c := &cobra.Command{
		Use:   "add PATH",
		Short: "Register a checkout; it is indexed in the background",
		Args:  between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := e.absolute(args[0])
			if err != nil {
				return err
			}
			if err := e.needRepository(cmd.Context(), path, "add"); err != nil {
				return err
			}
			in.Path = path
			if in.Remote, err = e.remote(in.Remote); err != nil {
				return err
			}
			cl, err := e.connect(cmd.Context())
			if err != nil {
				return err
			}
			added, err := cl.AddProject(cmd.Context(), in)
			if err != nil {
				return err
			}
			for _, n := range added.Notices {
				e.messages(false).printf("foldwatch: %s\n", n)
			}
			return e.emit(added, func(p printer) {
				did := "added"
				if !added.Created {
					did = "is registered already:"
				}
				p.printf("%s %s  %s\n", did, added.Project.Slug, path)
				if added.Repository != nil {
					e.printSyncOn(p, *added.Repository)
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

// choice is a flag that takes one of a few words.
type choice struct {
	value   *string
	allowed []string
}

func oneOf(value *string, allowed ...string) *choice { return &choice{value, allowed} }

func (c *choice) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}

func (c *choice) Type() string { return strings.Join(c.allowed, "|") }

func (c *choice) Set(s string) error {
	if !slices.Contains(c.allowed, s) {
		return fmt.Errorf("must be one of %s", strings.Join(c.allowed, ", "))
	}
	*c.value = s
	return nil
}

func removeCommand(e *environment) *cobra.Command {
	var purge, yes bool
	c := &cobra.Command{
		Use:   "remove",
		Short: "Unregister a checkout; fold/ and its history stay",
		Long: "Unregisters the checkout you are in, or with -p every checkout of that project.\n" +
			"fold/ and its history stay where they are. --purge deletes both, the index and\n" +
			"the mirror too; it asks first. With --no-input it needs --yes.",
		Args: between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return e.inProject(ctx, func(cl daemonClient, slug string) error {
				pr, err := cl.Project(ctx, slug)
				if err != nil {
					return err
				}
				in := wire.ProjectRemove{Purge: purge, Path: e.checkoutHere(pr)}
				if purge && !yes {
					if !e.ask(fmt.Sprintf("Delete all memories of %s, with their history?", slug)) {
						return fold.WithHint(errors.New("nothing was deleted"), "foldwatch remove --purge --yes")
					}
				}
				if err := cl.RemoveProject(ctx, slug, in); err != nil {
					return err
				}
				return e.emit(map[string]any{"removed": slug, "purged": purge, "path": in.Path}, func(p printer) {
					p.printf("removed %s\n", slug)
					if in.Path == "" && len(pr.Checkouts) > 1 {
						for _, co := range pr.Checkouts {
							p.printf("    %s\n", co.Path)
						}
					}
					if !purge {
						e.messages(false).printf("fold/ and its history are where they were\n")
					}
				})
			})
		},
	}
	c.Flags().BoolVar(&purge, "purge", false, "also delete fold/, history, index and mirror")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

// checkoutHere returns the path of the one of several checkouts that contains
// the working directory; "" where -p names the whole project.
func (e *environment) checkoutHere(pr wire.Project) string {
	wd, err := e.workDir()
	if err != nil || e.flags.project != "" || len(pr.Checkouts) < 2 {
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
		Use:   "projects",
		Short: "List the registered projects",
		Args:  between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, err := e.connect(cmd.Context())
			if err != nil {
				return err
			}
			list, err := cl.Projects(cmd.Context())
			if err != nil {
				return err
			}
			return e.emit(list, func(p printer) {
				var t table
				for _, pr := range list.Items {
					for _, co := range pr.Checkouts {
						t.row(pr.Slug, co.Path, pr.Name, strings.TrimSpace("sync "+co.Sync+"  "+co.Remote))
					}
				}
				t.print(p)
				if len(t.rows) == 0 {
					e.messages(false).printf("no project is registered yet; start with: foldwatch up\n")
				}
			})
		},
	}
}

// ask puts a yes-or-no question on stderr and reads the answer from stdin. No
// answer is no.
func (e *environment) ask(question string) bool {
	return e.askWithin(context.Background(), 0, question)
}

// askWithin is [environment.ask], but takes no answer within d for a no; 0 waits for one.
func (e *environment) askWithin(ctx context.Context, d time.Duration, question string) bool {
	if e.flags.noInput {
		return false
	}
	e.messages(true).printf("%s [y/N] ", question)
	if d > 0 && !readable(ctx, e.stdin, d) {
		e.messages(true).printf("\n")
		return false
	}
	line, _ := bufio.NewReader(e.stdin).ReadString('\n') // the end of input is an answer too: no
	if line == "" {
		e.messages(true).printf("\n")
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}
