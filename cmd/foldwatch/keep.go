package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/foldwatch/foldwatch/api/sock"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/daemon"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// keepListening has the daemon be found for as long as ctx lasts: where its socket or
// the note of where that is was deleted, it puts them in place again. It ends with an
// ErrUnavailable when the state folder is gone: the lock in it is what keeps a second
// daemon away, and what this one still knows is of no use to anyone.
func keepListening(ctx context.Context, d *daemon.Daemon, ln *sock.Listener, dirs conf.Dirs, log *slog.Logger) error {
	socket, file := ln.Addr().String(), dirs.SocketFile()
	noted, _ := os.Lstat(file) // written again if it is not there
	tick := time.NewTicker(local.LookEvery)
	defer tick.Stop()
	for said := ""; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			if d.Holds() {
				_ = os.Remove(file) // who finds the lock held and no note knows that it stops
			}
			return nil
		}
		if !d.Holds() {
			log.ErrorContext(ctx, "Stopping: the state folder was deleted", "path", dirs.State)
			return fmt.Errorf("the state folder %s was deleted while the daemon ran: %w", dirs.State, fold.ErrUnavailable)
		}
		renewed, err := ln.Renew()
		switch {
		case err != nil && err.Error() != said:
			said = err.Error()
			log.ErrorContext(ctx, "Nobody can connect, and the socket cannot be made anew", "err", err)
		case renewed:
			said = ""
			log.WarnContext(ctx, "Listening anew: the socket had been deleted", "socket", socket)
		}
		if now, err := os.Lstat(file); err == nil && os.SameFile(now, noted) && now.Size() == noted.Size() && now.ModTime().Equal(noted.ModTime()) {
			continue
		}
		if disk.WriteFile(file, []byte(socket+"\n"), 0o600) == nil { // else at the next look
			noted, _ = os.Lstat(file)
		}
	}
}
