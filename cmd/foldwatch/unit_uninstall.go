package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/packaging/unit"
)

func (e *environment) unitUninstall(ctx context.Context, fl unitFlags) error {
	s, err := e.unitSpec(fl)
	if err != nil {
		return err
	}
	now, _, _, err := e.standing(ctx, s)
	if err != nil && now.Installed && !fl.dryRun {
		return err
	}
	steps := s.Uninstall(now)
	if !now.Installed {
		steps = nil
	}
	var folders, left []string
	if fl.purge {
		if folders, err = e.kept(s); err != nil {
			return err
		}
		if len(folders) > 0 && !fl.yes && !fl.dryRun &&
			(e.flags.noInput || !e.ask("Delete "+strings.Join(folders, ", ")+"? Memories stay in their checkouts.")) {
			return fold.WithHint(errors.New("nothing was removed"), "foldwatch service uninstall --purge --yes"+scopeFlag(s.Scope))
		}
	}
	r, err := e.carryOut(ctx, s, steps, fl.dryRun)
	if err != nil {
		return err
	}
	if len(folders) > 0 && !fl.dryRun && s.Scope == unit.User {
		// One that was not the service's would go on in folders that are no more.
		if c, err := e.running(ctx); err == nil && c != nil {
			if err := e.endDaemon(ctx, c); err != nil {
				return err
			}
		}
	}
	for _, dir := range folders {
		r.Notes = append(r.Notes, "delete "+dir)
		if !fl.dryRun {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
		}
	}
	if home := e.getenv("FOLDWATCH_HOME"); len(folders) > 0 && home != "" && s.Scope == unit.User && !fl.dryRun {
		_ = os.Remove(home) // where nothing else is in it
	}
	r.Changed = now.Installed || len(folders) > 0
	if now.Installed && now.Packaged != "" {
		left = append(left, packagedNote(s, now))
	}
	r.Notes = append(r.Notes, left...)
	return e.emit(r, func(p printer) {
		switch {
		case !r.Done:
			printSteps(p, r.Steps)
			for _, n := range r.Notes {
				p.printf("%s\n", n)
			}
		case !r.Changed:
			p.printf("not installed\n")
		default:
			p.printf("uninstalled\n")
			if !fl.purge {
				p.printf("what it knew stays in %s; to delete it too: foldwatch service uninstall --purge%s\n", s.State, scopeFlag(s.Scope))
			}
			for _, n := range left {
				p.printf("note  %s\n", n)
			}
		}
	})
}

// kept returns the folders and files that --purge deletes: those that foldwatch makes.
// FOLDWATCH_HOME may hold more than them.
func (e *environment) kept(s unit.Spec) ([]string, error) {
	dirs := []string{s.State}
	if s.Scope == unit.User {
		d, err := conf.Locate(e.getenv)
		if err != nil {
			return nil, err
		}
		dirs = []string{d.State, d.Cache, d.Data, d.Config}
		switch {
		case runtime.GOOS == "windows":
		case d.Home != "":
			dirs = append(dirs, d.Socket)
		default:
			dirs = append(dirs, filepath.Dir(d.Socket))
		}
	}
	slices.Sort(dirs)
	dirs = slices.Compact(dirs)
	return slices.DeleteFunc(dirs, func(d string) bool { return !exists(d) }), nil
}
