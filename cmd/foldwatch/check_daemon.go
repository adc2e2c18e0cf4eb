package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/api/sock"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// checkLock looks for locks that nobody will let go of: of a daemon that holds the
// state and does not answer, or of a program that has been starting one for long.
// A dead program's lock is the system's to end, and has.
func checkLock(ctx context.Context, p *patient) []finding {
	if !p.have {
		return []finding{skipped("it is not known where things lie: see check 2")}
	}
	var found []finding
	c, err := p.e.dialed(ctx)
	answers := err == nil && c != nil
	if err == nil && c == nil {
		heard, herr := p.e.hear(ctx)
		if d, deaf := errors.AsType[*deafError](herr); deaf {
			return []finding{p.deafness(d)}
		}
		answers = heard != nil
	}
	for _, l := range []struct{ name, does string }{{"daemon.lock", "holds the state"}, {"start.lock", "has been starting a daemon"}} {
		path := filepath.Join(p.st.dirs.State, l.name)
		holder, since := heldBy(path)
		age := p.e.now().Sub(since)
		if holder == "" || answers || age < startDeadline {
			continue
		}
		pid, _ := strconv.Atoi(strings.TrimPrefix(holder, "pid "))
		if pid <= 0 {
			found = append(found, warn("end what has "+quoteArg(path)+" open, then: foldwatch status", "something %s for %s, and does not say what it is", l.does, span(age)))
			continue
		}
		f := fail(fmt.Sprintf("kill %d unless daemon.log says that it is still starting, then: foldwatch status", pid), "%s %s for %s, and nothing answers at the socket", holder, l.does, span(age))
		// What does not answer yet may be starting.
		if running, known := p.daemons(); age > longStart && known && slices.ContainsFunc(running, func(d daemonProcess) bool { return d.pid == pid }) {
			f = f.fixedBy(fmt.Sprintf("kill %d, a foldwatch daemon", pid), func(ctx context.Context) error { return p.endProcess(ctx, pid) })
		}
		found = append(found, f)
	}
	if b, rerr := os.ReadFile(p.st.dirs.SocketFile()); rerr == nil && err == nil && !answers && len(found) == 0 {
		at := strings.TrimSpace(string(b))
		path := p.st.dirs.SocketFile()
		f := fail("rm "+quoteArg(path), "%s names %s, where nothing answers any more", path, at)
		if p.st.cfg.AutoStart {
			f.Status = isWarn // the next daemon, which anything starts, writes it anew
		}
		found = append(found, f.fixedBy("rm "+quoteArg(path), func(context.Context) error { return os.Remove(path) }))
	}
	return orOK(found, "none is held by what does not answer")
}

// deafness is the finding about a daemon that runs and cannot be reached. It is done
// with starting, so that nothing is lost where it ends.
func (p *patient) deafness(d *deafError) finding {
	if d.occupied {
		return fail(d.does(), "%v", d)
	}
	f := fail(fmt.Sprintf("kill %d, then: foldwatch status", d.pid), "%v", d)
	if running, known := p.daemons(); known && slices.ContainsFunc(running, func(other daemonProcess) bool { return other.pid == d.pid }) {
		f = f.fixedBy(fmt.Sprintf("kill %d, a foldwatch daemon", d.pid), func(ctx context.Context) error { return p.endProcess(ctx, d.pid) })
	}
	return f
}

// longStart is longer than a daemon takes to start, also with the largest index to
// be made anew: one that does not answer after that will not.
const longStart = 10 * time.Minute

// heldBy returns who holds the lock at path, and since when; "" if nobody does, or
// whoever does has left no note.
func heldBy(path string) (holder string, since time.Time) {
	info, err := os.Stat(path + ".holder")
	if err != nil {
		return "", time.Time{} // it was let go of, or never taken
	}
	if holder, held := disk.LockHolder(path); held {
		return holder, info.ModTime()
	}
	return "", time.Time{} // its holder ended without a word
}

