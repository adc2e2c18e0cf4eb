package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/packaging/unit"
)

// serviceFlags are those of the commands about the service.
type serviceFlags struct {
	user, system, print bool
	purge, yes          bool
	lines               int
	follow              bool
}

func (f serviceFlags) scope() unit.Scope {
	if f.system {
		return unit.System
	}
	return unit.User
}

func serviceCommand(e *environment) *cobra.Command {
	var fl serviceFlags
	sub := func(use, short, long string, run func(ctx context.Context, fl serviceFlags) error) *cobra.Command {
		c := &cobra.Command{
			Use: use, Short: short, Long: long, Args: between(0, 0),
			RunE: func(cmd *cobra.Command, _ []string) error {
				e.noticesTold = true
				if fl.user && fl.system {
					return usagef(cmd.CommandPath()+" --help", "--user and --system exclude each other")
				}
				return run(cmd.Context(), fl)
			},
		}
		c.Flags().BoolVar(&fl.user, "user", false, "that of this user (the default)")
		c.Flags().BoolVar(&fl.system, "system", false, "that of the machine")
		return c
	}
	install := sub("install", "Have the system start foldwatch, now and after every login",
		"Installs foldwatch as a service of this user (systemd, launchd, a task at logon) and starts it.\n"+
			"With --system it is the machine's: on Linux the unit that the package brought is enabled.\n"+
			"Done again it brings the service up to date.", e.serviceInstall)
	install.Flags().BoolVar(&fl.print, "print", false, "print the file that would be written, and do nothing")
	uninstall := sub("uninstall", "Stop the service and take it out of the system",
		"Leaves memories, and what foldwatch keeps about them; --purge also deletes index, registry,\n"+
			"caches, configuration and logs. fold/ and its history stay in each checkout.", e.serviceUninstall)
	uninstall.Flags().BoolVar(&fl.purge, "purge", false, "also delete index, registry, caches, configuration, logs")
	uninstall.Flags().BoolVar(&fl.yes, "yes", false, "do not ask")
	logs := sub("logs", "Show the last lines of the service's log", "", e.serviceLogs)
	logs.Flags().IntVarP(&fl.lines, "lines", "n", 50, "how many")
	logs.Flags().BoolVarP(&fl.follow, "follow", "f", false, "go on as they come")
	return parent("service", "Run foldwatch as a service of the system",
		install, uninstall,
		sub("start", "Start the service", "", e.serviceStart),
		sub("stop", "Stop the service", "", e.serviceStop),
		sub("restart", "Restart the service", "", e.serviceRestart),
		sub("status", "Tell how the system says that the service is", "", e.serviceStatus), logs)
}

// serviceConfig says what a service of foldwatch is on this machine, and what of this
// session's environment it does not have.
func (e *environment) serviceConfig(scope unit.Scope) (c unit.Config, left []string, err error) {
	c = unit.Config{OS: runtime.GOOS, Scope: scope}
	if c.Program, err = thisProgram(); err != nil {
		return c, nil, err
	}
	me, err := user.Current()
	if err != nil {
		return c, nil, fmt.Errorf("who we are: %w", err)
	}
	c.Account, c.Home = me.Username, cmp.Or(e.getenv("HOME"), me.HomeDir)
	if scope == unit.System {
		return c, nil, e.systemConfig(&c) // root may have neither HOME nor folders of ours
	}
	dirs, err := conf.Locate(e.getenv)
	if err != nil {
		return c, nil, err
	}
	c.State = dirs.State
	if c.OS == "windows" { // a task has the environment of the session
		if dirs.Home != "" {
			c.Env = []unit.Var{{Name: "FOLDWATCH_HOME", Value: dirs.Home}}
		}
		return c, nil, nil
	}
	c.Env, left = unit.Environment(e.getenv, c.Home, cmp.Or(e.getenv("XDG_RUNTIME_DIR"), "/run/user/"+me.Uid))
	left = append(left, e.unrecorded()...)
	return c, left, nil
}

