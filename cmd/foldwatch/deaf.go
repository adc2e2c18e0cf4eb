package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A deafError says that a daemon holds the state, and that nobody listens where it
// said it would: its socket was deleted, or something else was put there. It is a
// fold.ErrUnavailable.
type deafError struct{ deafness }

// A deafness is how a daemon that runs cannot be reached.
type deafness struct {
	pid      int
	at       string // path of the socket
	why      string
	occupied bool // something that is no socket lies there
}

func (d *deafError) Error() string {
	return fmt.Sprintf("a daemon runs (pid %d), and cannot be reached: %s", d.pid, d.why)
}

// Is reports whether target is fold.ErrUnavailable.
func (d *deafError) Is(target error) bool { return target == fold.ErrUnavailable }

// does is what ends it.
func (d *deafness) does() string {
	if d.occupied {
		return "move " + terminal.Quote(d.at) + " away: the daemon then listens there again by itself"
	}
	return fmt.Sprintf("foldwatch doctor --fix, which ends it and starts another; by hand: kill %d", d.pid)
}

// deafPatience is how long a daemon that cannot be reached is given to find out. It
// looks every lookEvery.
const deafPatience = lookEvery * 18 / 10

// deaf returns why the daemon that runs cannot be reached, nil if none runs, or one
// that starts or stops: neither has noted its socket since it took the lock.
func (e *environment) deaf() *deafness {
	dirs, failed := e.folders()
	if failed != nil {
		return nil // nobody knows where it would be
	}
	holder, since := heldBy(filepath.Join(dirs.State, "daemon.lock"))
	pid, _ := strconv.Atoi(strings.TrimPrefix(holder, "pid "))
	if pid <= 0 {
		return nil
	}
	note, _ := os.Stat(dirs.SocketFile())
	noted, _ := os.ReadFile(dirs.SocketFile())
	if note == nil || len(noted) == 0 || note.ModTime().Before(since) {
		return nil
	}
	d := &deafness{pid: pid, at: strings.TrimSpace(string(noted))}
	switch info, err := os.Lstat(d.at); {
	case errors.Is(err, fs.ErrNotExist):
		d.why = "its socket " + d.at + " is not there any more"
	case err != nil:
		d.why = "its socket cannot be looked at: " + err.Error()
	case info.Mode().Type() != fs.ModeSocket:
		d.why, d.occupied = "something that is no socket lies at "+d.at, true
	default:
		d.why = "nobody listens at " + d.at
	}
	return d
}

// hear waits for a daemon that runs and cannot be reached, and returns its client as
// soon as it can; nil if none runs. Where it does not come back it returns a
// deafError.
func (e *environment) hear(ctx context.Context) (daemonClient, error) {
	if e.deaf() == nil {
		return nil, nil
	}
	late := time.NewTimer(deafPatience)
	defer late.Stop()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		if c, err := e.running(ctx); err != nil || c != nil {
			return c, err
		}
		d := e.deaf()
		if d == nil {
			return nil, nil // it has ended
		}
		select {
		case <-tick.C:
		case <-late.C:
			return nil, fold.WithHint(&deafError{*d}, d.does())
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