func checkDaemon(ctx context.Context, p *patient) finding {
	if !p.have {
		return skipped("it is not known where things lie: see check 2")
	}
	c, err := p.e.running(ctx)
	if _, silent := errors.AsType[*silentError](err); silent {
		return p.silence(err)
	}
	if err != nil {
		return fail("ls -l "+quoteArg(p.st.dirs.Socket), "the socket cannot be used: %v", err)
	}
	started := ""
	if c == nil {
		if p.slips != nil {
			return fail(fold.Hint(p.slips)+", then: foldwatch status", "none runs, and none starts with such a configuration: see check 2")
		}
		if c, err = p.e.start(ctx); err != nil {
			mend := fold.Hint(err)
			if mend == "" {
				mend = "foldwatch serve"
			}
			f := fail(mend, "%v", err)
			_, deaf := errors.AsType[*deafError](err)                                                          // of which check 8 tells
			if !final(err) && !deaf && makeable(p.st.dirs.State) == nil && !errors.Is(err, wire.ErrNoDaemon) { // which says that none may be started
				f = f.fixedBy("start a daemon", func(ctx context.Context) error {
					_, err := p.e.spawn(ctx, "--auto")
					return err
				})
			}
			return f
		}
		started = ", started just now"
	}
	st, err := answer(ctx, p.e.patience.daemon, c.Status)
	if _, silent := errors.AsType[*silentError](err); silent {
		return p.silence(err)
	}
	if err != nil {
		return fail("foldwatch status", "the daemon answers, but not with its status: %v", err)
	}
	p.c, p.stat = c, p.opened(ctx, c, st)
	return ok("pid %d, up %s%s", st.PID, span(p.e.now().Sub(st.StartedAt)), started)
}

// silence is the finding about a daemon that takes connections and does not answer.
func (p *patient) silence(err error) finding {
	mend := "end it, then: foldwatch status"
	holder, _ := heldBy(filepath.Join(p.st.dirs.State, "daemon.lock"))
	if pid, _ := strconv.Atoi(strings.TrimPrefix(holder, "pid ")); pid > 0 {
		mend = fmt.Sprintf("kill %d, or kill -9 where that does not end it, then: foldwatch status", pid)
	}
	return fail(mend, "%v; it is stopped, or stuck", err)
}

// checkOthers looks for further daemons of this user. One with other folders is as
// good as another machine; but no checkout is for both.
func checkOthers(_ context.Context, p *patient) []finding {
	own := 0
	if p.stat != nil {
		own = p.stat.PID
	}
	others, known := p.daemons()
	if !known {
		return []finding{skipped("the processes of %s are not looked at", runtime.GOOS)}
	}
	var found []finding
	for _, d := range others {
		if d.pid == own || d.pid == os.Getpid() {
			continue
		}
		where, ask := "with "+d.home+" as FOLDWATCH_HOME", "FOLDWATCH_HOME="+quoteArg(d.home)+" foldwatch status"
		if d.home == "" {
			where, ask = "with this user's own folders", "env -u FOLDWATCH_HOME foldwatch status"
		}
		found = append(found, warn(fmt.Sprintf("nothing, if you started it and its checkouts are others; what it keeps: %s; to end it: kill %d", ask, d.pid),
			"you have a second daemon, pid %d, %s", d.pid, where))
	}
	return orOK(found, "none")
}

// A daemonProcess is one that runs `foldwatch serve`.
type daemonProcess struct {
	pid  int
	home string // its FOLDWATCH_HOME
}

