package main

import (
	"context"
	"errors"
	"time"

	"github.com/foldwatch/foldwatch/daemon"
	"github.com/foldwatch/foldwatch/meta/disk"
)

// stopDeadline is how long a daemon that was told to stop may take before it
// lets go of its state: some seconds of commits and snapshots.
const stopDeadline = 15 * time.Second

// openWhenFree opens the daemon. Where another one holds the state that does not
// answer any more, or not yet, it waits for its end: a stop takes a moment after
// its socket is gone.
func openWhenFree(ctx context.Context, app *App, opt daemon.Options) (*daemon.Daemon, error) {
	late := time.NewTimer(stopDeadline)
	defer late.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		d, err := daemon.Open(ctx, opt)
		if _, held := errors.AsType[*disk.LockedError](err); !held {
			return d, err
		}
		if c, rerr := app.daemon.Running(ctx); rerr != nil || c != nil {
			return nil, err
		}
		if c, deaf := app.daemon.AwaitReachable(ctx); deaf != nil {
			return nil, deaf
		} else if c != nil {
			return nil, err
		}
		select {
		case <-tick.C:
		case <-late.C:
			return nil, err
		case <-ctx.Done():
			return nil, err
		}
	}
}
