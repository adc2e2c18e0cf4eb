package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/packaging/unit"
)

// freePID returns the daemon of these folders, which no service manager is asked about;
// 0 if none runs. One that starts is waited for until it answers, as long as one is given
// for that.
func (app *App) freePID(ctx context.Context) (int, error) {
	late := time.NewTimer(local.StartDeadline)
	defer late.Stop()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		c, err := app.daemon.Running(ctx)
		if err != nil {
			return 0, err
		}
		if c != nil {
			st, err := local.Answer(ctx, app.daemon.Timeout, c.Status)
			if !errors.Is(err, wire.ErrNoDaemon) {
				return st.PID, err
			} // it has ended since
		}
		if d := app.daemon.Unreachable(); d != nil {
			return d.PID, nil
		}
		pid, starts := app.begun()
		if !starts {
			return 0, nil
		}
		select {
		case <-tick.C:
		case <-late.C:
			if pid > 0 {
				return pid, nil
			}
			return 0, fold.WithHint(fmt.Errorf("another program has been starting the daemon for %s: %w", local.StartDeadline, fold.ErrUnavailable), "foldwatch doctor")
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// begun reports whether a daemon holds the state, which starts or stops where it does not
// answer, or is being started; its pid is 0 where that has not come to take the state.
func (app *App) begun() (pid int, is bool) {
	dirs, err := app.config.Dirs()
	if err != nil {
		return 0, false // nobody knows where it would be
	}
	if holder, _ := local.LockHolder(filepath.Join(dirs.State, "daemon.lock")); holder != "" {
		pid, _ = strconv.Atoi(strings.TrimPrefix(holder, "pid "))
		return pid, true
	}
	holder, _ := local.LockHolder(filepath.Join(dirs.State, "start.lock"))
	return 0, holder != ""
}

// controlFree stops a daemon that no service manager holds, or starts it anew, where
// there is no service that could be meant.
func (app *App) controlFree(ctx context.Context, s unit.Spec, verb string, dryRun bool) error {
	pid, err := app.freePID(ctx)
	if err != nil {
		return err
	}
	if use, is := app.machineUse(); is && use.same && pid > 0 {
		return fold.WithHint(fmt.Errorf("the daemon (pid %d) is the service of the machine, which is root's to change: %w", pid, fold.ErrForbidden),
			rootHint("foldwatch service "+verb+" --system"))
	}
	r := unitReply{Scope: s.Scope, Manager: s.Manager(), Path: s.Path(), Done: !dryRun, Steps: []unit.Step{}, PID: pid}
	switch {
	case verb == "start" || verb == "restart" && pid == 0:
		return notInstalled(s)
	case pid == 0:
		return app.Emit(r, func(p terminal.Printer) { p.Printf("no daemon runs, and no service is installed\n") })
	case dryRun:
		r.Notes = append(r.Notes, fmt.Sprintf("end the daemon (pid %d), which no service started", pid))
		if verb == "restart" {
			r.Notes = append(r.Notes, "start another")
		}
		return app.Emit(r, func(p terminal.Printer) {
			for _, n := range r.Notes {
				p.Printf("%s\n", n)
			}
		})
	}
	st, err := app.config.Settings()
	if err != nil && verb == "restart" {
		return err // what runs goes on: no other would start
	}
	args := app.daemon.Manner(pid)
	if err := app.daemon.End(ctx, pid); err != nil {
		return err
	}
	r.Changed = true
	if verb == "stop" {
		if st.Config.AutoStart {
			r.Notes = append(r.Notes, "the next command starts another; auto_start = false in "+st.Dirs.ConfigFile()+" keeps it from that")
		}
		return app.Emit(r, func(p terminal.Printer) {
			p.Printf("stopped  pid %d, which no service had started\n", pid)
			for _, n := range r.Notes {
				p.Printf("note  %s\n", n)
			}
		})
	}
	c, err := app.daemon.Spawn(ctx, args...)
	if err != nil {
		return err
	}
	now, err := local.Answer(ctx, app.daemon.Timeout, c.Status)
	if err != nil {
		return err
	}
	r.PID = now.PID
	return app.Emit(r, func(p terminal.Printer) {
		p.Printf("ready  pid %d in the background, in place of %d, which no service had started\n", now.PID, pid)
	})
}

// otherPID returns the pid of the daemon that answers and is not the service's, 0 if
// there is none, or nobody can say; and that of the service's own, which is 0 where it
// does not run. Known is false where the system does not say whose a daemon is.
func (app *App) otherPID(ctx context.Context, s unit.Spec) (other, own int, known bool) {
	state, err := app.unitState(ctx, s)
	if err != nil || s.Ask() == nil {
		return 0, 0, false
	}
	if starts := state.State == "active" || state.State == "activating"; starts && state.PID == 0 {
		return 0, 0, false
	}
	if pid, answers := app.answering(ctx); answers && pid != state.PID {
		other = pid
	}
	return other, state.PID, true
}

// endOther ends the daemon that still runs when the service has been stopped, whose
// daemon was own, and returns its pid; 0 if none does. It is asked for now: the one that
// answered before may have ended with the service, and its pid be another process's.
func (app *App) endOther(ctx context.Context, own int) (int, error) {
	pid, err := app.freePID(ctx)
	if err != nil || pid == 0 || pid == own {
		return 0, err
	}
	return pid, app.daemon.End(ctx, pid)
}

// freeLogs shows the log of daemons that commands start, where no service is installed.
func (app *App) freeLogs(ctx context.Context, s unit.Spec, lines int, follow bool) error {
	for _, name := range []string{"daemon.log", "start.log"} {
		path := filepath.Join(s.State, name)
		if !local.Exists(path) {
			continue
		}
		app.Messages(false).Printf("foldwatch: no service is installed; this is the log of daemons that no service started: %s\n", path)
		return tail(ctx, app, path, lines, follow)
	}
	return notInstalled(s)
}

// notInstalled says that there is no service to do anything with.
func notInstalled(s unit.Spec) error {
	hint := "foldwatch service install" + scopeFlag(s.Scope)
	if s.Scope == unit.User {
		hint += "; without a service: foldwatch up -d"
	}
	return fold.WithHint(fmt.Errorf("the service of the %s is not installed: %w", s.Scope, fold.ErrNotFound), hint)
}