// daemons lists those of this user; false where processes cannot be listed.
func (p *patient) daemons() ([]daemonProcess, bool) {
	entries, err := os.ReadDir(p.e.proc)
	if err != nil {
		return nil, false
	}
	var all []daemonProcess
	for _, en := range entries {
		pid, err := strconv.Atoi(en.Name())
		if err != nil {
			continue
		}
		b, err := p.kernel(en.Name(), "cmdline")
		if err != nil {
			continue
		}
		args := strings.Split(strings.TrimRight(string(b), "\x00"), "\x00")
		if len(args) < 2 || strings.TrimSuffix(filepath.Base(args[0]), ".exe") != "foldwatch" || !slices.Contains(args[1:2], "serve") {
			continue
		}
		env, err := p.kernel(en.Name(), "environ")
		if err != nil {
			continue // another user's
		}
		d := daemonProcess{pid: pid}
		for v := range bytes.SplitSeq(env, []byte{0}) {
			if home, found := bytes.CutPrefix(v, []byte("FOLDWATCH_HOME=")); found {
				d.home = string(home)
			}
		}
		all = append(all, d)
	}
	return all, true
}

func checkVersion(_ context.Context, p *patient) finding {
	switch {
	case p.stat == nil:
		return skipped("no daemon")
	case p.stat.Version == fullVersion():
		return ok("daemon and program are both %s", p.stat.Version)
	case p.older():
		return fail(p.newerProgram(), "this program is older than the daemon: %s, and the daemon is %s", fullVersion(), p.stat.Version)
	case p.slips != nil: // no other would start
		return fail(fold.Hint(p.slips)+", then: foldwatch doctor --fix", "the daemon is %s, this program is %s", p.stat.Version, fullVersion())
	}
	f := fail(p.e.restartHint(), "the daemon is %s, this program is %s", p.stat.Version, fullVersion())
	if p.e.ofMachine() {
		return f // ours to end, and not to start
	}
	return f.fixedBy("restart the daemon", func(ctx context.Context) error { return p.restart(ctx) })
}

// older reports whether this program is older than the daemon, so that it has no say in
// what the daemon should be.
func (p *patient) older() bool {
	return p.stat != nil && olderVersion(fullVersion(), p.stat.Version)
}

// newerProgram says how to come to a program that is as new as the daemon.
func (p *patient) newerProgram() string {
	ours, err := p.e.program()
	if err != nil {
		ours = "foldwatch"
	}
	mend := "update it: " + quoteArg(ours)
	if its, err := os.Readlink(filepath.Join(p.e.proc, strconv.Itoa(p.stat.PID), "exe")); err == nil && its != ours && exists(its) {
		mend += ", or use that of the daemon: " + quoteArg(its)
	}
	return mend
}

// restart ends the daemon and starts one of this program's version. One that a
// service manager runs is that one's to restart.
func (p *patient) restart(ctx context.Context) error {
	if p.e.ofMachine() {
		return fold.WithHint(fmt.Errorf("the service of the machine is root's to restart: %w", fold.ErrForbidden), p.e.restartHint())
	}
	c, err := p.e.restartService(ctx, p.stat.PID)
	if err != nil {
		return err
	}
	if c == nil {
		args := p.e.manner(p.stat.PID)
		if err := p.end(ctx); err != nil {
			return err
		}
		if c, err = p.e.spawn(ctx, args...); err != nil {
			return err
		}
	}
	st, err := answer(ctx, p.e.patience.daemon, c.Status)
	if err != nil {
		return err
	}
	p.c, p.stat = c, p.opened(ctx, c, st)
	return nil
}

// openingPause is how often a daemon that was just started is asked whether it has
// opened its stores, storesPatience how long. A loaded machine opens 16 in some seconds.
const (
	openingPause   = 100 * time.Millisecond
	storesPatience = 10 * time.Second
)

// opened returns how the daemon is once it has opened the stores of its projects, or
// will not soon: before that it counts nothing. St is how it is now.
func (p *patient) opened(ctx context.Context, c daemonClient, st wire.Status) *wire.Status {
	for range storesPatience / openingPause {
		if !slices.ContainsFunc(st.Projects, func(pr wire.ProjectStatus) bool { return pr.State == stateStarting }) {
			break
		}
		if p.e.wait(ctx, openingPause) != nil {
			break
		}
		now, err := answer(ctx, p.e.patience.daemon, c.Status)
		if err != nil {
			break
		}
		st = now
	}
	return &st
}

