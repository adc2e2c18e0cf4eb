// Package unit makes foldwatch a service of the operating system: a systemd unit, a
// launchd agent or daemon, a service of Windows or a task at logon. The files are the
// templates beside this one. github.com/kardianos/service installs and controls them;
// the task at logon, which it does not know, is a type of ours with the same methods.
package unit

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/kardianos/service"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Scope says for whom the daemon runs.
type Scope string

// The scopes: from one user's login on, or from the start of the machine.
const (
	User   Scope = "user"
	System Scope = "system"
)

// Name is by which systemd and Windows know us.
const Name = "foldwatch"

const description = "Memory of projects and their agents, in git"

// A Var is one variable of the daemon's environment.
type Var struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A Config says what is installed, and where. Paths are absolute.
type Config struct {
	OS      string // linux, darwin or windows
	Scope   Scope
	Program string // foldwatch itself
	Account string // whom the daemon runs as
	Home    string // of the account
	State   string // the state folder of a user's daemon
	Env     []Var  // what a session has and a service would lack, see Environment
}

// SystemHome is the FOLDWATCH_HOME of the machine's daemon; "" on macOS, where it is
// an account's daemon with the folders of that account.
func SystemHome(system string) string {
	switch system {
	case "linux":
		return "/var/lib/foldwatch"
	case "windows":
		return `C:\ProgramData\foldwatch`
	}
	return ""
}

// Check returns an ErrInvalid if no service can be made of the config.
func (c Config) Check() error {
	for _, v := range append([]Var{{"the path of the program", c.Program}, {"the account", c.Account}, {"the home folder", c.Home}}, c.Env...) {
		if unfit(v.Value) {
			return fold.WithHint(fmt.Errorf("%s has a line break or another control character (%q), and no service can be given that: %w", v.Name, v.Value, fold.ErrInvalid),
				"set "+v.Name+" to a path without one, or unset it: unset "+v.Name)
		}
	}
	return nil
}

