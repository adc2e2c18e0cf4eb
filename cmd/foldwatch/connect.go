package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// startDeadline bounds the wait for a daemon that was just started. It answers
// in well under a second; a loaded machine with 16 checkouts needs some.
const startDeadline = 20 * time.Second

// connect returns a client of the daemon, which is started if none runs and
// auto_start allows it. It tells, once, when the daemon is of another version
// and what the daemon wants people to know.
func (e *environment) connect(ctx context.Context) (daemonClient, error) {
	c, err := e.running(ctx)
	if err != nil {
		return nil, err
	}
	if c == nil {
		if c, err = e.start(ctx); err != nil {
			return nil, err
		}
	}
	e.tellSlips()
	if e.skewed {
		c = e.offerRestart(ctx, c)
		if c == nil { // the old one ended, and the new one did not start
			if c, err = e.start(ctx); err != nil {
				return nil, err
			}
		}
	}
	e.tellNotices(ctx, c)
	return c, nil
}

// A silentError says that the daemon takes a connection and does not answer: it is
// stopped, or stuck. It is a fold.ErrUnavailable.
type silentError struct{ after time.Duration }

func (s *silentError) Error() string {
	return fmt.Sprintf("the daemon does not answer within %s", s.after)
}

// Is reports whether target is fold.ErrUnavailable.
func (s *silentError) Is(target error) bool { return target == fold.ErrUnavailable }

// answer has fn ask the daemon, and returns a silentError if nothing came back in d.
func answer[T any](ctx context.Context, d time.Duration, fn func(ctx context.Context) (T, error)) (T, error) {
	within, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	v, err := fn(within)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fold.WithHint(&silentError{d}, "foldwatch doctor")
	}
	return v, err
}

// dialed is dial, with the patience that the daemon gets.
func (e *environment) dialed(ctx context.Context) (daemonClient, error) {
	return answer(ctx, e.patience.daemon, func(ctx context.Context) (daemonClient, error) { return e.dial(ctx, e) })
}

// running returns a client of the daemon that runs now, or nil if none does. It
// returns a silentError if one takes the connection and does not answer.
func (e *environment) running(ctx context.Context) (daemonClient, error) {
	c, err := e.dialed(ctx)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, nil
	}
	// Most clients have seen the version in the answer to their first call.
	if v, tells := c.(interface{ DaemonVersion() string }); tells && v.DaemonVersion() != "" {
		e.compare(v.DaemonVersion())
		return c, nil
	}
	h, err := answer(ctx, e.patience.daemon, c.Health)
	if _, silent := errors.AsType[*silentError](err); silent {
		return nil, err
	}
	switch {
	case errors.Is(err, wire.ErrNoDaemon), errors.Is(err, fold.ErrUnavailable):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("ask the daemon: %w", err)
	}
	e.compare(h.Version)
	return c, nil
}

// compare says, once, that the daemon is of another version. What is older than the
// daemon does not offer to put itself in its place.
func (e *environment) compare(daemon string) {
	switch {
	case daemon == "" || daemon == fullVersion() || e.skewTold == daemon:
		return
	case olderVersion(fullVersion(), daemon):
		e.Messages(false).Printf("foldwatch: this program is older than the daemon: %s, and the daemon is %s; update this program\n", fullVersion(), daemon)
	default:
		e.skewed = true
		e.Messages(false).Printf("foldwatch: the daemon is %s, this is %s; to restart it: %s\n", daemon, fullVersion(), e.restartHint())
	}
	e.skewTold = daemon
}

// offerRestart asks a person whether a daemon of another version shall be started
// anew, and returns the one that then runs, nil if none does. Who does not answer
// has the command go on: a program may sit at the terminal. So does a restart that
// fails, once that is said.
func (e *environment) offerRestart(ctx context.Context, c daemonClient) daemonClient {
	e.skewed = false // asked once
	if _, err := e.settings(); err != nil {
		return c // another would not start
	}
	if e.Quiet || e.JSON || !e.Interactive() || !e.TTY(e.Stdout) || !e.AskWithin(ctx, e.patience.person, "Restart it now?") {
		return c
	}
	p := &patient{e: e, c: c}
	st, err := answer(ctx, e.patience.daemon, c.Status)
	if err == nil {
		p.stat = &st
		err = p.restart(ctx)
	}
	if err == nil {
		return p.c
	}
	e.Messages(true).Printf("foldwatch: the daemon was not restarted: %v\n", err)
	if c, err = e.dialed(ctx); err != nil {
		return nil
	}
	return c
}

// start makes a daemon of its own process, and returns when it answers.
func (e *environment) start(ctx context.Context) (daemonClient, error) {
	st, err := e.settings()
	if err != nil {
		return nil, err
	}
	if err := e.leaveToMachine(); err != nil {
		return nil, err
	}
	if c, err := e.hear(ctx); err != nil || c != nil {
		return c, err
	}
	if !st.cfg.AutoStart {
		return nil, fold.WithHint(fmt.Errorf("%w, and auto_start is off", wire.ErrNoDaemon), "foldwatch serve")
	}
	return e.spawn(ctx, "--auto")
}