// systemConfig makes c the service of the machine: on macOS that of the account that
// runs sudo, elsewhere one of an account of its own.
func (e *environment) systemConfig(c *unit.Config) error {
	switch c.OS {
	case "windows":
		c.Account, c.Env = unit.WindowsAccount, []unit.Var{{Name: "FOLDWATCH_HOME", Value: unit.SystemHome(c.OS)}}
	case "darwin":
		if who := e.getenv("SUDO_USER"); who != "" {
			u, err := user.Lookup(who)
			if err != nil {
				return err
			}
			c.Account, c.Home = u.Username, u.HomeDir
		}
		c.Env = []unit.Var{{Name: "HOME", Value: c.Home}, {Name: "PATH", Value: "/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin:/usr/sbin:/sbin"}}
	default:
		c.Account = unit.Name
	}
	return nil
}

// unrecorded are sentences about what of this session the daemon would read, and a
// service is not given.
func (e *environment) unrecorded() []string {
	cfg := conf.Default()
	if st, err := e.settings(); err == nil { // else the daemon says what is wrong with it
		cfg = st.cfg
	}
	var names []string
	for _, kv := range e.environ {
		if name, value, _ := strings.Cut(kv, "="); value != "" && cfg.Reads(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var notes []string
	if len(names) > 0 {
		notes = append(notes, strings.Join(names, ", ")+": left out, they would stand in a file that others may read; "+
			"a service has its settings in config.toml, and its keys in files that are named there (key_file, secret_file)")
	}
	if name := cmp.Or(e.getenv("GIT_SSH_COMMAND"), e.getenv("GIT_SSH")); name != "" {
		notes = append(notes, "GIT_SSH_COMMAND and GIT_SSH are not for foldwatch, which asks git's configuration: git config --global core.sshCommand …")
	}
	return notes
}

// thisProgram returns where this program lies, by the name under which the user
// finds it: a package manager's link stays where it is, what it points at does
// not.
func thisProgram() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	if found, err := exec.LookPath(unit.Name); err == nil && filepath.IsAbs(found) {
		a, errA := os.Stat(found)
		b, errB := os.Stat(exe)
		if errA == nil && errB == nil && os.SameFile(a, b) {
			return found, nil
		}
	}
	return exe, nil
}

// openService returns the service of the scope, and how the system says that it is; an
// ErrUnavailable where no system that starts services runs.
func (e *environment) openService(scope unit.Scope) (*unit.Service, unit.State, error) {
	c, _, err := e.serviceConfig(scope)
	if err != nil {
		return nil, unit.State{}, err
	}
	s, err := unit.Open(c, e.root)
	if err != nil {
		return nil, unit.State{}, err
	}
	st, err := s.State()
	return s, st, err
}

// serviceHere is openService for what also ends and shows a daemon of this user that no
// service started: where none can be asked for, none is installed.
func (e *environment) serviceHere(scope unit.Scope) (*unit.Service, unit.State, error) {
	s, st, err := e.openService(scope)
	if scope == unit.User && errors.Is(err, fold.ErrUnavailable) {
		return nil, unit.State{}, nil
	}
	return s, st, err
}

// serviceReply is what the commands that change something print with --json.
type serviceReply struct {
	Scope   unit.Scope `json:"scope"`
	Changed bool       `json:"changed"`
	Notes   []string   `json:"notes,omitempty"`
	PID     int        `json:"pid,omitempty"` // of a daemon that no service started: it was ended, or runs now
}

// emitReply prints the reply as JSON, or as a line and its notes.
func (e *environment) emitReply(r serviceReply, format string, args ...any) error {
	return e.emit(r, func(p printer) {
		p.printf(format+"\n", args...)
		for _, n := range r.Notes {
			p.printf("note  %s\n", n)
		}
	})
}

func (e *environment) serviceInstall(ctx context.Context, fl serviceFlags) error {
	c, left, err := e.serviceConfig(fl.scope())
	if err == nil {
		err = c.Check()
	}
	if err != nil {
		return err
	}
	if fl.print {
		return e.emit(map[string]string{"text": c.Text()}, func(printer) { _, _ = io.WriteString(e.stdout, c.Text()) })
	}
	if _, err := e.settings(); err != nil && c.Scope == unit.User {
		return err // what runs goes on: no other would start
	}
	if c.Scope == unit.System && c.OS != "linux" && (c.Account == "root" || c.Account == "") {
		return usagef("sudo foldwatch service install --system, from a login of the account that is to have it",
			"as root the daemon could do anything to this machine, with what others have written into checkouts; it needs an account of its own")
	}
	s, st, err := e.openService(c.Scope)
	if err != nil {
		return err
	}
	r := serviceReply{Scope: c.Scope, Notes: left}
	if c.Scope == unit.User && c.OS == "linux" && !exists(e.at("/var/lib/systemd/linger/"+c.Account)) {
		r.Notes = append(r.Notes, "it stops when you log out; to keep it: loginctl enable-linger "+c.Account)
	}
	if st.Current && st.Enabled && st.Active() && e.sameVersion(ctx) {
		return e.emitReply(r, "installed already, and up to date")
	}
	if c.Scope == unit.User {
		if _, err := e.endDaemon(ctx, st.PID); err != nil {
			return err
		}
	}
	if err := s.Install(); err != nil {
		return err
	}
	if err := e.awaitService(ctx, c.Scope); err != nil {
		return err
	}
	r.Changed = true
	return e.emitReply(r, "installed (%s, %s)\nready", c.Manager(), c.Scope)
}

// sameVersion reports whether the daemon that answers is of this program's version; true
// where none does.
func (e *environment) sameVersion(ctx context.Context) bool {
	c, err := e.running(ctx)
	if err != nil || c == nil {
		return true
	}
	h, err := c.Health(ctx)
	return err == nil && h.Version == fullVersion()
}

// awaitService waits until the daemon of the user's service answers. The machine's may
// answer to nobody but its account.
func (e *environment) awaitService(ctx context.Context, scope unit.Scope) error {
	if scope == unit.System {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		if c, err := e.running(ctx); err == nil && c != nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fold.WithHint(fmt.Errorf("the service was started and does not answer: %w", fold.ErrUnavailable), "foldwatch service logs")
		}
	}
}

