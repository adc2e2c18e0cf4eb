package main

import (
	"context"
	"time"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/packaging/unit"
)

// ownUnit returns this user's service, if one is installed that has its folders
// where this program has them.
func (app *App) ownUnit() (unit.Spec, bool) {
	s, err := app.unitSpec(unitFlags{})
	if err != nil {
		return s, false
	}
	now, text := app.installed(s)
	if !now.Installed {
		return s, false
	}
	home := ""
	for _, v := range unit.Recorded(text) {
		if v.Name == "FOLDWATCH_HOME" {
			home = v.Value
		}
	}
	return s, s.OS == "windows" || home == app.Getenv("FOLDWATCH_HOME")
}

// asService reports whether the daemon is a service's to run.
func (app *App) asService() bool {
	_, ours := app.ownUnit()
	return ours || app.leaveToMachine() != nil
}

// restartService has the service manager start the daemon anew, if the one with this
// pid is the user's service, and returns when it answers; nil if it is not.
func (app *App) restartService(ctx context.Context, pid int) (local.Client, error) {
	s, runs := app.unitPID(ctx)
	if runs == 0 || runs != pid {
		return nil, nil
	}
	if err := app.machine(s).Apply(ctx, s.Control("restart")); err != nil {
		return nil, err
	}
	if err := app.awaitUnit(ctx, s); err != nil {
		return nil, err
	}
	return app.daemon.Running(ctx)
}

// unitPID returns this user's service and the pid of its daemon; 0 where none runs,
// or nobody says so.
func (app *App) unitPID(ctx context.Context) (unit.Spec, int) {
	s, err := app.unitSpec(unitFlags{})
	if err != nil {
		return s, 0
	}
	if now, _ := app.installed(s); !now.Installed && now.Packaged == "" {
		return s, 0
	}
	ctx, cancel := context.WithTimeout(ctx, unitPatience)
	defer cancel()
	state, err := app.unitState(ctx, s)
	if err != nil {
		return s, 0
	}
	return s, state.PID
}

// unitPatience bounds the wait for a service manager that does not answer.
const unitPatience = 10 * time.Second

// startService has the service's daemon started, and returns when it answers; nil
// if no service is installed, or the manager cannot be reached from here: a
// daemon of our own is better than none.
func (app *App) startService(ctx context.Context) (local.Client, error) {
	s, ours := app.ownUnit()
	if !ours {
		return nil, nil
	}
	within, cancel := context.WithTimeout(ctx, unitPatience)
	defer cancel()
	if err := app.machine(s).Apply(within, s.Control("start")); err != nil {
		app.Messages(false).Printf("foldwatch: the service cannot be started from here (%v); a daemon of its own is\n", err)
		return nil, nil
	}
	if err := app.awaitUnit(ctx, s); err != nil {
		return nil, err
	}
	return app.daemon.Running(ctx)
}
