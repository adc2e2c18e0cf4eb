// Package unit makes foldwatch a service of the operating system: a systemd
// unit, a launchd agent or daemon, a Windows service or a task at logon. What is
// written and what is run is decided by pure functions of a [Spec], for every
// system on every system; [Apply] does it.
//
// github.com/kardianos/service is used for the service control manager of
// Windows only. Its install for systemd and launchd refuses what is installed
// already, knows no upgrade, ignores XDG_CONFIG_HOME, and gives user units a
// target that no user manager has; its control of launchd is by commands that
// Apple calls legacy.
package unit

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Scope says for whom the daemon runs.
type Scope string

// The scopes: from one user's login on, or from the start of the machine under
// an account that is named.
const (
	User   Scope = "user"
	System Scope = "system"
)

// The names by which systems know us.
const (
	Name  = "foldwatch"
	Label = "io.github.foldwatch" // of launchd, which wants a reversed domain
)

// A Var is one variable of the daemon's environment.
type Var struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A Spec says what is installed, and where. All paths are absolute, in the
// manner of OS.
type Spec struct {
	OS      string // linux, darwin or windows
	Scope   Scope
	Program string // foldwatch itself
	Account string // whom the daemon runs as; on Windows with its domain
	UID     int    // of the account, not on Windows; -1 where it is to be made
	Home    string // of the account
	// Config is where the account's configuration lies, $XDG_CONFIG_HOME or
	// ~/.config; user scope of systemd only.
	Config string
	// State is where the daemon keeps its state, and the folder for logs. In the
	// system scope it is FOLDWATCH_HOME, which has all the daemon's folders.
	State string
	Env   []Var // what a session has and a service would lack, see Lasting
	// Linger says that the user's services start with the machine and outlast
	// the session; user scope of systemd only.
	Linger bool
	// NewAccount says that the account is to be made; system scope of systemd
	// only.
	NewAccount bool
}

// SystemState is where a daemon of the system scope keeps everything.
func SystemState(system string) string {
	switch system {
	case "darwin":
		return "/Library/Application Support/foldwatch"
	case "windows":
		return `C:\ProgramData\foldwatch`
	}
	return "/var/lib/foldwatch"
}

// Check returns an ErrInvalid if the spec cannot be installed as it stands.
func (s Spec) Check() error {
	if s.Scope != User && s.Scope != System {
		return fmt.Errorf("scope %q is neither user nor system: %w", s.Scope, fold.ErrInvalid)
	}
	if s.OS != "linux" && s.OS != "darwin" && s.OS != "windows" {
		return fmt.Errorf("no service is known for %s: %w", s.OS, fold.ErrInvalid)
	}
	for _, v := range s.Env { // before what is made of them
		if hasControls(v.Value) {
			return fold.WithHint(fmt.Errorf("%s has a line break or another control character (%q), and no service can be given that: %w", v.Name, v.Value, fold.ErrInvalid),
				"set "+v.Name+" to a path without one, or unset it: unset "+v.Name)
		}
	}
	for _, p := range []Var{{"program", s.Program}, {"home folder", s.Home}, {"state folder", s.State}} {
		if !s.absolute(p.Value) {
			return fmt.Errorf("%s %q is no absolute path: %w", p.Name, p.Value, fold.ErrInvalid)
		}
	}
	if s.Scope == System && s.Account == "" {
		return fmt.Errorf("a service of the system needs an account: %w", fold.ErrInvalid)
	}
	for _, v := range []Var{{"path of the program", s.Program}, {"account", s.Account}, {"home folder", s.Home}, {"state folder", s.State}, {"folder of configuration", s.Config}} {
		if hasControls(v.Value) {
			return fmt.Errorf("the %s %q has a line break or another control character, and no service can be given that: %w", v.Name, v.Value, fold.ErrInvalid)
		}
	}
	return nil
}

// hasControls reports whether text has characters that end a line, or hide one.
func hasControls(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}

func (s Spec) absolute(p string) bool {
	if s.OS == "windows" {
		return len(p) > 2 && p[1] == ':' && p[2] == '\\' || strings.HasPrefix(p, `\\`)
	}
	return path.IsAbs(p)
}

// Root reports whether a service of the system would run as one who may do anything.
func (s Spec) Root() bool {
	switch {
	case s.Scope != System:
		return false // the user's own, who is root already
	case s.OS == "windows":
		name := strings.TrimPrefix(strings.TrimPrefix(strings.ToLower(s.Account), `.\`), `nt authority\`)
		return name == "localsystem" || name == "system"
	}
	return s.Account == "root" || s.UID == 0
}

// join makes a path in the manner of the spec's system.
func (s Spec) join(parts ...string) string {
	if s.OS == "windows" {
		return strings.Join(parts, `\`)
	}
	return path.Join(parts...)
}

// logDir is where the daemon has its log.
func (s Spec) logDir() string {
	if s.Scope == System {
		return s.join(s.State, "state") // as conf.Locate has it below FOLDWATCH_HOME
	}
	return s.State
}

// Manager names what starts the daemon.
func (s Spec) Manager() string {
	switch {
	case s.OS == "darwin":
		return "launchd"
	case s.OS == "windows" && s.Scope == User:
		return "task scheduler"
	case s.OS == "windows":
		return "service control manager"
	}
	return "systemd"
}

// Path returns where the file stands that makes the daemon a service; "" where
// that is no file of ours.
func (s Spec) Path() string {
	switch {
	case s.OS == "darwin" && s.Scope == User:
		return s.join(s.Home, "Library", "LaunchAgents", Label+".plist")
	case s.OS == "darwin":
		return s.join("/Library/LaunchDaemons", Label+".plist")
	case s.OS == "windows" && s.Scope == User:
		return s.join(s.State, Name+".task.xml")
	case s.OS == "windows":
		return ""
	case s.Scope == User:
		return s.join(cmp.Or(s.Config, s.join(s.Home, ".config")), "systemd", "user", Name+".service")
	}
	return "/etc/systemd/system/" + Name + ".service"
}

// Text returns the content of the file at Path.
func (s Spec) Text() string {
	switch {
	case s.OS == "darwin":
		return s.plist()
	case s.OS == "windows":
		return s.task()
	case s.Scope == User:
		return s.userUnit(header)
	}
	return s.systemUnit(header)
}