func (e *environment) serviceUninstall(ctx context.Context, fl serviceFlags) error {
	s, st, err := e.openService(fl.scope())
	if err != nil && (st.Installed || fl.system || !errors.Is(err, fold.ErrUnavailable)) {
		return err
	}
	r := serviceReply{Scope: fl.scope()}
	var folders []string
	if fl.purge {
		if folders, err = e.kept(fl.scope()); err != nil {
			return err
		}
		if len(folders) > 0 && !fl.yes &&
			(e.flags.noInput || !e.ask("Delete "+strings.Join(folders, ", ")+"? Memories stay in their checkouts.")) {
			return fold.WithHint(errors.New("nothing was removed"), "foldwatch service uninstall --purge --yes"+scopeFlag(fl.scope()))
		}
	}
	if st.Installed {
		if err := s.Uninstall(); err != nil {
			return err
		}
		if st.Packaged {
			r.Notes = append(r.Notes, st.Path+" is the package's: it stays until the package goes, and is disabled")
		}
	}
	if len(folders) > 0 && fl.scope() == unit.User {
		if r.PID, err = e.endDaemon(ctx, 0); err != nil { // it would go on in folders that are no more
			return err
		}
	}
	for _, dir := range folders {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if home := e.getenv("FOLDWATCH_HOME"); len(folders) > 0 && home != "" && fl.scope() == unit.User {
		_ = os.Remove(home) // where nothing else is in it
	}
	r.Changed = st.Installed || len(folders) > 0
	switch {
	case !r.Changed:
		return e.emitReply(r, "not installed")
	case !fl.purge:
		r.Notes = append(r.Notes, "what it knew stays; to delete it too: foldwatch service uninstall --purge"+scopeFlag(fl.scope()))
	}
	return e.emitReply(r, "uninstalled")
}

// kept returns the folders and files that --purge deletes: those that foldwatch makes.
// FOLDWATCH_HOME may hold more than them.
func (e *environment) kept(scope unit.Scope) ([]string, error) {
	if scope == unit.System {
		home := unit.SystemHome(runtime.GOOS)
		if home == "" || !exists(home) {
			return nil, nil // they are those of an account, which may have more than the service
		}
		return []string{home}, nil
	}
	d, err := conf.Locate(e.getenv)
	if err != nil {
		return nil, err
	}
	dirs := []string{d.State, d.Cache, d.Data, d.Config}
	switch {
	case runtime.GOOS == "windows":
	case d.Home != "":
		dirs = append(dirs, d.Socket)
	default:
		dirs = append(dirs, filepath.Dir(d.Socket))
	}
	if runtime.GOOS == "darwin" {
		dirs = append(dirs, filepath.Join(e.getenv("HOME"), "Library", "Logs", unit.Name+".err")) // of launchd
	}
	slices.Sort(dirs)
	return slices.DeleteFunc(slices.Compact(dirs), func(d string) bool { return !exists(d) }), nil
}

func (e *environment) serviceStart(ctx context.Context, fl serviceFlags) error {
	s, st, err := e.openService(fl.scope())
	switch {
	case err != nil:
		return err
	case !st.Installed:
		return notInstalled(fl.scope())
	}
	if fl.scope() == unit.User {
		if _, err := e.settings(); err != nil {
			return err // no daemon would start
		}
		if _, err := e.endDaemon(ctx, st.PID); err != nil {
			return err
		}
	}
	if err := s.Start(); err != nil {
		return err
	}
	if err := e.awaitService(ctx, fl.scope()); err != nil {
		return err
	}
	return e.emitReply(serviceReply{Scope: fl.scope(), Changed: !st.Active()}, "ready")
}

// serviceStop also ends a daemon that no service started.
func (e *environment) serviceStop(ctx context.Context, fl serviceFlags) error {
	s, st, err := e.serviceHere(fl.scope())
	if err != nil {
		return err
	}
	r := serviceReply{Scope: fl.scope(), Changed: st.Installed}
	if st.Installed {
		if err := s.Stop(); err != nil {
			return err
		}
	} else if fl.system {
		return notInstalled(fl.scope())
	}
	if fl.scope() == unit.User {
		if r.PID, err = e.endDaemon(ctx, 0); err != nil {
			return err
		}
	}
	if r.PID > 0 && !st.Installed {
		r.Changed = true
		if st, err := e.settings(); err == nil && st.cfg.AutoStart {
			r.Notes = append(r.Notes, "the next command starts another; auto_start = false in "+st.dirs.ConfigFile()+" keeps it from that")
		}
		return e.emitReply(r, "stopped  pid %d, which no service had started", r.PID)
	}
	if r.PID > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("a daemon ran that the service did not start (pid %d): it was ended too", r.PID))
	}
	if !r.Changed {
		return e.emitReply(r, "no daemon runs, and no service is installed")
	}
	return e.emitReply(r, "stopped")
}

