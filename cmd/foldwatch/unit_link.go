package main

import (
	"context"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
)

// A daemonService is what the installed service means to whoever looks for the daemon.
type daemonService struct{ e *environment }

// Blocked is environment.leaveToMachine.
func (s daemonService) Blocked() error { return s.e.leaveToMachine() }

// Start is environment.startService.
func (s daemonService) Start(ctx context.Context) (local.Client, error) { return s.e.startService(ctx) }

// Restart is environment.restartService.
func (s daemonService) Restart(ctx context.Context, pid int) (local.Client, error) {
	return s.e.restartService(ctx, pid)
}

// OfRoot reports whether this program runs as the account of the machine's service.
func (s daemonService) OfRoot() bool {
	use, is := s.e.machineUse()
	return is && use.same
}

// RestartHint is environment.restartHint.
func (s daemonService) RestartHint() string { return s.e.restartHint() }
