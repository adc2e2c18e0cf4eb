package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/packaging/unit"
)

func (app *App) unitLogs(ctx context.Context, fl unitFlags) error {
	s, err := app.unitSpec(fl)
	if err != nil {
		return err
	}
	if now, _ := app.installed(s); !now.Installed && now.Packaged == "" {
		if s.Scope == unit.User {
			return app.freeLogs(ctx, s, fl.lines, fl.follow)
		}
		return notInstalled(s)
	}
	command, file := s.Logs(fl.lines, fl.follow)
	if file != "" {
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
	if !fl.follow && fl.lines > 0 && !hasEntries(seen.String()) {
		return app.noEntries(s)
	}
	_, err = app.Stdout.Write(seen.Bytes())
	return err
}

// hasEntries reports whether journalctl found lines of a log: what it says itself
// begins with dashes.
func hasEntries(out string) bool {
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "-- ") {
			return true
		}
	}
	return false
}

// noEntries says why a journal shows nothing.
func (app *App) noEntries(s unit.Spec) error {
	nothing := func(hint, why string) error {
		return fold.WithHint(fmt.Errorf("the journal shows nothing of the %s's service: %s: %w", s.Scope, why, fold.ErrNotFound), hint)
	}
	unitName := unit.Name + ".service"
	switch {
	case s.Scope == unit.System && os.Geteuid() != 0:
		return nothing(rootHint("foldwatch service logs --system"), "it is for root and the group systemd-journal to read")
	case s.Scope == unit.User && !local.Exists(app.at("/var/log/journal")):
		return nothing(rootHint("journalctl _SYSTEMD_USER_UNIT="+unitName+"; to have it kept for users: mkdir /var/log/journal && journalctl --flush"),
			"there is no /var/log/journal, and what is kept in memory is for root to read")
	}
	return nothing("foldwatch service status"+scopeFlag(s.Scope), "the daemon was not started since it begins")
}
