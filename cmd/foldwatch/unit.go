package main

import (
	"cmp"
	"context"
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

// unitFlags are those of the commands about the service.
type unitFlags struct {
	user, system  bool
	account       string
	dryRun, print bool
	linger        bool
	purge, yes    bool
	lines         int
	follow        bool
}

func (f unitFlags) scope() unit.Scope {
	if f.system {
		return unit.System
	}
	return unit.User
}

func unitCommand(app *App) *cobra.Command {
	var fl unitFlags
	sub := func(use, short, long string, run func(ctx context.Context, fl unitFlags) error) *cobra.Command {
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
		c.Flags().BoolVar(&fl.system, "system", false, "that of the machine, under an account of its own")
		return c
	}
	plans := func(c *cobra.Command) *cobra.Command {
		c.Flags().BoolVar(&fl.dryRun, "dry-run", false, "print what would be done, and do nothing")
		return c
	}
	install := plans(sub("install", "Have the system start foldwatch, now and after every login",
		"Installs foldwatch as a service of this user (systemd, launchd, a task at logon) or, with\n"+
			"--system, of the machine, and starts it. Done again it brings the service up to date.", app.unitInstall))
	install.Flags().BoolVar(&fl.print, "print", false, "print the file that would be written, and do nothing")
	install.Flags().BoolVar(&fl.linger, "linger", false, "also run while this user is not logged in (systemd)")
	install.Flags().StringVar(&fl.account, "account", "", "account to run as, with --system (default: foldwatch, made if need be)")
	uninstall := plans(sub("uninstall", "Stop the service and take it out of the system",
		"Leaves memories, and what foldwatch keeps about them; --purge also deletes index, registry,\n"+
			"caches, configuration and logs. fold/ and its history stay in each checkout.", app.unitUninstall))
	uninstall.Flags().BoolVar(&fl.purge, "purge", false, "also delete index, registry, caches, configuration, logs")
	uninstall.Flags().BoolVar(&fl.yes, "yes", false, "do not ask")
	logs := sub("logs", "Show the last lines of the service's log", "", app.unitLogs)
	logs.Flags().IntVarP(&fl.lines, "lines", "n", 50, "how many")
	logs.Flags().BoolVarP(&fl.follow, "follow", "f", false, "go on as they come")
	control := func(verb, short string) *cobra.Command {
		return plans(sub(verb, short, "", func(ctx context.Context, fl unitFlags) error { return app.unitControl(ctx, fl, verb) }))
	}
	return parent("service", "Run foldwatch as a service of the system",
		install, uninstall, control("start", "Start the service"), control("stop", "Stop the service"), control("restart", "Restart the service"),
		sub("status", "Tell how the service is, and what it can reach", "", app.unitStatus), logs)
}

// unitSpec says what a service of foldwatch is on this machine.
func (app *App) unitSpec(fl unitFlags) (unit.Spec, error) {
	s := unit.Spec{OS: runtime.GOOS, Scope: fl.scope(), Linger: fl.linger}
	var err error
	if s.Program, err = thisProgram(); err != nil {
		return s, err
	}
	if s.Scope == unit.System {
		return app.systemSpec(s, fl.account)
	}
	if fl.account != "" {
		return s, usagef("foldwatch service install --system --account "+fl.account, "--account is for --system")
	}
	me, err := user.Current()
	if err != nil {
		return s, fmt.Errorf("who we are: %w", err)
	}
	dirs, err := conf.Locate(app.Getenv)
	if err != nil {
		return s, err
	}
	s.Account, s.Home, s.State = me.Username, cmp.Or(app.Getenv("HOME"), me.HomeDir), dirs.State
	s.UID, _ = strconv.Atoi(me.Uid) // is a word on Windows, where it is not used
	if x := app.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(x) {
		s.Config = x
	}
	s.Env, _ = app.lasting(s)
	if now, text := app.installed(s); now.Installed && strings.Contains(text, "X-FoldwatchLinger=yes") {
		s.Linger = true // once asked for, it stays
	}
	return s, s.Check()
}

// systemSpec is the service of the machine. It has its own folders, and of this
// session only where programs are.
func (app *App) systemSpec(s unit.Spec, account string) (unit.Spec, error) {
	s.State = unit.SystemState(s.OS)
	s.Account, s.Home = account, s.State
	switch s.OS {
	case "windows":
		s.Account = cmp.Or(account, `NT SERVICE\`+unit.Name)
	case "darwin":
		s.Account = cmp.Or(account, app.accountOf(s), app.Getenv("SUDO_USER"))
	default:
		s.Account = cmp.Or(account, app.accountOf(s), unit.Name)
	}
	if s.OS != "windows" {
		u, err := user.Lookup(s.Account)
		switch {
		case err == nil:
			s.Home = u.HomeDir
			s.UID, _ = strconv.Atoi(u.Uid)
		case s.OS == "linux" && s.Account == unit.Name:
			s.NewAccount, s.UID = true, -1 // nobody's yet
		default:
			return s, fold.WithHint(fmt.Errorf("account %q: %w", s.Account, fold.ErrNotFound), "foldwatch service install --system --account NAME")
		}
	}
	if s.Home == "" || s.Home == "/" || s.Home == "/nonexistent" {
		s.Home = s.State
	}
	s.Env = []unit.Var{
		{Name: "HOME", Value: s.Home},
		{Name: "PATH", Value: s.SystemPath(app.Getenv("PATH"), func(dir string) bool { return onPath("git", dir) })},
		{Name: "FOLDWATCH_HOME", Value: s.State},
	}
	vars, _ := app.lasting(s)
	s.Env = append(s.Env, vars...)
	return s, s.Check()
}

// lasting returns what of this session's environment the service is given, and what
// of it was left out.
func (app *App) lasting(s unit.Spec) (vars []unit.Var, left []string) {
	cfg := conf.Default()
	if st, err := app.config.Settings(); err == nil { // else the daemon says what is wrong with it
		cfg = st.Config
	}
	var read []string
	for _, kv := range app.config.Environ {
		if name, value, _ := strings.Cut(kv, "="); value != "" && cfg.Reads(name) {
			read = append(read, name)
		}
	}
	slices.Sort(read)
	if s.Scope == unit.System {
		return s.LastingSystem(app.Getenv, read)
	}
	vars, left = unit.Lasting(app.Getenv, read, s.Home, cmp.Or(app.Getenv("XDG_RUNTIME_DIR"), fmt.Sprintf("/run/user/%d", s.UID)))
	if s.OS == "windows" {
		left = nil // a task at logon has the environment of the session
	}
	return vars, left
}

// slipNote says that the service would not be installed for what is wrong with the
// configuration of who runs this; "" where nothing is, or the service has another.
func (app *App) slipNote(s unit.Spec) string {
	_, err := app.config.Settings()
	if err == nil || s.Scope != unit.User {
		return ""
	}
	return fmt.Sprintf("it would not be installed: %v", conf.Slips(err)[0])
}

// startable returns a usage error if the service would run as root.
func (app *App) startable(s unit.Spec) error {
	if s.Root() {
		return usagef("foldwatch service install --system --account NAME",
			"as %s the service could do anything to this machine, with what others have written into checkouts; it needs an account of its own", s.Account)
	}
	return nil
}

// seen returns a usage error if the service would not find its program: the machine's
// does not see where a person has programs of their own.
func (app *App) seen(s unit.Spec) error {
	real, err := filepath.EvalSymlinks(s.Program)
	if err != nil {
		real = s.Program
	}
	for _, at := range []string{real, s.Program} {
		if !s.Sees(at) {
			const machines = "/usr/local/bin/" + unit.Name
			return usagef(fmt.Sprintf("install -m 755 %s %s && %s service install --system", terminal.Quote(at), machines, machines),
				"the service of the machine does not see %s: its /tmp, /var/tmp, /home, /root and /run/user are empty; put the program where the machine's programs are", at)
		}
	}
	return nil
}

// accountOf returns the account that the machine's service runs as; "" where none
// is there.
func (app *App) accountOf(s unit.Spec) string {
	_, text := app.installed(s)
	return unit.Account(text)
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

// at is where a file of the system is found.
func (app *App) at(path string) string {
	if app.root == "" {
		return path
	}
	return filepath.Join(app.root, path)
}

func (app *App) machine(s unit.Spec) unit.Machine { return unit.Machine{Root: app.root, Spec: s} }

// installed tells whether the service is, and what the file says by which the
// system starts it: ours, else that of a package.
func (app *App) installed(s unit.Spec) (unit.Standing, string) {
	if s.Path() == "" {
		st, known := s.SCM()
		return unit.Standing{Installed: known, Own: known, Running: st.State == "active"}, ""
	}
	var now unit.Standing
	to, _ := os.Readlink(app.at(s.Path())) // "" where it is no link
	now.Masked = to == os.DevNull
	text, err := os.ReadFile(app.at(s.Path()))
	now.Own = err == nil && !now.Masked
	now.BySpec = strings.Contains(string(text), "X-FoldwatchLinger=yes")
	now.Installed = now.Own
	for _, file := range s.Packages() {
		b, err := os.ReadFile(app.at(file))
		if err != nil {
			continue
		}
		now.Packaged = file
		if !now.Own && !now.Masked {
			text = b
			now.Installed = s.OS == "darwin" || slices.ContainsFunc(s.Wants(), func(link string) bool { return local.Exists(app.at(link)) })
		}
		break
	}
	if s.Scope == unit.System && s.OS == "linux" {
		now.DropIns = app.dropIns()
	}
	return now, string(text)
}

// standing is installed, and how the system says that the service is. One that a
// package brought and nobody enabled is installed all the same while it runs.
func (app *App) standing(ctx context.Context, s unit.Spec) (unit.Standing, string, unit.State, error) {
	now, text := app.installed(s)
	state, err := app.unitState(ctx, s)
	now.Running = now.Running || state.State == "active" || state.State == "activating"
	now.Installed = now.Installed || now.Packaged != "" && now.Running
	return now, text, state, err
}

// fileOf is the file by which the system starts the service.
func fileOf(s unit.Spec, now unit.Standing) string {
	if now.Packaged != "" && !now.Own {
		return now.Packaged
	}
	return s.Path()
}

// A packagedNote says whose a file is that is left where it is.
func packagedNote(s unit.Spec, now unit.Standing) string {
	return fmt.Sprintf("%s is the package's: it stays until the package goes, and is disabled; by hand that is: %s", now.Packaged, strings.Join(s.Disable(), " "))
}

// unitState asks the system how the service is.
func (app *App) unitState(ctx context.Context, s unit.Spec) (unit.State, error) {
	if s.OS == "windows" && s.Scope == unit.System {
		st, _ := s.SCM()
		return st, nil
	}
	ask := s.Ask()
	if ask == nil {
		return unit.State{}, nil
	}
	out, err := app.machine(s).Output(ctx, ask)
	if err != nil && s.OS == "darwin" {
		return unit.State{}, nil // it is not loaded
	}
	return s.ParseState(out), err
}

// unitReply is what the commands that change something print with --json.
type unitReply struct {
	Scope   unit.Scope  `json:"scope"`
	Manager string      `json:"manager"`
	Path    string      `json:"path,omitempty"`
	Done    bool        `json:"done"` // false with --dry-run
	Changed bool        `json:"changed"`
	Steps   []unit.Step `json:"steps"`
	Notes   []string    `json:"notes,omitempty"`
	PID     int         `json:"pid,omitempty"` // of a daemon that no service started: it was ended, or runs now
}

// carryOut does the steps, or prints them.
func (app *App) carryOut(ctx context.Context, s unit.Spec, steps []unit.Step, dryRun bool) (unitReply, error) {
	r := unitReply{Scope: s.Scope, Manager: s.Manager(), Path: s.Path(), Done: !dryRun, Steps: steps}
	notRoot := s.Scope == unit.System && s.OS != "windows" && os.Geteuid() != 0
	switch {
	case dryRun && notRoot && len(steps) > 0:
		r.Notes = append(r.Notes, "only root may do this")
		return r, nil
	case dryRun:
		return r, nil
	case notRoot:
		return r, fold.WithHint(fmt.Errorf("the service of the machine is root's to change: %w", fold.ErrForbidden), "sudo "+strings.Join(os.Args, " "))
	}
	return r, app.machine(s).Apply(ctx, steps)
}

func (app *App) unitInstall(ctx context.Context, fl unitFlags) error {
	s, err := app.unitSpec(fl)
	if err != nil {
		return err
	}
	slip := app.slipNote(s)
	if fl.print {
		if slip != "" {
			app.Messages(false).Printf("foldwatch: %s\n", slip)
		}
		return app.Emit(map[string]string{"path": s.Path(), "text": s.Text()}, func(terminal.Printer) { _, _ = io.WriteString(app.Stdout, s.Text()) })
	}
	if err := app.startable(s); err != nil {
		return err
	}
	if err := app.machine(s).Manages(s); err != nil {
		return err
	}
	if err := app.seen(s); err != nil {
		return err
	}
	now, text, _, err := app.standing(ctx, s)
	if err != nil {
		return err
	}
	if now.Masked {
		return fold.WithHint(fmt.Errorf("the service is masked, %s is a link to %s: %w", s.Path(), os.DevNull, fold.ErrConflict), strings.Join(s.Unmask(), " "))
	}
	now.Lingers = now.BySpec || app.lingering(s.Account)
	var others local.Client
	if s.Scope == unit.User {
		if _, err := app.config.Settings(); err != nil && !fl.dryRun {
			return err // as in unitControl
		}
		if others, err = app.daemon.Running(ctx); err != nil {
			return err
		}
	}
	if s.OS == "linux" && s.Scope == unit.User && !s.Linger && !now.Lingers && !now.Installed && !fl.dryRun && app.Interactive() {
		s.Linger = app.Ask("Have it also run while you are not logged in (loginctl enable-linger " + s.Account + ")?")
	}
	now.Same = now.Own && text == s.Text() && app.sameVersion(ctx, others, now.Running)
	steps := s.Install(now)
	if others != nil && !now.Running && !fl.dryRun {
		if err := app.endDaemon(ctx, others); err != nil {
			return err
		}
	}
	r, err := app.carryOut(ctx, s, steps, fl.dryRun)
	if err != nil {
		return err
	}
	if slip != "" {
		r.Notes = append(r.Notes, slip)
	}
	r.Changed = !now.Same || !now.Running
	_, left := app.lasting(s)
	r.Notes = append(append(r.Notes, left...), app.unitNotes(s)...)
	if now.Packaged != "" {
		r.Notes = append(r.Notes, "it takes the place of the package's "+now.Packaged+", with what this session's environment has; foldwatch service uninstall"+scopeFlag(s.Scope)+" leaves that one, disabled")
	}
	if s.OS == "linux" && s.Scope == unit.User && !s.Linger && !now.Lingers {
		r.Notes = append(r.Notes, "it stops when you log out; to keep it: foldwatch service install --linger (loginctl enable-linger "+s.Account+")")
	}
	if r.Done {
		if err := app.awaitUnit(ctx, s); err != nil {
			return err
		}
	}
	return app.Emit(r, func(p terminal.Printer) {
		switch {
		case !r.Done:
			printSteps(p, r.Steps)
		case r.Changed:
			p.Printf("installed  %s (%s, %s)\nready\n", cmp.Or(s.Path(), s.Manager()), s.Manager(), s.Scope)
		default:
			p.Printf("installed already, and up to date: %s\n", cmp.Or(s.Path(), s.Manager()))
		}
		for _, n := range r.Notes {
			p.Printf("note  %s\n", n)
		}
	})
}

// sameVersion reports whether the service's daemon is of this program's version,
// as far as it can be told.
func (app *App) sameVersion(ctx context.Context, c local.Client, running bool) bool {
	if c == nil || !running {
		return true
	}
	h, err := c.Health(ctx)
	return err == nil && h.Version == fullVersion()
}

// endDaemon ends a daemon that is not the service's, so that the service's finds
// socket and state free.
func (app *App) endDaemon(ctx context.Context, c local.Client) error {
	st, err := c.Status(ctx)
	if err != nil {
		return err
	}
	return app.daemon.End(ctx, st.PID)
}

// awaitUnit waits until the daemon of the user's service answers. The system's
// own may answer to nobody but its account.
func (app *App) awaitUnit(ctx context.Context, s unit.Spec) error {
	if s.Scope == unit.System {
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

// unitNotes says what of the service's environment will not do.
func (app *App) unitNotes(s unit.Spec) []string {
	var notes []string
	vars := map[string]string{}
	for _, v := range s.Env {
		vars[v.Name] = v.Value
	}
	if p, ok := vars["PATH"]; ok && !onPath("git", p) {
		notes = append(notes, "git is in no folder of the service's PATH ("+p+"): install git, then run foldwatch service install again")
	}
	if a := vars["SSH_AUTH_SOCK"]; a != "" && !local.Exists(a) {
		notes = append(notes, "the service's ssh agent is not there ("+a+"): start it, or run foldwatch service install again from where one runs")
	}
	if s.Program == "" || local.Exists(s.Program) {
		return notes
	}
	return append(notes, "the program is not there any more ("+s.Program+"): run foldwatch service install again")
}

// onPath reports whether one of the folders of list has the program.
func onPath(program, list string) bool {
	return slices.ContainsFunc(filepath.SplitList(list), func(dir string) bool {
		found, err := exec.LookPath(filepath.Join(dir, program))
		return err == nil && found != ""
	})
}

func (app *App) unitControl(ctx context.Context, fl unitFlags, verb string) error {
	s, err := app.unitSpec(fl)
	if err != nil {
		return err
	}
	now, _ := app.installed(s)
	there, absent := now.Installed || now.Packaged != "", app.machine(s).Manages(s)
	switch {
	case s.Scope == unit.User && verb == "start" && fl.dryRun && absent != nil:
		return absent // which is what is in the way of a service
	case s.Scope == unit.User && (!there || absent != nil && verb == "stop"):
		return app.controlFree(ctx, s, verb, fl.dryRun)
	case !there && !fl.dryRun:
		return notInstalled(s)
	case absent != nil:
		return absent
	}
	other, own, known := 0, 0, false
	switch {
	case s.Scope == unit.System:
	case verb == "stop":
		other, own, known = app.otherPID(ctx, s)
	case !fl.dryRun:
		if _, err := app.config.Settings(); err != nil {
			return err // what runs goes on: no other would start
		}
		if err := app.yield(ctx, s); err != nil {
			return err
		}
	}
	r, err := app.carryOut(ctx, s, s.Control(verb), fl.dryRun)
	switch {
	case err != nil || s.Scope == unit.System:
	case !r.Done && other > 0:
		r.PID = other
		r.Notes = append(r.Notes, fmt.Sprintf("end the daemon that the service did not start (pid %d)", other))
	case r.Done && verb == "stop" && known:
		r.PID, err = app.endOther(ctx, own)
	case r.Done && verb != "stop":
		err = app.awaitUnit(ctx, s)
	}
	if err != nil {
		return err
	}
	r.Changed = r.Done
	if r.Done && r.PID > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("a daemon ran that the service did not start (pid %d): it was ended too", r.PID))
	}
	return app.Emit(r, func(p terminal.Printer) {
		if !r.Done {
			printSteps(p, r.Steps)
			for _, n := range r.Notes {
				p.Printf("note  %s\n", n)
			}
			return
		}
		p.Printf("%s\n", map[string]string{"start": "ready", "stop": "stopped", "restart": "ready"}[verb])
		for _, n := range r.Notes {
			p.Printf("note  %s\n", n)
		}
	})
}

// yield ends a daemon that holds the state and is not the service's.
func (app *App) yield(ctx context.Context, s unit.Spec) error {
	state, err := app.unitState(ctx, s)
	if err != nil {
		return err
	}
	if starts := state.State == "active" || state.State == "activating"; starts && state.PID == 0 {
		return nil // whose it is, the system does not say
	}
	c, err := app.daemon.Running(ctx)
	if err != nil || c == nil {
		return err
	}
	if pid, answers := app.answering(ctx); answers && pid == state.PID {
		return nil
	}
	return app.endDaemon(ctx, c)
}

// scopeFlag is what a hint about a service of the scope ends with.
func scopeFlag(scope unit.Scope) string {
	if scope == unit.System {
		return " --system"
	}
	return ""
}

func printSteps(p terminal.Printer, steps []unit.Step) {
	for _, st := range steps {
		p.Printf("%s\n", st)
	}
	if len(steps) == 0 {
		p.Printf("nothing is to be done\n")
	}
}

// lingering reports whether the user's services outlast the session.
func (app *App) lingering(account string) bool {
	return local.Exists(app.at("/var/lib/systemd/linger/" + account))
}