// unfit reports whether text cannot stand in the file of a service: for a character
// that ends a line or hides one, or for what kardianos/service would take for a template.
func unfit(text string) bool {
	return strings.Contains(text, "{{") || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// Manager names what starts the daemon.
func (c Config) Manager() string {
	switch {
	case c.OS == "darwin":
		return "launchd"
	case c.OS == "windows" && c.Scope == User:
		return "task scheduler"
	case c.OS == "windows":
		return "service control manager"
	}
	return "systemd"
}

// path is where the file stands by which the system starts the daemon; "" where that
// is no file of ours.
func (c Config) path() string {
	switch {
	case c.OS == "darwin" && c.Scope == User:
		return filepath.Join(c.Home, "Library", "LaunchAgents", label+".plist")
	case c.OS == "darwin":
		return "/Library/LaunchDaemons/" + label + ".plist"
	case c.OS == "windows" && c.Scope == User:
		return filepath.Join(c.State, Name+".task.xml")
	case c.OS == "linux" && c.Scope == User:
		return filepath.Join(c.Home, ".config", "systemd", "user", unitName)
	}
	return ""
}

// label is by which launchd knows us: a reversed domain.
const label = "io.github.foldwatch"

// A State is how the system says that the service is.
type State struct {
	Installed bool   `json:"installed"`       // the system starts the daemon, or has it running
	Path      string `json:"path,omitempty"`  // the file by which it does
	Packaged  bool   `json:"packaged"`        // a package brought that file
	Current   bool   `json:"current"`         // the file is the one that Install would write
	State     string `json:"state,omitempty"` // active, inactive, failed, activating; "" where nobody knows
	Enabled   bool   `json:"enabled"`         // it starts by itself
	PID       int    `json:"pid,omitempty"`   // of systemd; 0 elsewhere
	Restarts  int    `json:"restarts,omitempty"`
	Result    string `json:"result,omitempty"` // why it is not active, in the system's word
	Code      int    `json:"exit_code,omitempty"`
	Says      string `json:"says,omitempty"` // what the daemon told the system
}

// Active reports whether the daemon runs, or is being started.
func (st State) Active() bool { return st.State == "active" || st.State == "activating" }

// A manager installs and controls one service. Install and Uninstall neither start nor
// stop it.
type manager interface {
	Install() error
	Uninstall() error
	Start() error
	Stop() error
	Restart() error
	State() (State, error)
}

// A Service is foldwatch as the service manager of this machine has it.
type Service struct {
	Config
	manager manager
}

// Open returns the service of the config, which this machine's system has to be, or an
// ErrUnavailable if no system that starts services runs here. Root is put before the
// path at which that is looked for; "" but for tests.
func Open(c Config, root string) (*Service, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	switch {
	case runtime.GOOS == "windows" && c.Scope == User:
		return &Service{c, &task{path: c.path(), text: c.Text()}}, nil
	case runtime.GOOS == "linux" && !exists(filepath.Join(root, "/run/systemd/system")): // sd_booted(3)
		return nil, fold.WithHint(fmt.Errorf("systemd does not run on this machine: %w", fold.ErrUnavailable),
			"foldwatch up -d; or have what supervises this machine or container run: foldwatch serve; in WSL 2, put systemd=true below [boot] in /etc/wsl.conf")
	}
	if dir := fmt.Sprintf("/run/user/%d", os.Getuid()); runtime.GOOS == "linux" && os.Getenv("XDG_RUNTIME_DIR") == "" && exists(dir) {
		_ = os.Setenv("XDG_RUNTIME_DIR", dir) // which a login by su or cron lacks, and systemctl needs
	}
	known, err := c.kardianos()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS == "linux" {
		return &Service{c, systemd{Service: known, user: c.Scope == User, path: c.path()}}, nil
	}
	return &Service{c, native{Service: known, path: c.path()}}, nil
}

// kardianos returns the service as the library has it.
func (c Config) kardianos() (service.Service, error) {
	system := service.ChosenSystem()
	for _, s := range service.AvailableSystems() {
		if s.String() == "linux-systemd" { // also where the library did not find it
			system = s
		}
	}
	if system == nil {
		return nil, fmt.Errorf("no service is known for %s: %w", c.OS, fold.ErrUnavailable)
	}
	sc := &service.Config{
		Name: Name, DisplayName: Name, Description: description, Executable: c.Program, UserName: c.Account, EnvVars: map[string]string{},
		Option: service.KeyValue{
			"UserService": c.Scope == User, "SystemdScript": c.Text(), "LaunchdConfig": c.Text(),
			"StartType": "automatic", "DelayedAutoStart": true, "OnFailure": "restart", "OnFailureDelayDuration": "1s", "OnFailureResetPeriod": 300,
		},
	}
	switch c.OS {
	case "darwin":
		sc.Name = label
	case "windows": // the others have arguments and environment in their files
		sc.Arguments = scmArguments()
		for _, v := range c.Env {
			sc.EnvVars[v.Name] = v.Value
		}
	}
	return system.New(&program{}, sc)
}

// State asks the system how the service is. A unit of a user that is for another
// FOLDWATCH_HOME than the config is not this service.
func (s *Service) State() (State, error) {
	st, err := s.manager.State()
	if err != nil {
		return st, err
	}
	if text, err := os.ReadFile(st.Path); err == nil {
		st.Current = string(text) == s.Text()
		st.Installed = st.Installed && (s.Scope == System || homeOf(string(text)) == homeOf(s.Text()))
	}
	return st, nil
}

// homeOf returns what the file of a service says of FOLDWATCH_HOME, in the manner of
// that file; "" where it does not name it.
func homeOf(text string) string {
	_, after, _ := strings.Cut(text, "FOLDWATCH_HOME")
	after = strings.TrimPrefix(after, "</key>\n\t\t<string>")
	if end := strings.IndexAny(after, "\n<&"); end >= 0 {
		after = after[:end]
	}
	return after
}

// Install puts the service in the place of what is installed, and starts it.
func (s *Service) Install() error {
	st, err := s.manager.State()
	if err != nil {
		return err
	}
	if st.Installed {
		_ = s.manager.Stop() // what runs not is stopped already
	}
	if st.Installed || exists(s.path()) {
		if err := s.manager.Uninstall(); err != nil {
			return s.failed("uninstall", err)
		}
	}
	if err := s.manager.Install(); err != nil {
		return s.failed("install", err)
	}
	return s.Start()
}

// Uninstall stops the service, and takes it out of the system.
func (s *Service) Uninstall() error {
	_ = s.manager.Stop() // it may be stopped
	return s.failed("uninstall", s.manager.Uninstall())
}

// Start starts the service. Of systemd it returns when the daemon is ready.
func (s *Service) Start() error { return s.failed("start", s.manager.Start()) }

// Stop stops the service, which is started again with the next login or start of the
// machine.
func (s *Service) Stop() error { return s.failed("stop", s.manager.Stop()) }

// Restart stops the service and starts it.
func (s *Service) Restart() error { return s.failed("restart", s.manager.Restart()) }

// failed says what was being done when err came.
func (s *Service) failed(verb string, err error) error {
	if err == nil || fold.Hint(err) != "" {
		return err
	}
	err = fmt.Errorf("%s the service (%s): %w", verb, s.Manager(), err)
	if errors.Is(err, os.ErrPermission) {
		return fold.WithHint(fmt.Errorf("%w: %w", err, fold.ErrForbidden), "run this as root, or in a terminal of an administrator")
	}
	return fold.WithHint(err, "foldwatch service status; foldwatch service logs")
}

// LogCommand returns the command that shows the last lines of the service's log; nil
// where that is the daemon's own daemon.log.
func (s *Service) LogCommand(lines int, follow bool) []string {
	if s.OS != "linux" {
		return nil
	}
	argv := []string{"journalctl", "--unit=" + unitName, fmt.Sprintf("--lines=%d", lines), "--no-pager", "--output=short-iso"}
	if s.Scope == User {
		argv = append(argv, "--user")
	}
	if follow {
		argv = append(argv, "--follow")
	}
	return argv
}

// A native service is one of launchd or of the service control manager of Windows.
type native struct {
	service.Service
	path string
}

// Restart starts what does not run, which the library takes for an error.
func (n native) Restart() error {
	if st, err := n.Status(); err == nil && st == service.StatusRunning {
		return n.Service.Restart()
	}
	return n.Start()
}

func (n native) State() (State, error) {
	st, err := n.Status()
	switch {
	case errors.Is(err, service.ErrNotInstalled):
		return State{}, nil
	case err != nil:
		return State{}, err
	}
	word := map[service.Status]string{service.StatusRunning: "active", service.StatusStopped: "inactive"}[st]
	return State{Installed: true, Path: n.path, State: word, Enabled: true}, nil
}

func exists(path string) bool {
	_, err := os.Lstat(cmp.Or(path, "\x00")) // which is nowhere
	return err == nil
}
