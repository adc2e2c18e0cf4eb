package main

import (
	"context"
	"fmt"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// serveOptions say how a daemon runs.
type serveOptions struct {
	// OnReady is called once, with the path of the socket, when the daemon
	// answers there.
	OnReady func(socket string)
	// IdleExit ends the daemon after that time without a client; 0 is never.
	IdleExit time.Duration
}

// serve opens the stores, builds every part from them, and runs until ctx is
// done.
func serve(context.Context, *environment, serveOptions) error {
	return fmt.Errorf("this build has no daemon: %w", fold.ErrUnavailable)
}