// stateStarting is that of a project whose stores are not open yet.
const stateStarting = "starting"

// end ends the daemon, and waits until its socket is gone.
func (p *patient) end(ctx context.Context) error { return p.endProcess(ctx, p.stat.PID) }

// endProcess asks a daemon to end, which may have done so meanwhile, and waits until it
// has let go of socket and state.
func (p *patient) endProcess(ctx context.Context, pid int) error {
	if pid <= 1 {
		return fold.WithHint(fmt.Errorf("the daemon is the first process of its container (pid %d): %w", pid, fold.ErrForbidden), "stop the container")
	}
	if exe, foreign := p.foreign(pid); foreign {
		return fold.WithHint(fmt.Errorf("pid %d is %s here: the daemon that gave it runs in another container: %w", pid, exe, fold.ErrForbidden), "end it from there")
	}
	proc, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	if err := terminate(proc); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop pid %d: %w", pid, err)
	}
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if c, err := p.e.dialed(ctx); err == nil && c == nil && !p.stateHeld() {
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
func (p *patient) foreign(pid int) (exe string, is bool) {
	at := filepath.Join(p.e.proc, strconv.Itoa(pid), "exe")
	exe, err := os.Readlink(at)
	if err != nil || strings.Contains(filepath.Base(exe), "foldwatch") {
		return exe, false
	}
	its, err := os.Stat(at)
	if err != nil {
		return exe, false
	}
	ours, err := os.Stat(filepath.Join(p.e.proc, "self", "exe"))
	return exe, err == nil && !os.SameFile(its, ours)
}

// stateHeld reports whether a daemon has the state folder.
func (p *patient) stateHeld() bool {
	if !p.have {
		return false
	}
	holder, _ := heldBy(filepath.Join(p.st.dirs.State, "daemon.lock"))
	return holder != ""
}

func checkListen(_ context.Context, p *patient) finding {
	switch {
	case p.stat == nil:
		return skipped("no daemon")
	case p.stat.Listen == "" && p.have && p.st.cfg.Listen != "":
		return fail("free that address or change listen, then restart the daemon", "listen is %s, and the daemon does not listen there", p.st.cfg.Listen)
	case p.stat.Webhooks == "" && p.have && p.st.cfg.Webhooks.Listen != "":
		return fail("foldwatch status says why; then restart the daemon", "webhooks.listen is %s, and the daemon does not listen there", p.st.cfg.Webhooks.Listen)
	}
	var where []string
	if p.stat.Listen != "" {
		where = append(where, p.stat.Listen+", for callers with a token")
	}
	if p.stat.Webhooks != "" {
		where = append(where, p.stat.Webhooks+", for signed webhooks")
	}
	if len(where) == 0 {
		return ok("the socket only")
	}
	return ok("%s", strings.Join(where, "; "))
}

// checkSocket looks at the modes of the socket and its folder.
func checkSocket(_ context.Context, p *patient) finding {
	if p.stat == nil {
		return skipped("no daemon")
	}
	if runtime.GOOS == "windows" {
		return ok("%s", p.stat.Socket) // its access list is set when it is made
	}
	path := p.stat.Socket
	type place struct {
		path string
		mode os.FileMode
	}
	places := []place{{path, 0o600}}
	if path == sock.Path(p.st.dirs.Socket) { // else it is the system's, and the folder not ours
		places = append(places, place{filepath.Dir(path), 0o700})
	}
	for _, at := range places {
		info, err := os.Lstat(at.path)
		if err != nil {
			return fail("ls -ld "+quoteArg(at.path), "%v", err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			does := fmt.Sprintf("chmod %o %s", at.mode, quoteArg(at.path))
			return fail(does, "%s is open to other users (who are refused all the same)", at.path).
				fixedBy(does, func(context.Context) error { return os.Chmod(at.path, at.mode) })
		}
	}
	return ok("%s", path)
}
