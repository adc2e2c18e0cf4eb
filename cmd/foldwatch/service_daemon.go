package main

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/packaging/unit"
)

// A daemonService is what the installed service means to whoever looks for the daemon.
type daemonService struct{ app *App }

// Blocked returns a wire.ErrNoDaemon if the daemon of these folders is the machine's:
// one started from here would have none of the bounds of that service.
func (s daemonService) Blocked() error {
	if !s.OfRoot() {
		return nil
	}
	return fold.WithHint(fmt.Errorf("%w; %s has the folders of the machine's service, which is to run it", wire.ErrNoDaemon, unit.SystemHome(runtime.GOOS)),
		rootHint("foldwatch service start --system"))
}

// Start has the user's service start the daemon, and returns when it answers; nil if no
// service is installed, or it cannot be started from here.
func (s daemonService) Start(ctx context.Context) (local.Client, error) {
	own, _ := s.app.installedService()
	if own == nil {
		return nil, nil
	}
	if err := own.Start(); err != nil {
		s.app.Messages(false).Printf("foldwatch: %v; a daemon of its own is started\n", err)
		return nil, nil
	}
	if err := s.app.awaitService(ctx, unit.User); err != nil {
		return nil, err
	}
	return s.app.daemon.Running(ctx)
}

// Restart has the service manager start the daemon anew, if the one with this pid is the
// user's service, and returns when it answers; nil if it is not.
func (s daemonService) Restart(ctx context.Context, pid int) (local.Client, error) {
	own, st := s.app.installedService()
	if own == nil || !st.Active() || st.PID != 0 && st.PID != pid {
		return nil, nil
	}
	if err := own.Restart(); err != nil {
		return nil, err
	}
	if err := s.app.awaitService(ctx, unit.User); err != nil {
		return nil, err
	}
	return s.app.daemon.Running(ctx)
}

// OfRoot reports whether this program was given the folders of the machine's service,
// whose daemon is root's to start and stop.
func (s daemonService) OfRoot() bool {
	home := unit.SystemHome(runtime.GOOS)
	return home != "" && filepath.Clean(s.app.Getenv("FOLDWATCH_HOME")) == home
}

// RestartHint is how a daemon of another version is replaced.
func (s daemonService) RestartHint() string {
	if s.OfRoot() {
		return rootHint("foldwatch service restart --system")
	}
	return "foldwatch doctor --fix"
}