// serviceRestart also starts a daemon anew that no service started.
func (e *environment) serviceRestart(ctx context.Context, fl serviceFlags) error {
	if _, err := e.settings(); err != nil && fl.scope() == unit.User {
		return err // what runs goes on: no other would start
	}
	s, st, err := e.serviceHere(fl.scope())
	if err != nil {
		return err
	}
	r := serviceReply{Scope: fl.scope(), Changed: true}
	switch {
	case st.Installed:
		if fl.scope() == unit.User {
			if _, err := e.endDaemon(ctx, st.PID); err != nil {
				return err
			}
		}
		if err := s.Restart(); err != nil {
			return err
		}
		if err := e.awaitService(ctx, fl.scope()); err != nil {
			return err
		}
		return e.emitReply(r, "ready")
	case fl.system:
		return notInstalled(fl.scope())
	}
	args := e.manner(e.daemonPID(ctx))
	was, err := e.endDaemon(ctx, 0)
	if err != nil {
		return err
	}
	if was == 0 {
		return notInstalled(fl.scope())
	}
	c, err := e.spawn(ctx, args...)
	if err != nil {
		return err
	}
	now, err := answer(ctx, e.patience.daemon, c.Status)
	if err != nil {
		return err
	}
	r.PID = now.PID
	return e.emitReply(r, "ready  pid %d in the background, in place of %d, which no service had started", now.PID, was)
}

// notInstalled says that there is no service to do anything with.
func notInstalled(scope unit.Scope) error {
	hint := "foldwatch service install" + scopeFlag(scope)
	if scope == unit.User {
		hint += "; without a service: foldwatch up -d"
	}
	return fold.WithHint(fmt.Errorf("the service of the %s is not installed: %w", scope, fold.ErrNotFound), hint)
}

// scopeFlag is what a hint about a service of the scope ends with.
func scopeFlag(scope unit.Scope) string {
	if scope == unit.System {
		return " --system"
	}
	return ""
}

