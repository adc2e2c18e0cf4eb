package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// project returns the slug a command is about: --project, else that of the
// checkout which contains the working directory. A directory is in a project of its own
// or in none: no other is taken for it, not even the only one there is.
func (app *App) project(ctx context.Context, c local.Client) (string, error) {
	if app.slug != "" {
		return app.slug, nil
	}
	wd, err := app.workDir()
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
func (app *App) inProject(ctx context.Context, fn func(c local.Client, slug string) error) error {
	c, err := app.daemon.Connect(ctx)
	if err != nil {
		return err
	}
	slug, err := app.project(ctx, c)
	if err != nil {
		return err
	}
	return fn(c, slug)
}

// absolute returns a path as the daemon needs it, which has another working
// directory.
func (app *App) absolute(path string) (string, error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	wd, err := app.workDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(wd, path), nil
}

// checkoutHere returns the path of the one of several checkouts that contains
// the working directory; "" where -p names the whole project.
func (app *App) checkoutHere(pr wire.Project) string {
	wd, err := app.workDir()
	if err != nil || app.slug != "" || len(pr.Checkouts) < 2 {
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
