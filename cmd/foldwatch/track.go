package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// modeReply is what `track --json` and `untrack --json` print.
type modeReply struct {
	Project string   `json:"project"`
	Mode    string   `json:"mode"`
	Changed bool     `json:"changed"`        // false if it was so already
	Run     []string `json:"run"`            // what is left to the user, in this order
	Remote  string   `json:"remote"`         // whose branch foldwatch stays as it is; "" if nothing was synced
	Sync    string   `json:"sync,omitempty"` // off, where it was on
}

func trackCommand(app *App) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "track",
		Short: "Keep memories in the same history as the code: you commit them (tracked mode)",
		Long: "From now on the memories of this checkout are files of your own repository: foldwatch\n" +
			"writes them, and you commit, pull and push them with your own git, or by foldwatch\n" +
			"commit. It hides fold/ from git no longer, syncs no more, and prints what to run. What it\n" +
			"has published stays on the branch foldwatch of the remote. The way back: foldwatch untrack",
		Args: between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return changeMode(cmd.Context(), app, modeTracked, yes)
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask, where sync is on")
	return c
}

func untrackCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:   "untrack",
		Short: "Keep memories in a history of their own, beside that of the code (sidecar mode)",
		Long: "From now on foldwatch keeps the history of the memories of this checkout, in a repository\n" +
			"of its own. It prints the two commands that take fold/ out of yours; the files stay where\n" +
			"they are. What your commits hold of them stays in them. Linked work trees have the\n" +
			"memories of the main one then. The way back: foldwatch track",
		Args: between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return changeMode(cmd.Context(), app, modeSidecar, false)
		},
	}
}

// changeMode has the daemon keep the history of the memories of this checkout in
// another way. Neither it nor this program runs git on the user's branch or index:
// that is printed, for the user to run.
func changeMode(ctx context.Context, app *App, mode string, yes bool) error {
	command := "track"
	if mode == modeSidecar {
		command = "untrack"
	}
	return app.inProject(ctx, func(c local.Client, slug string) error {
		w, err := app.workTree(ctx, c, slug)
		if err != nil {
			return err
		}
		if w.fold == "" {
			return fold.WithHint(fmt.Errorf("%s: the memories of %s lie in no work tree that git could track: %w", command, w.name, fold.ErrConflict),
				"go to the work tree in which they lie: foldwatch projects")
		}
		st, err := c.ProjectStatus(ctx, slug)
		if err != nil {
			return err
		}
		r := modeReply{Project: w.name, Mode: mode, Changed: w.mode != mode}
		if r.Changed && mode == modeTracked && st.Sync != "off" {
			r.Sync = "off"
			if st.Repository != nil {
				r.Remote = st.Repository.Remote
			}
			if !yes && !app.Ask(fmt.Sprintf("%s is synced with %s; that ends, and the branch foldwatch there stays as it is. Go on?", w.name, r.Remote)) {
				return fold.WithHint(errors.New("track: nothing was changed"), "foldwatch track --yes")
			}
		}
		if r.Changed {
			if _, err := c.UpdateProject(ctx, slug, wire.ProjectUpdate{Mode: &mode}); err != nil {
				return err
			}
		}
		if r.Run, err = leftToRun(ctx, w, mode); err != nil {
			return err
		}
		return app.Emit(r, func(p terminal.Printer) { printMode(ctx, app, p, w, r) })
	})
}

// leftToRun are the commands by which the user's branch gets, or loses, the memories.
func leftToRun(ctx context.Context, w workTree, mode string) ([]string, error) {
	tracked, err := w.CountInHead(ctx, w.fold)
	if err != nil {
		return nil, err
	}
	switch {
	case mode == modeTracked && tracked == 0 && local.Exists(filepath.Join(w.WorkTree, filepath.FromSlash(w.fold))):
		// Not all of the folder: what is local, or holds a credential, is not for others.
		return []string{"git add " + terminal.Quote(path.Join(w.fold, fold.ProjectFile)), "foldwatch commit"}, nil
	case mode == modeSidecar && tracked > 0:
		return []string{"git rm -r --cached --quiet " + terminal.Quote(w.fold), "git commit -m " + terminal.Quote("Keep the memories beside the repository")}, nil
	}
	return []string{}, nil
}

func printMode(ctx context.Context, app *App, p terminal.Printer, w workTree, r modeReply) {
	msg := app.Messages(false)
	now := "now"
	if !r.Changed {
		now = "already"
	}
	if r.Mode == modeTracked {
		p.Printf("%s: memories are files of your own repository %s; you commit, pull and push them\n", r.Project, now)
	} else {
		p.Printf("%s: memories have a history of their own %s, which foldwatch keeps\n", r.Project, now)
	}
	if r.Sync != "" {
		msg.Printf("sync is off; what was published stays on the branch foldwatch of %s, for those who still sync with it\n", r.Remote)
	}
	if len(r.Run) > 0 {
		msg.Printf("left to you, in %s:\n", w.WorkTree)
		for _, line := range r.Run {
			p.Printf("  %s\n", line)
		}
	}
	if r.Mode == modeSidecar && len(r.Run) > 0 {
		msg.Printf("whoever pulls that commit, git takes these files from: have them run foldwatch untrack before\n")
	}
	if r.Mode == modeTracked {
		offerMergeDriver(ctx, app, w.WorkTree)
	}
}
