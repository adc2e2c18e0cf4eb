package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/fold"
)

func syncCommand(app *App) *cobra.Command {
	var in wire.SyncRequest
	c := &cobra.Command{
		Use:        "sync",
		SuggestFor: []string{"push", "pull"},
		Short:      "Publish memories to the remote, and take those of others",
		Long: "Syncs now: publishes the memories of this project on the branch foldwatch of its\n" +
			"remote, takes those that others have published, and returns when they are found by\n" +
			"searches. After `foldwatch sync on` that happens by itself; before, nothing leaves this\n" +
			"machine. What ended a sync, a login for instance, is tried again. Memories that git\n" +
			"tracks are not synced: you pull and push them with the code.",
		Args: between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return withRepository(ctx, app, func(c local.Client, slug string, r wire.Repository) error {
				reply, err := c.Sync(ctx, slug, r.ID, in)
				if err != nil {
					return err
				}
				for _, n := range reply.Notices {
					app.Messages(false).Printf("foldwatch: %s\n", n)
				}
				return app.Emit(reply, func(p terminal.Printer) { p.Printf("%s\n", syncLine(reply)) })
			})
		},
	}
	c.Flags().BoolVar(&in.Resync, "resync", false, "go on although the history of the remote was rewritten")
	c.AddCommand(syncOnCommand(app), syncOffCommand(app))
	return c
}

func syncOnCommand(app *App) *cobra.Command {
	var in wire.RepositoryCreate
	c := &cobra.Command{
		Use:   "on",
		Short: "Sync this project from now on; says what leaves this machine, and where to",
		Args:  between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			var err error
			if in.Remote, err = remoteURL(app, in.Remote); err != nil {
				return err
			}
			return app.inProject(ctx, func(c local.Client, slug string) error {
				added, err := c.AddRepository(ctx, slug, in)
				if err != nil {
					return err
				}
				return app.Emit(added, func(p terminal.Printer) { printSyncOn(app, p, added) })
			})
		},
	}
	c.Flags().StringVar(&in.Remote, "remote", "", "remote NAME|URL|PATH (default: origin, else the only one)")
	return c
}

// printSyncOn says what leaves the machine, and what the first sync did.
func printSyncOn(app *App, p terminal.Printer, added wire.RepositoryAdded) {
	p.Printf("sync on: %s\n", added.Sends)
	if added.Synced != nil {
		p.Printf("%s\n", syncLine(*added.Synced))
		return
	}
	app.Messages(true).Printf("foldwatch: not synced yet: %s\n", added.Repository.Reason)
	if h := added.Repository.Hint; h != "" {
		app.Messages(true).Printf("hint: %s\n", h)
	}
}

func syncOffCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:   "off",
		Short: "Stop syncing; what was published stays where it is",
		Args:  between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return withRepository(ctx, app, func(c local.Client, slug string, r wire.Repository) error {
				if err := c.RemoveRepository(ctx, slug, r.ID); err != nil {
					return err
				}
				return app.Emit(map[string]any{"project": slug, "sync": "off"}, func(p terminal.Printer) {
					p.Printf("sync off: nothing of %s leaves this machine any more\n", slug)
				})
			})
		},
	}
}

// withRepository runs fn for the repository of the project the command is about.
func withRepository(ctx context.Context, app *App, fn func(c local.Client, slug string, r wire.Repository) error) error {
	return app.inProject(ctx, func(c local.Client, slug string) error {
		list, err := c.Repositories(ctx, slug)
		if err != nil {
			return err
		}
		if len(list.Items) == 0 {
			return fmt.Errorf("project %s has no checkout: %w", slug, fold.ErrNotFound)
		}
		return fn(c, slug, list.Items[0])
	})
}

// remoteURL returns what --remote names as the daemon needs it, which has another
// working directory: a path becomes absolute.
func remoteURL(app *App, name string) (string, error) {
	isPath := strings.HasPrefix(name, ".") || strings.HasPrefix(name, "~")
	if !isPath && strings.ContainsAny(name, `/\`) && !strings.Contains(name, ":") {
		isPath = true
	}
	if !isPath {
		return name, nil
	}
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		name = filepath.Join(home, rest)
	}
	return app.absolute(name)
}

// syncLine says what a sync did: `3 memories pushed, 1 received, 1 merged`.
func syncLine(r wire.SyncReply) string {
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{r.Pushed, "pushed"}, {r.Received, "received"}, {r.Merged, "merged"}, {r.Conflicts, "in conflict, both kept"}} {
		switch {
		case part.n == 0:
		case len(parts) == 0:
			parts = append(parts, terminal.Plural(part.n, "memory")+" "+part.what)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	if len(parts) == 0 {
		parts = []string{"nothing new"}
	}
	line := strings.Join(parts, ", ") + "; remote " + r.Remote
	if r.Unpushed > 0 {
		line += fmt.Sprintf("; %d not pushed", r.Unpushed)
	}
	return line
}

// printRepository tells in status how a sync stands.
func printRepository(p terminal.Printer, r *wire.Repository, now time.Time) {
	if r == nil {
		return
	}
	at := func(t *time.Time) string {
		if t == nil {
			return "never"
		}
		return terminal.Ago(*t, now)
	}
	p.Printf("  remote    %s, synced %s, pushed %s, %d unpushed\n", r.Remote, at(r.LastSync), at(r.LastPush), r.Unpushed)
	if a := r.Ahead; a != nil {
		p.Printf("  ahead     %s of the remote is %s ahead, seen %s; they are memories already: git pull brings the files\n",
			a.Branch, terminal.Plural(a.Commits, "commit"), terminal.Ago(a.SeenAt, now))
	}
	if r.Reason != "" {
		p.Printf("  sync      %s: %s\n", r.Sync, r.Reason)
	}
	if r.Hint != "" {
		p.Printf("  mend      %s\n", r.Hint)
	}
	if r.NextTry != nil {
		p.Printf("  again     by itself at %s\n", r.NextTry.Local().Format(time.TimeOnly))
	}
	for _, f := range r.Held {
		p.Printf("  held      %s: %s\n", f.Path, f.Reason)
	}
}

// printWebhook tells where the forge of a synced repository can send webhooks.
func printWebhook(p terminal.Printer, at string, r *wire.Repository) {
	if at == "" || r == nil || r.Sync == "off" {
		return
	}
	forges := []string{"github", "gitlab"}
	if slices.Contains(forges, r.Kind) {
		forges = []string{r.Kind}
	}
	for _, forge := range forges {
		p.Printf("  webhook   %s/webhooks/%s/%s\n", at, forge, r.ID)
	}
}
