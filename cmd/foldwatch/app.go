package main

import (
	"context"
	"time"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
)

// An App is what one run of the program stands in: its streams, its
// variables, its global flags, and how it reaches the daemon.
type App struct {
	*terminal.Streams
	config  *local.Config
	daemon  *local.Daemon
	workDir func() (string, error)
	program func() (string, error) // path of this one
	now     func() time.Time
	wait    func(ctx context.Context, d time.Duration) error
	timeouts

	// root is put before the paths of the system's own files, such as units; "" but
	// for tests.
	root    string
	free    func(dir string) (int64, error) // bytes that can be written where a folder lies
	parsers func() string                   // what this program parses by

	serve func(ctx context.Context, app *App, opt serveOptions) error // until ctx ends

	slug string // of the project that --project names, "" for none
}

// timeouts say how long others are waited for; for the daemon see [local.Daemon].
type timeouts struct {
	drift time.Duration // until it has compared an index with its files
	git   time.Duration // until one call of the git program has ended
}

// serveOptions say how a daemon runs.
type serveOptions struct {
	// OnReady is called once, with the path of the socket, when the daemon
	// answers there.
	OnReady func(socket string)
	// IdleExit ends the daemon after that time without a client; 0 is never.
	IdleExit time.Duration
	// LogFile sends the log to daemon.log in the state folder, which is bounded,
	// instead of standard error.
	LogFile bool
}

// wait returns after d, or with the error of ctx when that ends first.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
