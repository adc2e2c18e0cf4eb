package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// End asks a daemon to end, which may have done so meanwhile, and waits until it
// has let go of socket and state.
func (d *Daemon) End(ctx context.Context, pid int) error {
	if pid <= 1 {
		return fold.WithHint(fmt.Errorf("the daemon is the first process of its container (pid %d): %w", pid, fold.ErrForbidden), "stop the container")
	}
	if exe, foreign := d.foreign(pid); foreign {
		return fold.WithHint(fmt.Errorf("pid %d is %s here: the daemon that gave it runs in another container: %w", pid, exe, fold.ErrForbidden), "end it from there")
	}
	proc, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	if err := terminate(proc); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop pid %d: %w", pid, err)
	}
	ctx, cancel := context.WithTimeout(ctx, StartDeadline)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if c, err := d.Dialed(ctx); err == nil && c == nil && !d.holdsState() {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("pid %d does not stop", pid)
		}
	}
}

// foreign returns the program of a process that cannot be the daemon that said it has
// this pid. Folders and socket may be those of another container, or of the machine
// around this one, where processes have other numbers.
func (d *Daemon) foreign(pid int) (exe string, is bool) {
	at := filepath.Join(d.Proc, strconv.Itoa(pid), "exe")
	exe, err := os.Readlink(at)
	if err != nil || strings.Contains(filepath.Base(exe), "foldwatch") {
		return exe, false
	}
	its, err := os.Stat(at)
	if err != nil {
		return exe, false
	}
	ours, err := os.Stat(filepath.Join(d.Proc, "self", "exe"))
	return exe, err == nil && !os.SameFile(its, ours)
}

// Manner returns the arguments with which a daemon is started anew, so that it ends by
// itself if the one with this pid does, or if that is not known.
func (d *Daemon) Manner(pid int) []string {
	b, err := os.ReadFile(filepath.Join(d.Proc, strconv.Itoa(pid), "cmdline"))
	if err != nil || slices.Contains(strings.Split(string(b), "\x00"), "--auto") {
		return []string{"--auto"}
	}
	return nil
}

// holdsState reports whether a daemon has the state folder.
func (d *Daemon) holdsState() bool {
	dirs, err := d.Config.Dirs()
	if err != nil {
		return false
	}
	holder, _ := LockHolder(filepath.Join(dirs.State, "daemon.lock"))
	return holder != ""
}

// Restart ends the daemon that has this pid, and starts one of this program's version.
// One that a service manager runs is that one's to restart.
func (d *Daemon) Restart(ctx context.Context, pid int) (Client, error) {
	if d.Service.OfRoot() {
		return nil, fold.WithHint(fmt.Errorf("the service of the machine is root's to restart: %w", fold.ErrForbidden), d.Service.RestartHint())
	}
	c, err := d.Service.Restart(ctx, pid)
	if err != nil || c != nil {
		return c, err
	}
	args := d.Manner(pid)
	if err := d.End(ctx, pid); err != nil {
		return nil, err
	}
	return d.Spawn(ctx, args...)
}
