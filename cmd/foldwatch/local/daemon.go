package local

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Daemon is how this program reaches the daemon of this machine: it finds the
// one that runs, and starts one where none does.
type Daemon struct {
	Streams *terminal.Streams
	Config  *Config
	Service Service
	Version string // of this program
	Proc    string // the folder in which the kernel tells of processes

	Timeout      time.Duration // until the daemon says that it is there, or how it is
	AnswerWithin time.Duration // until somebody answers a question that can be left open

	// Dial returns a client of the daemon, or nil if none listens at its socket.
	Dial func(ctx context.Context) (Client, error)

	told told
}

// told is what a person was told of the daemon already.
type told struct {
	notices bool
	config  bool   // what is wrong with it
	version string // the other one that the daemon has
	restart bool   // that is newer, and the daemon is to be asked about: see offerRestart
}

// A Service is what the system's service, if one is installed, has to do with the
// daemon.
type Service interface {
	// Blocked returns a wire.ErrNoDaemon if no daemon is to be started from here.
	Blocked() error
	// Start has the service start its daemon; the client is nil if it does not.
	Start(ctx context.Context) (Client, error)
	// Restart has the service start its daemon anew, if that has this pid.
	Restart(ctx context.Context, pid int) (Client, error)
	// OfRoot reports whether the daemon is that of the machine's service.
	OfRoot() bool
	// RestartHint is how a daemon of another version is replaced.
	RestartHint() string
}

// HideNotices has nothing be told of what the daemon wants known: the command shows it.
func (d *Daemon) HideNotices() { d.told.notices = true }

// A SilentError says that the daemon takes a connection and does not answer: it is
// stopped, or stuck. It is a fold.ErrUnavailable.
type SilentError struct{ after time.Duration }

func (s *SilentError) Error() string {
	return fmt.Sprintf("the daemon does not answer within %s", s.after)
}

// Is reports whether target is fold.ErrUnavailable.
func (s *SilentError) Is(target error) bool { return target == fold.ErrUnavailable }

// Answer has fn ask the daemon, and returns a SilentError if nothing came back in d.
func Answer[T any](ctx context.Context, d time.Duration, fn func(ctx context.Context) (T, error)) (T, error) {
	within, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	v, err := fn(within)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fold.WithHint(&SilentError{d}, "foldwatch doctor")
	}
	return v, err
}

// Dialed returns a client of the daemon's socket, or nil if nothing listens there.
func (d *Daemon) Dialed(ctx context.Context) (Client, error) {
	return Answer(ctx, d.Timeout, d.Dial)
}

// Running returns a client of the daemon that runs now, or nil if none does. It
// returns a SilentError if one takes the connection and does not answer.
func (d *Daemon) Running(ctx context.Context) (Client, error) {
	c, err := d.Dialed(ctx)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, nil
	}
	// Most clients have seen the version in the answer to their first call.
	if v, tells := c.(interface{ DaemonVersion() string }); tells && v.DaemonVersion() != "" {
		d.compare(v.DaemonVersion())
		return c, nil
	}
	h, err := Answer(ctx, d.Timeout, c.Health)
	if _, silent := errors.AsType[*SilentError](err); silent {
		return nil, err
	}
	switch {
	case errors.Is(err, wire.ErrNoDaemon), errors.Is(err, fold.ErrUnavailable):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("ask the daemon: %w", err)
	}
	d.compare(h.Version)
	return c, nil
}

// compare says, once, that the daemon is of another version. What is older than the
// daemon does not offer to put itself in its place.
func (d *Daemon) compare(daemon string) {
	switch {
	case daemon == "" || daemon == d.Version || d.told.version == daemon:
		return
	case Older(d.Version, daemon):
		d.Streams.Messages(false).Printf("foldwatch: this program is older than the daemon: %s, and the daemon is %s; update this program\n", d.Version, daemon)
	default:
		d.told.restart = true
		d.Streams.Messages(false).Printf("foldwatch: the daemon is %s, this is %s; to restart it: %s\n", daemon, d.Version, d.Service.RestartHint())
	}
	d.told.version = daemon
}