// daemonPID returns the pid of the daemon of these folders, which holds the state or
// answers; 0 if none runs.
func (e *environment) daemonPID(ctx context.Context) int {
	if dirs, err := e.folders(); err == nil {
		holder, _ := heldBy(filepath.Join(dirs.State, "daemon.lock"))
		if pid, _ := strconv.Atoi(strings.TrimPrefix(holder, "pid ")); pid > 0 {
			return pid
		}
	}
	if c, err := e.running(ctx); err == nil && c != nil {
		if st, err := answer(ctx, e.patience.daemon, c.Status); err == nil {
			return st.PID
		}
	}
	return 0
}

// endDaemon ends the daemon of these folders, unless its pid is spared, and waits until
// it has let go of socket and state. It returns its pid; 0 if none was ended.
func (e *environment) endDaemon(ctx context.Context, spared int) (int, error) {
	pid := e.daemonPID(ctx)
	if pid == 0 || pid == spared {
		return 0, nil
	}
	if e.ofMachine() {
		return 0, fold.WithHint(fmt.Errorf("the daemon (pid %d) is the service of the machine, which is root's to change: %w", pid, fold.ErrForbidden), rootHint("foldwatch service stop --system"))
	}
	p := &patient{e: e}
	if dirs, err := e.folders(); err == nil {
		p.st.dirs, p.have = dirs, true
	}
	return pid, p.endProcess(ctx, pid)
}

// manner returns the arguments with which a daemon is started anew, so that it ends by
// itself if the one with this pid does, or if that is not known.
func (e *environment) manner(pid int) []string {
	b, err := (&patient{e: e}).kernel(strconv.Itoa(pid), "cmdline")
	if err != nil || slices.Contains(strings.Split(string(b), "\x00"), "--auto") {
		return []string{"--auto"}
	}
	return nil
}

// installedService returns this user's service; nil if none is installed, or nobody says
// so: a daemon of our own is better than none.
func (e *environment) installedService() (*unit.Service, unit.State) {
	s, st, err := e.openService(unit.User)
	if err != nil || !st.Installed {
		return nil, st
	}
	return s, st
}

// asService reports whether the daemon is a service's to run.
func (e *environment) asService() bool {
	s, _ := e.installedService()
	return s != nil || e.ofMachine()
}

// startService has the user's service start the daemon, and returns when it answers; nil
// if no service is installed, or it cannot be started from here.
func (e *environment) startService(ctx context.Context) (daemonClient, error) {
	s, _ := e.installedService()
	if s == nil {
		return nil, nil
	}
	if err := s.Start(); err != nil {
		e.messages(false).printf("foldwatch: %v; a daemon of its own is started\n", err)
		return nil, nil
	}
	if err := e.awaitService(ctx, unit.User); err != nil {
		return nil, err
	}
	return e.running(ctx)
}

// restartService has the service manager start the daemon anew, if the one with this
// pid is the user's service, and returns when it answers; nil if it is not.
func (e *environment) restartService(ctx context.Context, pid int) (daemonClient, error) {
	s, st := e.installedService()
	if s == nil || !st.Active() || st.PID != 0 && st.PID != pid {
		return nil, nil
	}
	if err := s.Restart(); err != nil {
		return nil, err
	}
	if err := e.awaitService(ctx, unit.User); err != nil {
		return nil, err
	}
	return e.running(ctx)
}

// ofMachine reports whether this program was given the folders of the machine's
// service, whose daemon is root's to start and stop.
func (e *environment) ofMachine() bool {
	home := unit.SystemHome(runtime.GOOS)
	return home != "" && filepath.Clean(e.getenv("FOLDWATCH_HOME")) == home
}

// leaveToMachine returns a wire.ErrNoDaemon if the daemon of these folders is the
// machine's: one started from here would have none of the bounds of that service.
func (e *environment) leaveToMachine() error {
	if !e.ofMachine() {
		return nil
	}
	return fold.WithHint(fmt.Errorf("%w; %s has the folders of the machine's service, which is to run it", wire.ErrNoDaemon, unit.SystemHome(runtime.GOOS)),
		rootHint("foldwatch service start --system"))
}

// restartHint is how a daemon of another version is replaced.
func (e *environment) restartHint() string {
	if e.ofMachine() {
		return rootHint("foldwatch service restart --system")
	}
	return "foldwatch doctor --fix"
}

// rootHint is a command for root, who may have to be asked.
func rootHint(command string) string { return "as root: " + command }

// at is where a file of the system is found.
func (e *environment) at(path string) string {
	if e.root == "" {
		return path
	}
	return filepath.Join(e.root, path)
}
