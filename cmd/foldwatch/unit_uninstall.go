package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/packaging/unit"
)

func (app *App) unitUninstall(ctx context.Context, fl unitFlags) error {
	s, err := app.unitSpec(fl)
	if err != nil {
		return err
	}
	now, _, state, away := app.standing(ctx, s)
	steps := s.Uninstall(now)
	if !now.Installed {
		steps = app.leftovers(s, now)
	}
	var folders, left []string
	if fl.purge {
		if folders, err = app.kept(s); err != nil {
			return err
		}
		if len(folders) > 0 && !fl.yes && !fl.dryRun &&
			(app.NoInput || !app.Ask("Delete "+strings.Join(folders, ", ")+"? Memories stay in their checkouts.")) {
			return fold.WithHint(errors.New("nothing was removed"), "foldwatch service uninstall --purge --yes"+scopeFlag(s.Scope))
		}
	}
	if byHand := s.UninstallFiles(now); now.Installed && away != nil && byHand != nil {
		steps, left = byHand, append(left, awayNote(s, now, away))
	}
	r, err := app.carryOut(ctx, s, steps, fl.dryRun)
	if err != nil {
		return err
	}
	if (len(folders) > 0 || len(left) > 0) && s.Scope == unit.User {
		// One that was not the service's would go on in folders that are no more.
		switch pid, err := app.freePID(ctx); {
		case err != nil || pid == 0 || fl.dryRun && pid == state.PID:
		case fl.dryRun:
			r.Notes = append(r.Notes, fmt.Sprintf("end the daemon (pid %d), which the service did not start", pid))
		default:
			if err := app.daemon.End(ctx, pid); err != nil {
				return err
			}
			r.PID = pid
			left = append(left, fmt.Sprintf("a daemon ran that the service did not start (pid %d): it was ended", pid))
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
	if home := app.Getenv("FOLDWATCH_HOME"); len(folders) > 0 && home != "" && s.Scope == unit.User && !fl.dryRun {
		_ = os.Remove(home) // where nothing else is in it
	}
	r.Changed = now.Installed || len(folders) > 0 || len(steps) > 0
	if now.Installed && now.Packaged != "" {
		left = append(left, packagedNote(s, now))
	}
	r.Notes = append(r.Notes, left...)
	return app.Emit(r, func(p terminal.Printer) {
		switch {
		case !r.Done:
			printSteps(p, r.Steps)
			for _, n := range r.Notes {
				p.Printf("%s\n", n)
			}
		case !r.Changed:
			p.Printf("not installed\n")
		default:
			p.Printf("uninstalled\n")
			if !fl.purge {
				p.Printf("what it knew stays in %s; to delete it too: foldwatch service uninstall --purge%s\n", s.State, scopeFlag(s.Scope))
			}
			for _, n := range left {
				p.Printf("note  %s\n", n)
			}
		}
	})
}

// kept returns the folders and files that --purge deletes: those that foldwatch makes.
// FOLDWATCH_HOME may hold more than them.
func (app *App) kept(s unit.Spec) ([]string, error) {
	dirs := []string{s.State}
	if s.Scope == unit.User {
		d, err := conf.Locate(app.Getenv)
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
	return slices.DeleteFunc(dirs, func(d string) bool { return !local.Exists(d) }), nil
}

// awayNote says what is left to do where the service manager could not be told that
// the service is gone.
func awayNote(s unit.Spec, now unit.Standing, away error) string {
	reload := strings.Join(s.Reload()[0].Run, " ")
	if s.Scope == unit.System {
		return fmt.Sprintf("the files are gone, and the machine's service manager could not be told (%v): run %s where it runs, and end the daemon if there is one", away, reload)
	}
	if now.BySpec {
		reload += ", and " + strings.Join(s.Unlinger(), " ")
	}
	return fmt.Sprintf("the files are gone, no daemon of these folders runs, and the user's service manager could not be told (%v): from a login of %s run %s", away, s.Account, reload)
}

// leftovers are the steps that remove what is there of a service whose unit is gone.
func (app *App) leftovers(s unit.Spec, now unit.Standing) []unit.Step {
	var steps []unit.Step
	for _, st := range s.UninstallFiles(now) {
		if st.Remove != "" && local.Exists(app.at(st.Remove)) {
			steps = append(steps, st)
		}
	}
	if len(steps) > 0 {
		reload := s.Reload()[0]
		reload.Optional = true // where no manager runs, there is nothing to forget
		steps = append(steps, reload)
	}
	return steps
}
