package main

import (
	"context"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
)

// A daemonService is what the installed service means to whoever looks for the daemon.
type daemonService struct{ app *App }

// Blocked is App.leaveToMachine.
func (s daemonService) Blocked() error { return s.app.leaveToMachine() }

// Start is App.startService.
func (s daemonService) Start(ctx context.Context) (local.Client, error) {
	return s.app.startService(ctx)
}

// Restart is App.restartService.
func (s daemonService) Restart(ctx context.Context, pid int) (local.Client, error) {
	return s.app.restartService(ctx, pid)
}

// OfRoot reports whether this program runs as the account of the machine's service.
func (s daemonService) OfRoot() bool {
	use, is := s.app.machineUse()
	return is && use.same
}

// RestartHint is App.restartHint.
func (s daemonService) RestartHint() string { return s.app.restartHint() }
