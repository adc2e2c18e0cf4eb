package local

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

// StartDeadline bounds the wait for a daemon that was just started. It answers
// in well under a second; a loaded machine with 16 checkouts needs some.
const StartDeadline = 20 * time.Second

// Start makes a daemon of its own process, and returns when it answers.
func (d *Daemon) Start(ctx context.Context) (Client, error) {
	st, err := d.Config.Settings()
	if err != nil {
		return nil, err
	}
	if err := d.Service.Blocked(); err != nil {
		return nil, err
	}
	if c, err := d.AwaitReachable(ctx); err != nil || c != nil {
		return c, err
	}
	if !st.Config.AutoStart {
		return nil, fold.WithHint(fmt.Errorf("%w, and auto_start is off", wire.ErrNoDaemon), "foldwatch serve")
	}
	return d.Spawn(ctx, "--auto")
}

// Spawn has the service start the daemon, where one is installed, or starts
// `foldwatch serve ARGS…` on its own, and waits for its socket.
// Of several programs that find no daemon at once, one starts it and the
// others wait for that one.
func (d *Daemon) Spawn(ctx context.Context, args ...string) (Client, error) {
	st, err := d.Config.Settings()
	if err != nil {
		return nil, err
	}
	if err := d.Service.Blocked(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(st.Dirs.State, 0o700); err != nil {
		return nil, unwritten(st.Dirs.State, err)
	}
	if c, err := d.AwaitReachable(ctx); err != nil || c != nil {
		return c, err
	}
	ctx, cancel := context.WithTimeout(ctx, StartDeadline)
	defer cancel()
	lock, c, err := d.startLock(ctx, filepath.Join(st.Dirs.State, "start.lock"))
	if err != nil || c != nil {
		return c, err
	}
	defer lock.Close()
	if c, err := d.Running(ctx); err != nil || c != nil {
		return c, err
	}

	if c, err := d.Service.Start(ctx); c != nil || err != nil {
		return c, err
	}
	logPath := filepath.Join(st.Dirs.State, "start.log")
	exited, err := d.launch(logPath, append([]string{"serve", "--log-file"}, args...))
	if err != nil {
		return nil, unwritten(st.Dirs.State, err)
	}
	tick := time.NewTicker(15 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if c, err := d.Running(ctx); err == nil && c != nil {
				return c, nil
			}
		case <-exited:
			// It may have lost a race with one started by other means.
			if c, err := d.Running(ctx); err == nil && c != nil {
				return c, nil
			}
			return nil, fold.WithHint(fmt.Errorf("the daemon ended as it started: %s", lastLines(logPath, 3)), "foldwatch serve")
		case <-ctx.Done():
			return nil, fold.WithHint(fmt.Errorf("the daemon did not answer within %s", StartDeadline), "foldwatch doctor")
		}
	}
}

// unwritten is why no daemon is started where nothing can be written into the state
// folder.
func unwritten(dir string, err error) error {
	if at, is := errors.AsType[*fs.PathError](err); is && (strings.HasPrefix(at.Path, dir) || strings.HasPrefix(dir, at.Path)) {
		return fold.WithHint(fmt.Errorf("no daemon can be started: %s cannot be written: %w", dir, at.Err), StateHint(dir))
	}
	return fmt.Errorf("start the daemon: %w", err)
}

// StateHint is what to do about a state folder that cannot be written.
func StateHint(dir string) string {
	return "make " + terminal.Quote(dir) + " writable; or, where your home is read-only, set FOLDWATCH_HOME to a folder that can be written"
}

// startLock takes the lock under which a daemon is started, or returns a
// client if one appears while another program holds it.
func (d *Daemon) startLock(ctx context.Context, path string) (*disk.LockFile, Client, error) {
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
			if c, err := d.Running(ctx); err == nil && c != nil {
				return nil, c, nil
			}
		case <-ctx.Done():
			return nil, nil, fold.WithHint(fmt.Errorf("another program has been starting the daemon for %s", StartDeadline), "foldwatch doctor")
		}
	}
}

// launch runs this program with args, detached from terminal and process
// group, its output in logPath. The channel is closed when it has ended.
func (d *Daemon) launch(logPath string, args []string) (<-chan struct{}, error) {
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
