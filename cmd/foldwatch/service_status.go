package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/packaging/unit"
)

// A serviceReport is what `service status --json` prints.
type serviceReport struct {
	Scope      unit.Scope `json:"scope"`
	Manager    string     `json:"manager"`
	Account    string     `json:"account"`
	Ready      bool       `json:"ready"`               // the service's daemon answers
	OtherPID   int        `json:"other_pid,omitempty"` // of a daemon that answers, and is not the service's
	unit.State            // as the system has it
	Notes      []string   `json:"notes"`
}

func (app *App) serviceStatus(ctx context.Context, fl serviceFlags) error {
	r, err := app.serviceReport(ctx, fl.scope())
	if err != nil {
		return err
	}
	if err := app.Emit(r, func(p terminal.Printer) { printService(p, r) }); err != nil {
		return err
	}
	switch {
	case !r.Installed:
		return fmt.Errorf("%w: %w", errShown, fold.ErrNotFound)
	case !r.Ready:
		return fmt.Errorf("%w: %w", errShown, wire.ErrNoDaemon)
	}
	return nil
}

func (app *App) serviceReport(ctx context.Context, scope unit.Scope) (serviceReport, error) {
	c, _, err := app.serviceConfig(scope)
	if err == nil {
		err = c.Check()
	}
	if err != nil {
		return serviceReport{}, err
	}
	r := serviceReport{Scope: scope, Manager: c.Manager(), Account: c.Account, Notes: []string{}}
	if _, r.State, err = app.openService(scope); err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("%v; %s", err, fold.Hint(err)))
	}
	switch {
	case !r.Installed && r.Packaged:
		r.Notes = append(r.Notes, "a package brought "+r.Path+", which nobody has enabled")
	case r.Installed && !r.Packaged && !r.Current && r.Path != "":
		r.Notes = append(r.Notes, "this session would install it otherwise (program, environment or version); to bring it up to date: foldwatch service install"+scopeFlag(scope))
	}
	if scope == unit.System {
		r.Ready = r.State.State == "active" // Type=notify, where there is one
		return r, nil
	}
	pid := 0
	if cl, err := app.daemon.Running(ctx); err == nil && cl != nil {
		if st, err := local.Answer(ctx, app.daemon.Timeout, cl.Status); err == nil {
			pid = st.PID
		}
	}
	switch {
	case pid == 0 || !r.Installed:
	case r.PID == pid || r.PID == 0 && r.State.State != "inactive" && r.State.State != "failed": // only systemd says which it started
		r.Ready = true
	default:
		r.OtherPID = pid
		r.Notes = append(r.Notes, fmt.Sprintf("a daemon answers that the service did not start (pid %d); to have the service's in its place: foldwatch service restart", pid))
	}
	return r, nil
}

func printService(p terminal.Printer, r serviceReport) {
	if !r.Installed {
		p.Printf("not installed (%s, %s); to install it: foldwatch service install%s\n", r.Manager, r.Scope, scopeFlag(r.Scope))
	} else {
		state := cmp.Or(r.State.State, "installed")
		if r.Ready {
			state += ", ready"
		}
		if r.Restarts > 0 {
			state += fmt.Sprintf(", restarted %d times", r.Restarts)
		}
		p.Printf("%s  %s\n", terminal.Bold(state), r.Says)
		of := ""
		if r.Packaged {
			of = ", of a package"
		}
		p.Printf("  %-12s %s%s\n", r.Manager, r.Path, of)
		if r.PID > 0 {
			p.Printf("  %-12s %d, as %s\n", "pid", r.PID, r.Account)
		}
		if r.Result != "" {
			p.Printf("  %-12s %s, exit code %d; why: foldwatch service logs%s\n", "ended", r.Result, r.Code, scopeFlag(r.Scope))
		}
		p.Printf("  %-12s %t\n", "at login", r.Enabled)
	}
	for _, n := range r.Notes {
		p.Printf("note  %s\n", n)
	}
}

func (app *App) serviceLogs(ctx context.Context, fl serviceFlags) error {
	s, st, err := app.serviceHere(fl.scope())
	if err != nil {
		return err
	}
	state := filepath.Join(unit.SystemHome(runtime.GOOS), "state")
	if !fl.system || unit.SystemHome(runtime.GOOS) == "" {
		dirs, err := app.config.Dirs()
		if err != nil {
			return err
		}
		state = dirs.State
	}
	file := filepath.Join(state, "daemon.log")
	switch {
	case !st.Installed && fl.system:
		return notInstalled(fl.scope())
	case !st.Installed && !local.Exists(file):
		if file = filepath.Join(state, "start.log"); !local.Exists(file) {
			return notInstalled(fl.scope())
		}
		fallthrough
	case !st.Installed:
		app.Messages(false).Printf("foldwatch: no service is installed; this is the log of daemons that no service started: %s\n", file)
		return tail(ctx, app, file, fl.lines, fl.follow)
	}
	command := s.LogCommand(fl.lines, fl.follow)
	if command == nil {
		return tail(ctx, app, file, fl.lines, fl.follow)
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var seen bytes.Buffer // fl.lines, and few words of the journal's own
	cmd.Stdout, cmd.Stderr = &seen, app.Stderr
	if fl.follow {
		cmd.Stdout = app.Stdout
	}
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	if !fl.follow && fl.lines > 0 && (seen.Len() == 0 || strings.HasPrefix(seen.String(), "-- No entries --")) {
		return fold.WithHint(fmt.Errorf("the journal shows nothing of the %s's service: %w", fl.scope(), fold.ErrNotFound),
			rootHint("journalctl _SYSTEMD_USER_UNIT="+unit.Name+".service UNIT="+unit.Name+".service; users see theirs where there is a /var/log/journal"))
	}
	_, err = app.Stdout.Write(seen.Bytes())
	return err
}
