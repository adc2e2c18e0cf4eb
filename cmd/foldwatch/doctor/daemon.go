package doctor

import (
	"bytes"
	"cmp"
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
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// checkLock looks for locks that nobody will let go of: of a daemon that holds the
// state and does not answer, or of a program that has been starting one for long.
// A dead program's lock is the system's to end, and has.
func checkLock(ctx context.Context, x *exam) []Result {
	c, err := x.host.Daemon.Dialed(ctx)
	answers := err == nil && c != nil
	if err == nil && c == nil {
		again, err := x.host.Daemon.AwaitReachable(ctx)
		if u, is := errors.AsType[*local.UnreachableError](err); is {
			return []Result{x.unreachable(u)}
		}
		answers = again != nil
	}
	if answers {
		return []Result{Pass("none is held by what does not answer")}
	}
	var found []Result
	for _, l := range []struct{ name, does string }{{"daemon.lock", "holds the state"}, {"start.lock", "has been starting a daemon"}} {
		path := filepath.Join(x.settings.Dirs.State, l.name)
		holder, since := local.LockHolder(path)
		age := x.host.Now().Sub(since)
		if holder == "" || age < local.StartDeadline {
			continue
		}
		pid, _ := strconv.Atoi(strings.TrimPrefix(holder, "pid "))
		if pid <= 0 {
			found = append(found, Warning("end what has "+terminal.Quote(path)+" open, then: foldwatch status", "something %s for %s, and does not say what it is", l.does, terminal.Span(age)))
			continue
		}
		r := Fault(fmt.Sprintf("kill %d unless daemon.log says that it is still starting, then: foldwatch status", pid), "%s %s for %s, and nothing answers at the socket", holder, l.does, terminal.Span(age))
		if age > longStart { // what does not answer yet may be starting
			r = x.endedByFix(r, pid)
		}
		found = append(found, r)
	}
	file := x.settings.Dirs.SocketFile()
	if at, rerr := os.ReadFile(file); rerr == nil && err == nil && len(found) == 0 {
		r := Fault("rm "+terminal.Quote(file), "%s names %s, where nothing answers any more", file, strings.TrimSpace(string(at)))
		if x.settings.Config.AutoStart {
			r.Status = Warn // the next daemon, which anything starts, writes it anew
		}
		found = append(found, r.remediedBy("rm "+terminal.Quote(file), func(context.Context) error { return os.Remove(file) }))
	}
	return OrPass(found, "none is held by what does not answer")
}

// unreachable is the result about a daemon that runs and cannot be reached. It is done
// with starting, so that nothing is lost where it ends.
func (x *exam) unreachable(u *local.UnreachableError) Result {
	if u.Occupied {
		return Fault(u.Remedy(), "%v", u)
	}
	return x.endedByFix(Fault(fmt.Sprintf("kill %d, then: foldwatch status", u.PID), "%v", u), u.PID)
}

// endedByFix has --fix end the process, if it is known to be a daemon.
func (x *exam) endedByFix(r Result, pid int) Result {
	running, _ := x.daemons()
	if !slices.ContainsFunc(running, func(d daemonProcess) bool { return d.pid == pid }) {
		return r
	}
	return r.remediedBy(fmt.Sprintf("kill %d, a foldwatch daemon", pid), func(ctx context.Context) error { return x.host.Daemon.End(ctx, pid) })
}

// longStart is longer than a daemon takes to start, also with the largest index to
// be made anew: one that does not answer after that will not.
const longStart = 10 * time.Minute

func checkDaemon(ctx context.Context, x *exam) Result {
	c, err := x.host.Daemon.Running(ctx)
	if _, silent := errors.AsType[*local.SilentError](err); silent {
		return x.silence(err)
	}
	if err != nil {
		return Fault("ls -l "+terminal.Quote(x.settings.Dirs.Socket), "the socket cannot be used: %v", err)
	}
	started := ""
	if c == nil {
		if x.wrong != nil {
			return Fault(fold.Hint(x.wrong)+", then: foldwatch status", "none runs, and none starts with such a configuration: see check 2")
		}
		if c, err = x.host.Daemon.Start(ctx); err != nil {
			return x.notStarted(err)
		}
		started = ", started just now"
	}
	err = x.meet(ctx, c)
	if _, silent := errors.AsType[*local.SilentError](err); silent {
		return x.silence(err)
	}
	if err != nil {
		return Fault("foldwatch status", "the daemon answers, but not with its status: %v", err)
	}
	return Pass("pid %d, up %s%s", x.daemon.PID, terminal.Span(x.host.Now().Sub(x.daemon.StartedAt)), started)
}

// notStarted is the result about a daemon that did not start. --fix tries again, unless
// none may be started, or what keeps it from that is there still.
func (x *exam) notStarted(err error) Result {
	r := Fault(cmp.Or(fold.Hint(err), "foldwatch serve"), "%v", err)
	_, runs := errors.AsType[*local.UnreachableError](err) // of which check 8 tells
	if runs || errors.Is(err, wire.ErrNoDaemon) || local.Makeable(x.settings.Dirs.State) != nil {
		return r
	}
	return r.remediedBy("start a daemon", func(ctx context.Context) error {
		_, err := x.host.Daemon.Spawn(ctx, "--auto")
		return err
	})
}

// silence is the result about a daemon that takes connections and does not answer.
func (x *exam) silence(err error) Result {
	mend := "end it, then: foldwatch status"
	holder, _ := local.LockHolder(filepath.Join(x.settings.Dirs.State, "daemon.lock"))
	if pid, _ := strconv.Atoi(strings.TrimPrefix(holder, "pid ")); pid > 0 {
		mend = fmt.Sprintf("kill %d, or kill -9 where that does not end it, then: foldwatch status", pid)
	}
	return Fault(mend, "%v; it is stopped, or stuck", err)
}

// checkOthers looks for further daemons of this user. One with other folders is as
// good as another machine; but no checkout is for both.
func checkOthers(_ context.Context, x *exam) []Result {
	own := 0
	if x.daemon != nil {
		own = x.daemon.PID
	}
	others, known := x.daemons()
	if !known {
		return []Result{Skip("the processes of %s are not looked at", runtime.GOOS)}
	}
	var found []Result
	for _, d := range others {
		if d.pid == own || d.pid == os.Getpid() {
			continue
		}
		where, ask := "with "+d.home+" as FOLDWATCH_HOME", "FOLDWATCH_HOME="+terminal.Quote(d.home)+" foldwatch status"
		if d.home == "" {
			where, ask = "with this user's own folders", "env -u FOLDWATCH_HOME foldwatch status"
		}
		found = append(found, Warning(fmt.Sprintf("nothing, if you started it and its checkouts are others; what it keeps: %s; to end it: kill %d", ask, d.pid),
			"you have a second daemon, pid %d, %s", d.pid, where))
	}
	return OrPass(found, "none")
}

// A daemonProcess is one that runs `foldwatch serve`.
type daemonProcess struct {
	pid  int
	home string // its FOLDWATCH_HOME
}

// daemons lists those of this user; false where processes cannot be listed.
func (x *exam) daemons() ([]daemonProcess, bool) {
	entries, err := os.ReadDir(x.host.Daemon.Proc)
	if err != nil {
		return nil, false
	}
	var all []daemonProcess
	for _, en := range entries {
		pid, err := strconv.Atoi(en.Name())
		if err != nil {
			continue
		}
		b, err := x.kernel(en.Name(), "cmdline")
		if err != nil {
			continue
		}
		args := strings.Split(strings.TrimRight(string(b), "\x00"), "\x00")
		if len(args) < 2 || strings.TrimSuffix(filepath.Base(args[0]), ".exe") != "foldwatch" || !slices.Contains(args[1:2], "serve") {
			continue
		}
		env, err := x.kernel(en.Name(), "environ")
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

func checkVersion(_ context.Context, x *exam) Result {
	own, its := x.host.Daemon.Version, x.daemon.Version
	switch {
	case its == own:
		return Pass("daemon and program are both %s", its)
	case local.Older(own, its):
		return Fault("update it: "+terminal.Quote(x.program()), "this program is older than the daemon: %s, and the daemon is %s", own, its)
	case x.wrong != nil: // no other would start
		return Fault(fold.Hint(x.wrong)+", then: foldwatch doctor --fix", "the daemon is %s, this program is %s", its, own)
	}
	r := Fault(x.host.Daemon.Service.RestartHint(), "the daemon is %s, this program is %s", its, own)
	if x.host.Daemon.Service.OfRoot() {
		return r // ours to end, and not to start
	}
	return r.remediedBy("restart the daemon", func(ctx context.Context) error {
		c, err := x.host.Daemon.Restart(ctx, x.daemon.PID)
		if err != nil {
			return err
		}
		return x.meet(ctx, c)
	})
}

// program is the path of this one.
func (x *exam) program() string {
	path, err := x.host.Program()
	if err != nil {
		return "foldwatch"
	}
	return path
}

// meet makes c the daemon that further checks ask.
func (x *exam) meet(ctx context.Context, c local.Client) error {
	st, err := local.Answer(ctx, x.host.Daemon.Timeout, c.Status)
	if err != nil {
		return err
	}
	x.client, x.daemon = c, x.opened(ctx, c, st)
	return nil
}

func checkListen(_ context.Context, x *exam) Result {
	switch {
	case x.daemon.Listen == "" && x.settings.Dirs.State != "" && x.settings.Config.Listen != "":
		return Fault("free that address or change listen, then restart the daemon", "listen is %s, and the daemon does not listen there", x.settings.Config.Listen)
	case x.daemon.Webhooks == "" && x.settings.Dirs.State != "" && x.settings.Config.Webhooks.Listen != "":
		return Fault("foldwatch status says why; then restart the daemon", "webhooks.listen is %s, and the daemon does not listen there", x.settings.Config.Webhooks.Listen)
	}
	var where []string
	if x.daemon.Listen != "" {
		where = append(where, x.daemon.Listen+", for callers with a token")
	}
	if x.daemon.Webhooks != "" {
		where = append(where, x.daemon.Webhooks+", for signed webhooks")
	}
	if len(where) == 0 {
		return Pass("the socket only")
	}
	return Pass("%s", strings.Join(where, "; "))
}

// checkSocket looks at the modes of the socket and its folder.
func checkSocket(_ context.Context, x *exam) Result {
	if runtime.GOOS == "windows" {
		return Pass("%s", x.daemon.Socket) // its access list is set when it is made
	}
	path := x.daemon.Socket
	type place struct {
		path string
		mode os.FileMode
	}
	places := []place{{path, 0o600}}
	if path == sock.Path(x.settings.Dirs.Socket) { // else it is the system's, and the folder not ours
		places = append(places, place{filepath.Dir(path), 0o700})
	}
	for _, at := range places {
		info, err := os.Lstat(at.path)
		if err != nil {
			return Fault("ls -ld "+terminal.Quote(at.path), "%v", err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			does := fmt.Sprintf("chmod %o %s", at.mode, terminal.Quote(at.path))
			return Fault(does, "%s is open to other users (who are refused all the same)", at.path).
				remediedBy(does, func(context.Context) error { return os.Chmod(at.path, at.mode) })
		}
	}
	return Pass("%s", path)
}
