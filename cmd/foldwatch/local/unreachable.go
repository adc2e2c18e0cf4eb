package local

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

// An UnreachableError says that a daemon holds the state, and that nobody listens where it
// said it would: its socket was deleted, or something else was put there. It is a
// fold.ErrUnavailable.
type UnreachableError struct {
	PID      int
	Socket   string // its path
	Reason   string
	Occupied bool // something that is no socket lies there
}

func (d *UnreachableError) Error() string {
	return fmt.Sprintf("a daemon runs (pid %d), and cannot be reached: %s", d.PID, d.Reason)
}

// Is reports whether target is fold.ErrUnavailable.
func (d *UnreachableError) Is(target error) bool { return target == fold.ErrUnavailable }

// Remedy is what ends it.
func (d *UnreachableError) Remedy() string {
	if d.Occupied {
		return "move " + terminal.Quote(d.Socket) + " away: the daemon then listens there again by itself"
	}
	return fmt.Sprintf("foldwatch doctor --fix, which ends it and starts another; by hand: kill %d", d.PID)
}

// reachableAgain is how long a daemon that cannot be reached is given to find out. It
// looks every lookEvery.
const reachableAgain = LookEvery * 18 / 10

// Unreachable returns why the daemon that runs cannot be reached, nil if none runs, or one
// that starts or stops: neither has noted its socket since it took the lock.
func (d *Daemon) Unreachable() *UnreachableError {
	dirs, failed := d.Config.Dirs()
	if failed != nil {
		return nil //nolint:nilerr // nobody knows where it would be
	}
	holder, since := LockHolder(filepath.Join(dirs.State, "daemon.lock"))
	pid, _ := strconv.Atoi(strings.TrimPrefix(holder, "pid "))
	if pid <= 0 {
		return nil
	}
	note, _ := os.Stat(dirs.SocketFile())
	noted, _ := os.ReadFile(dirs.SocketFile())
	if note == nil || len(noted) == 0 || note.ModTime().Before(since) {
		return nil
	}
	u := &UnreachableError{PID: pid, Socket: strings.TrimSpace(string(noted))}
	switch info, err := os.Lstat(u.Socket); {
	case errors.Is(err, fs.ErrNotExist):
		u.Reason = "its socket " + u.Socket + " is not there any more"
	case err != nil:
		u.Reason = "its socket cannot be looked at: " + err.Error()
	case info.Mode().Type() != fs.ModeSocket:
		u.Reason, u.Occupied = "something that is no socket lies at "+u.Socket, true
	default:
		u.Reason = "nobody listens at " + u.Socket
	}
	return u
}

// AwaitReachable waits for a daemon that runs and cannot be reached, and returns its client as
// soon as it can; nil if none runs. Where it does not come back it returns a
// UnreachableError.
func (d *Daemon) AwaitReachable(ctx context.Context) (Client, error) {
	if d.Unreachable() == nil {
		return nil, nil
	}
	late := time.NewTimer(reachableAgain)
	defer late.Stop()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		if c, err := d.Running(ctx); err != nil || c != nil {
			return c, err
		}
		u := d.Unreachable()
		if u == nil {
			return nil, nil // it has ended
		}
		select {
		case <-tick.C:
		case <-late.C:
			return nil, fold.WithHint(u, u.Remedy())
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// LookEvery is how often a daemon looks whether it can still be found. A look is
// three system calls, which read nothing.
const LookEvery = time.Second