// spawn has the service start the daemon, where one is installed, or starts
// `foldwatch serve ARGS…` on its own, and waits for its socket.
// Of several programs that find no daemon at once, one starts it and the
// others wait for that one.
func (e *environment) spawn(ctx context.Context, args ...string) (daemonClient, error) {
	st, err := e.settings()
	if err != nil {
		return nil, err
	}
	if err := e.leaveToMachine(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(st.dirs.State, 0o700); err != nil {
		return nil, unwritten(st.dirs.State, err)
	}
	if c, err := e.hear(ctx); err != nil || c != nil {
		return c, err
	}
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	lock, c, err := e.startLock(ctx, filepath.Join(st.dirs.State, "start.lock"))
	if err != nil || c != nil {
		return c, err
	}
	defer lock.Close()
	if c, err := e.running(ctx); err != nil || c != nil {
		return c, err
	}

	if c, err := e.startService(ctx); c != nil || err != nil {
		return c, err
	}
	logPath := filepath.Join(st.dirs.State, "start.log")
	exited, err := e.launch(logPath, append([]string{"serve", "--log-file"}, args...))
	if err != nil {
		return nil, unwritten(st.dirs.State, err)
	}
	tick := time.NewTicker(15 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if c, err := e.running(ctx); err == nil && c != nil {
				return c, nil
			}
		case <-exited:
			// It may have lost a race with one started by other means.
			if c, err := e.running(ctx); err == nil && c != nil {
				return c, nil
			}
			return nil, fold.WithHint(fmt.Errorf("the daemon ended as it started: %s", lastLines(logPath, 3)), "foldwatch serve")
		case <-ctx.Done():
			return nil, fold.WithHint(fmt.Errorf("the daemon did not answer within %s", startDeadline), "foldwatch doctor")
		}
	}
}

// unwritten is why no daemon is started where nothing can be written into the state
// folder.
func unwritten(dir string, err error) error {
	if at, is := errors.AsType[*fs.PathError](err); is && (strings.HasPrefix(at.Path, dir) || strings.HasPrefix(dir, at.Path)) {
		return fold.WithHint(fmt.Errorf("no daemon can be started: %s cannot be written: %w", dir, at.Err), elsewhere(dir))
	}
	return fmt.Errorf("start the daemon: %w", err)
}

// elsewhere is what to do about a state folder that cannot be written.
func elsewhere(dir string) string {
	return "make " + terminal.Quote(dir) + " writable; or, where your home is read-only, set FOLDWATCH_HOME to a folder that can be written"
}

// startLock takes the lock under which a daemon is started, or returns a
// client if one appears while another program holds it.
func (e *environment) startLock(ctx context.Context, path string) (*disk.LockFile, daemonClient, error) {
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		lock, err := disk.Lock(path, fmt.Sprintf("pid %d", os.Getpid()))
		if err == nil {
			return lock, nil, nil
		}
		if _, held := errors.AsType[*disk.LockedError](err); !held {
			return nil, nil, unwritten(filepath.Dir(path), err)
		}
		select {
		case <-tick.C:
			if c, err := e.running(ctx); err == nil && c != nil {
				return nil, c, nil
			}
		case <-ctx.Done():
			return nil, nil, fold.WithHint(fmt.Errorf("another program has been starting the daemon for %s", startDeadline), "foldwatch doctor")
		}
	}
}

// launch runs this program with args, detached from terminal and process
// group, its output in logPath. The channel is closed when it has ended.
func (e *environment) launch(logPath string, args []string) (<-chan struct{}, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	out, err := os.OpenFile(logPath, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(exe, args...) // not CommandContext: it outlives us
	cmd.Dir = filepath.Dir(logPath)   // no folder of the user is kept busy
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = detached()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = cmd.Wait() // its log tells why
	}()
	return exited, nil
}

// lastLines returns the last n lines of a small file, joined by "; ".
func lastLines(path string, n int) string {
	b, err := os.ReadFile(path)
	if err != nil || len(strings.TrimSpace(string(b))) == 0 {
		return "it left no message"
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "; ")
}

// tellNotices prints what the daemon wants known, such as a project that is
// paused. It never makes a command fail or wait.
func (e *environment) tellNotices(ctx context.Context, c daemonClient) {
	if e.Quiet || e.noticesTold {
		return
	}
	e.noticesTold = true
	var notices []string
	told := false
	if by, can := c.(interface{ Notices() ([]string, bool) }); can {
		notices, told = by.Notices()
	}
	if !told { // by a daemon of another version
		ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		st, err := c.Status(ctx)
		if err != nil {
			return
		}
		notices = st.Notices
	}
	for _, n := range notices {
		e.Messages(false).Printf("foldwatch: %s\n", n)
	}
}
