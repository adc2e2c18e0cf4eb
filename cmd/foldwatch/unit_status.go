package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/packaging/unit"
)

// A unitReport is what `service status --json` prints.
type unitReport struct {
	Scope       unit.Scope `json:"scope"`
	Manager     string     `json:"manager"`
	Installed   bool       `json:"installed"`
	Path        string     `json:"path,omitempty"`
	Packaged    bool       `json:"packaged"` // the file at path is a package's
	Program     string     `json:"program,omitempty"`
	Account     string     `json:"account"`
	Ready       bool       `json:"ready"`               // the service's daemon answers
	OtherPID    int        `json:"other_pid,omitempty"` // of a daemon that answers, and is not the service's
	unit.State             // as the system has it
	Linger      bool       `json:"linger"`
	Environment []unit.Var `json:"environment"` // as it was recorded
	Notes       []string   `json:"notes"`       // what of it will not do
}

func (app *App) unitStatus(ctx context.Context, fl unitFlags) error {
	s, err := app.unitSpec(fl)
	if err != nil {
		return err
	}
	r := app.unitReport(ctx, s)
	if err := app.Emit(r, func(p terminal.Printer) { printUnit(p, r) }); err != nil {
		return err
	}
	switch {
	case !r.Installed:
		return fmt.Errorf("%w: %w", errShown, fold.ErrNotFound)
	case r.State.State != "" && r.State.State != "active", r.Scope == unit.User && !r.Ready:
		return fmt.Errorf("%w: %w", errShown, wire.ErrNoDaemon)
	}
	return nil
}

func (app *App) unitReport(ctx context.Context, s unit.Spec) unitReport {
	now, text, state, err := app.standing(ctx, s)
	r := unitReport{
		Scope: s.Scope, Manager: s.Manager(), Installed: now.Installed, Path: fileOf(s, now), Packaged: now.Packaged != "" && !now.Own, Account: s.Account,
		Linger: s.OS == "linux" && s.Scope == unit.User && app.lingering(s.Account), Environment: []unit.Var{}, Notes: []string{},
	}
	if !now.Installed {
		if absent := app.machine(s).Manages(s); absent != nil {
			r.Notes = append(r.Notes, fmt.Sprintf("%v; without it: %s", absent, fold.Hint(absent)))
		}
		return r
	}
	r.State = state
	if err != nil {
		r.Notes = append(r.Notes, err.Error())
	}
	was := unit.Spec{Program: programOf(text), Env: unit.Recorded(text)}
	r.Program = was.Program
	r.Environment = append(r.Environment, unit.Shown(was.Env)...)
	r.Notes = append(r.Notes, app.unitNotes(was)...)
	if now.Own && s.Path() != "" && text != s.Text() {
		r.Notes = append(r.Notes, "this session would install it otherwise (program, environment or version); to bring it up to date: foldwatch service install"+scopeFlag(s.Scope))
	}
	if s.Scope == unit.System {
		r.Ready = r.State.State == "active" // Type=notify, where there is one
		return r
	}
	pid, answers := app.answering(ctx)
	switch {
	case !answers:
	case pid == r.PID || s.Ask() == nil: // a task of Windows does not say what it started
		r.Ready = true
	default:
		r.OtherPID = pid
		r.Notes = append(r.Notes, fmt.Sprintf("a daemon answers that the service did not start (pid %d); to have the service's in its place: foldwatch service restart", pid))
	}
	return r
}

// answering returns the pid of the daemon that answers with this program's folders.
func (app *App) answering(ctx context.Context) (pid int, answers bool) {
	c, err := app.daemon.Running(ctx)
	if err != nil || c == nil {
		return 0, false
	}
	st, err := local.Answer(ctx, app.daemon.Timeout, c.Status)
	return st.PID, err == nil
}

// programOf returns the program that an installed unit starts; "" where the file
// is no unit.
func programOf(text string) string {
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, `ExecStart="`); ok {
			v, _, _ = strings.Cut(v, `" serve`)
			return strings.NewReplacer("$$", "$", "%%", "%", `\"`, `"`, `\\`, `\`).Replace(v)
		}
	}
	return ""
}

func printUnit(p terminal.Printer, r unitReport) {
	if !r.Installed {
		p.Printf("not installed (%s, %s); to install it: foldwatch service install%s\n", r.Manager, r.Scope, scopeFlag(r.Scope))
		if r.Packaged {
			p.Printf("note  a package brought %s, which nobody has enabled\n", r.Path)
		}
		for _, n := range r.Notes {
			p.Printf("note  %s\n", n)
		}
		return
	}
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
	p.Printf("  %-12s %t", "at login", r.Enabled)
	if r.Linger {
		p.Printf(", and before and after")
	}
	p.Printf("\n")
	for _, v := range r.Environment {
		p.Printf("  %-12s %s\n", v.Name, v.Value)
	}
	for _, n := range r.Notes {
		p.Printf("note  %s\n", n)
	}
}
