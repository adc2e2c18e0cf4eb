package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// How a checkout keeps the history of its memories: git.md, Tracked mode.
const (
	modeSidecar = "sidecar"
	modeTracked = "tracked"
)

// A workTree is the work tree of the user in which a command runs git.
type workTree struct {
	*usergit.Repo
	slug string // of its project, as the daemon is asked
	name string // of the project, without what tells its checkouts apart
	fold string // folder of memories below the work tree, with forward slashes
	mode string
}

// workTree finds the work tree that a command is about: the checkout that contains
// the working directory, or the only one of the project that -p names.
func (app *App) workTree(ctx context.Context, c local.Client, slug string) (workTree, error) {
	pr, err := c.Project(ctx, slug)
	if err != nil {
		return workTree{}, err
	}
	at := app.checkoutHere(pr)
	if at == "" {
		if len(pr.Checkouts) != 1 {
			return workTree{}, usagef("cd to the checkout, and leave -p out", "%s has several checkouts: say in which by going there", slug)
		}
		at = pr.Checkouts[0].Path
	}
	status, err := c.ProjectStatus(ctx, slug)
	if err != nil {
		return workTree{}, err
	}
	w := workTree{slug: slug, mode: status.Mode}
	w.name, _, _ = strings.Cut(slug, "@")
	if w.Repo, err = usergit.Locate(ctx, at); err != nil {
		return workTree{}, err
	}
	if err := standsIn(ctx, app, w); err != nil {
		return workTree{}, err
	}
	for _, co := range pr.Checkouts {
		// That of a linked work tree may be said to be in the main one, which has it
		// at the same place.
		for _, top := range []string{w.WorkTree, w.MainTree} {
			rel, err := filepath.Rel(top, co.Fold)
			if co.Path == at && err == nil && filepath.IsLocal(rel) && top != "" {
				w.fold = filepath.ToSlash(rel)
				break
			}
		}
	}
	return w, nil
}

// standsIn refuses to run git in another work tree than the one that contains the
// working directory, unless -p names it: that may be a repository or a linked work
// tree inside a registered checkout, or no registered one at all.
func standsIn(ctx context.Context, app *App, w workTree) error {
	if app.slug != "" {
		return nil
	}
	wd, err := app.workDir()
	if err != nil {
		return err
	}
	if here, err := usergit.Locate(ctx, wd); err != nil || here.WorkTree != w.WorkTree {
		return fold.WithHint(fmt.Errorf("%s is in no registered checkout: %w", wd, fold.ErrNotFound), "foldwatch up, or from here: -p "+w.name)
	}
	return nil
}

// mustBeTracked refuses what is only for memories that HEAD tracks.
func (w workTree) mustBeTracked(command string) error {
	if w.mode == modeTracked && w.fold != "" {
		return nil
	}
	return fold.WithHint(fmt.Errorf("%s: the memories of %s have a history of their own beside yours (sidecar mode), which is committed by itself: %w", command, w.name, fold.ErrConflict),
		"foldwatch track puts them into the same history as the code")
}

// hasFold reports whether the branch that is checked out, or its work tree, has the
// folder of memories.
func (w workTree) hasFold(ctx context.Context) (bool, error) {
	if local.Exists(filepath.Join(w.WorkTree, filepath.FromSlash(w.fold))) {
		return true, nil
	}
	n, err := w.CountInHead(ctx, w.fold)
	return n > 0, err
}

// noFold refuses what needs the folder of memories, on a branch that has none.
func (w workTree) noFold() error {
	return fold.WithHint(fmt.Errorf("the branch checked out in %s has no %s/: %w", w.WorkTree, w.fold, fold.ErrUnavailable),
		"git switch to a branch that has it, or bring it here: git checkout BRANCH -- "+w.fold)
}
