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

	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
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

func serviceCommand(app *App) *cobra.Command {
	var fl serviceFlags
	sub := func(use, short, long string, run func(ctx context.Context, fl serviceFlags) error) *cobra.Command {
		c := &cobra.Command{
			Use: use, Short: short, Long: long, Args: between(0, 0),
			RunE: func(cmd *cobra.Command, _ []string) error {
				app.daemon.HideNotices()
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
			"Done again it brings the service up to date.", app.serviceInstall)
	install.Flags().BoolVar(&fl.print, "print", false, "print the file that would be written, and do nothing")
	uninstall := sub("uninstall", "Stop the service and take it out of the system",
		"Leaves memories, and what foldwatch keeps about them; --purge also deletes index, registry,\n"+
			"caches, configuration and logs. fold/ and its history stay in each checkout.", app.serviceUninstall)
	uninstall.Flags().BoolVar(&fl.purge, "purge", false, "also delete index, registry, caches, configuration, logs")
	uninstall.Flags().BoolVar(&fl.yes, "yes", false, "do not ask")
	logs := sub("logs", "Show the last lines of the service's log", "", app.serviceLogs)
	logs.Flags().IntVarP(&fl.lines, "lines", "n", 50, "how many")
	logs.Flags().BoolVarP(&fl.follow, "follow", "f", false, "go on as they come")
	return parent("service", "Run foldwatch as a service of the system",
		install, uninstall,
		sub("start", "Start the service", "", app.serviceStart),
		sub("stop", "Stop the service", "", app.serviceStop),
		sub("restart", "Restart the service", "", app.serviceRestart),
		sub("status", "Tell how the system says that the service is", "", app.serviceStatus), logs)
}

// serviceConfig says what a service of foldwatch is on this machine, and what of this
// session's environment it does not have.
func (app *App) serviceConfig(scope unit.Scope) (c unit.Config, left []string, err error) {
	c = unit.Config{OS: runtime.GOOS, Scope: scope}
	if c.Program, err = thisProgram(); err != nil {
		return c, nil, err
	}
	me, err := user.Current()
	if err != nil {
		return c, nil, fmt.Errorf("who we are: %w", err)
	}
	c.Account, c.Home = me.Username, cmp.Or(app.Getenv("HOME"), me.HomeDir)
	if scope == unit.System {
		return c, nil, app.systemConfig(&c) // root may have neither HOME nor folders of ours
	}
	dirs, err := conf.Locate(app.Getenv)
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
	c.Env, left = unit.Environment(app.Getenv, c.Home, cmp.Or(app.Getenv("XDG_RUNTIME_DIR"), "/run/user/"+me.Uid))
	left = append(left, app.unrecorded()...)
	return c, left, nil
}

// systemConfig makes c the service of the machine: on macOS that of the account that
// runs sudo, elsewhere one of an account of its own.
func (app *App) systemConfig(c *unit.Config) error {
	switch c.OS {
	case "windows":
		c.Account, c.Env = unit.WindowsAccount, []unit.Var{{Name: "FOLDWATCH_HOME", Value: unit.SystemHome(c.OS)}}
	case "darwin":
		if who := app.Getenv("SUDO_USER"); who != "" {
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
func (app *App) unrecorded() []string {
	cfg := conf.Default()
	if st, err := app.config.Settings(); err == nil { // else the daemon says what is wrong with it
		cfg = st.Config
	}
	var names []string
	for _, kv := range app.config.Environ {
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
	if name := cmp.Or(app.Getenv("GIT_SSH_COMMAND"), app.Getenv("GIT_SSH")); name != "" {
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
func (app *App) openService(scope unit.Scope) (*unit.Service, unit.State, error) {
	c, _, err := app.serviceConfig(scope)
	if err != nil {
		return nil, unit.State{}, err
	}
	s, err := unit.Open(c, app.root)
	if err != nil {
		return nil, unit.State{}, err
	}
	st, err := s.State()
	return s, st, err
}

// serviceHere is openService for what also ends and shows a daemon of this user that no
// service started: where none can be asked for, none is installed.
func (app *App) serviceHere(scope unit.Scope) (*unit.Service, unit.State, error) {
	s, st, err := app.openService(scope)
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
func (app *App) emitReply(r serviceReply, format string, args ...any) error {
	return app.Emit(r, func(p terminal.Printer) {
		p.Printf(format+"\n", args...)
		for _, n := range r.Notes {
			p.Printf("note  %s\n", n)
		}
	})
}

func (app *App) serviceInstall(ctx context.Context, fl serviceFlags) error {
	c, left, err := app.serviceConfig(fl.scope())
	if err == nil {
		err = c.Check()
	}
	if err != nil {
		return err
	}
	if fl.print {
		return app.Emit(map[string]string{"text": c.Text()}, func(terminal.Printer) { _, _ = io.WriteString(app.Stdout, c.Text()) })
	}
	if _, err := app.config.Settings(); err != nil && c.Scope == unit.User {
		return err // what runs goes on: no other would start
	}
	if c.Scope == unit.System && c.OS != "linux" && (c.Account == "root" || c.Account == "") {
		return usagef("sudo foldwatch service install --system, from a login of the account that is to have it",
			"as root the daemon could do anything to this machine, with what others have written into checkouts; it needs an account of its own")
	}
	s, st, err := app.openService(c.Scope)
	if err != nil {
		return err
	}
	r := serviceReply{Scope: c.Scope, Notes: left}
	if c.Scope == unit.User && c.OS == "linux" && !local.Exists(app.at("/var/lib/systemd/linger/"+c.Account)) {
		r.Notes = append(r.Notes, "it stops when you log out; to keep it: loginctl enable-linger "+c.Account)
	}
	if st.Current && st.Enabled && st.Active() && app.sameVersion(ctx) {
		return app.emitReply(r, "installed already, and up to date")
	}
	if c.Scope == unit.User {
		if _, err := app.endDaemon(ctx, st.PID); err != nil {
			return err
		}
	}
	if err := s.Install(); err != nil {
		return err
	}
	if err := app.awaitService(ctx, c.Scope); err != nil {
		return err
	}
	r.Changed = true
	return app.emitReply(r, "installed (%s, %s)\nready", c.Manager(), c.Scope)
}

// sameVersion reports whether the daemon that answers is of this program's version; true
// where none does.
func (app *App) sameVersion(ctx context.Context) bool {
	c, err := app.daemon.Running(ctx)
	if err != nil || c == nil {
		return true
	}
	h, err := c.Health(ctx)
	return err == nil && h.Version == fullVersion()
}

// awaitService waits until the daemon of the user's service answers. The machine's may
// answer to nobody but its account.
func (app *App) awaitService(ctx context.Context, scope unit.Scope) error {
	if scope == unit.System {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, local.StartDeadline)
	defer cancel()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		if c, err := app.daemon.Running(ctx); err == nil && c != nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fold.WithHint(fmt.Errorf("the service was started and does not answer: %w", fold.ErrUnavailable), "foldwatch service logs")
		}
	}
}

func (app *App) serviceUninstall(ctx context.Context, fl serviceFlags) error {
	s, st, err := app.openService(fl.scope())
	if err != nil && (st.Installed || fl.system || !errors.Is(err, fold.ErrUnavailable)) {
		return err
	}
	r := serviceReply{Scope: fl.scope()}
	var folders []string
	if fl.purge {
		if folders, err = app.kept(fl.scope()); err != nil {
			return err
		}
		if len(folders) > 0 && !fl.yes &&
			(app.NoInput || !app.Ask("Delete "+strings.Join(folders, ", ")+"? Memories stay in their checkouts.")) {
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
		if r.PID, err = app.endDaemon(ctx, 0); err != nil { // it would go on in folders that are no more
			return err
		}
	}
	for _, dir := range folders {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if home := app.Getenv("FOLDWATCH_HOME"); len(folders) > 0 && home != "" && fl.scope() == unit.User {
		_ = os.Remove(home) // where nothing else is in it
	}
	r.Changed = st.Installed || len(folders) > 0
	switch {
	case !r.Changed:
		return app.emitReply(r, "not installed")
	case !fl.purge:
		r.Notes = append(r.Notes, "what it knew stays; to delete it too: foldwatch service uninstall --purge"+scopeFlag(fl.scope()))
	}
	return app.emitReply(r, "uninstalled")
}

// kept returns the folders and files that --purge deletes: those that foldwatch makes.
// FOLDWATCH_HOME may hold more than them.
func (app *App) kept(scope unit.Scope) ([]string, error) {
	if scope == unit.System {
		home := unit.SystemHome(runtime.GOOS)
		if home == "" || !local.Exists(home) {
			return nil, nil // they are those of an account, which may have more than the service
		}
		return []string{home}, nil
	}
	d, err := conf.Locate(app.Getenv)
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
		dirs = append(dirs, filepath.Join(app.Getenv("HOME"), "Library", "Logs", unit.Name+".err")) // of launchd
	}
	slices.Sort(dirs)
	return slices.DeleteFunc(slices.Compact(dirs), func(d string) bool { return !local.Exists(d) }), nil
}

func (app *App) serviceStart(ctx context.Context, fl serviceFlags) error {
	s, st, err := app.openService(fl.scope())
	switch {
	case err != nil:
		return err
	case !st.Installed:
		return notInstalled(fl.scope())
	}
	if fl.scope() == unit.User {
		if _, err := app.config.Settings(); err != nil {
			return err // no daemon would start
		}
		if _, err := app.endDaemon(ctx, st.PID); err != nil {
			return err
		}
	}
	if err := s.Start(); err != nil {
		return err
	}
	if err := app.awaitService(ctx, fl.scope()); err != nil {
		return err
	}
	return app.emitReply(serviceReply{Scope: fl.scope(), Changed: !st.Active()}, "ready")
}

// serviceStop also ends a daemon that no service started.
func (app *App) serviceStop(ctx context.Context, fl serviceFlags) error {
	s, st, err := app.serviceHere(fl.scope())
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
		if r.PID, err = app.endDaemon(ctx, 0); err != nil {
			return err
		}
	}
	if r.PID > 0 && !st.Installed {
		r.Changed = true
		if st, err := app.config.Settings(); err == nil && st.Config.AutoStart {
			r.Notes = append(r.Notes, "the next command starts another; auto_start = false in "+st.Dirs.ConfigFile()+" keeps it from that")
		}
		return app.emitReply(r, "stopped  pid %d, which no service had started", r.PID)
	}
	if r.PID > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("a daemon ran that the service did not start (pid %d): it was ended too", r.PID))
	}
	if !r.Changed {
		return app.emitReply(r, "no daemon runs, and no service is installed")
	}
	return app.emitReply(r, "stopped")
}

// serviceRestart also starts a daemon anew that no service started.
func (app *App) serviceRestart(ctx context.Context, fl serviceFlags) error {
	if _, err := app.config.Settings(); err != nil && fl.scope() == unit.User {
		return err // what runs goes on: no other would start
	}
	s, st, err := app.serviceHere(fl.scope())
	if err != nil {
		return err
	}
	r := serviceReply{Scope: fl.scope(), Changed: true}
	switch {
	case st.Installed:
		if fl.scope() == unit.User {
			if _, err := app.endDaemon(ctx, st.PID); err != nil {
				return err
			}
		}
		if err := s.Restart(); err != nil {
			return err
		}
		if err := app.awaitService(ctx, fl.scope()); err != nil {
			return err
		}
		return app.emitReply(r, "ready")
	case fl.system:
		return notInstalled(fl.scope())
	}
	args := app.daemon.Manner(app.daemonPID(ctx))
	was, err := app.endDaemon(ctx, 0)
	if err != nil {
		return err
	}
	if was == 0 {
		return notInstalled(fl.scope())
	}
	c, err := app.daemon.Spawn(ctx, args...)
	if err != nil {
		return err
	}
	now, err := local.Answer(ctx, app.daemon.Timeout, c.Status)
	if err != nil {
		return err
	}
	r.PID = now.PID
	return app.emitReply(r, "ready  pid %d in the background, in place of %d, which no service had started", now.PID, was)
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
func (app *App) daemonPID(ctx context.Context) int {
	if dirs, err := app.config.Dirs(); err == nil {
		holder, _ := local.LockHolder(filepath.Join(dirs.State, "daemon.lock"))
		if pid, _ := strconv.Atoi(strings.TrimPrefix(holder, "pid ")); pid > 0 {
			return pid
		}
	}
	if c, err := app.daemon.Running(ctx); err == nil && c != nil {
		if st, err := local.Answer(ctx, app.daemon.Timeout, c.Status); err == nil {
			return st.PID
		}
	}
	return 0
}

// endDaemon ends the daemon of these folders, unless its pid is spared, and waits until
// it has let go of socket and state. It returns its pid; 0 if none was ended.
func (app *App) endDaemon(ctx context.Context, spared int) (int, error) {
	pid := app.daemonPID(ctx)
	if pid == 0 || pid == spared {
		return 0, nil
	}
	if app.daemon.Service.OfRoot() {
		return 0, fold.WithHint(fmt.Errorf("the daemon (pid %d) is the service of the machine, which is root's to change: %w", pid, fold.ErrForbidden), rootHint("foldwatch service stop --system"))
	}
	return pid, app.daemon.End(ctx, pid)
}

// installedService returns this user's service; nil if none is installed, or nobody says
// so: a daemon of our own is better than none.
func (app *App) installedService() (*unit.Service, unit.State) {
	s, st, err := app.openService(unit.User)
	if err != nil || !st.Installed {
		return nil, st
	}
	return s, st
}

// asService reports whether the daemon is a service's to run.
func (app *App) asService() bool {
	s, _ := app.installedService()
	return s != nil || app.daemon.Service.OfRoot()
}

// rootHint is a command for root, who may have to be asked.
func rootHint(command string) string { return "as root: " + command }

// at is where a file of the system is found.
func (app *App) at(path string) string {
	if app.root == "" {
		return path
	}
	return filepath.Join(app.root, path)
}
