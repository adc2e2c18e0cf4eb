package unit

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Step is one thing that is done to the system: a file written or removed, a
// program run, or a word to the service control manager of Windows.
type Step struct {
	Write  string   `json:"write,omitempty"`  // path of a file
	Text   string   `json:"text,omitempty"`   // its content
	Remove string   `json:"remove,omitempty"` // path of a file, or of an empty folder
	Run    []string `json:"run,omitempty"`
	SCM    string   `json:"scm,omitempty"` // install, uninstall, start, stop or restart
	// Optional steps may fail: what they undo may be undone already.
	Optional bool `json:"optional,omitempty"`
}

// String is the step as a person would do it.
func (st Step) String() string {
	switch {
	case st.Write != "":
		return "write " + st.Write
	case st.Remove != "":
		return "remove " + st.Remove
	case st.SCM != "":
		return "service control manager: " + st.SCM + " " + Name
	}
	words := make([]string, len(st.Run))
	for i, w := range st.Run {
		if words[i] = w; strings.Contains(w, " ") {
			words[i] = `"` + w + `"`
		}
	}
	return strings.Join(words, " ")
}

// A Standing is what is there before something is done.
type Standing struct {
	// Installed says that the system starts the daemon: by the file at Path, or by
	// one that a package brought and somebody enabled.
	Installed bool
	Own       bool   // there is a file at Path
	Packaged  string // the file that a package brought, "" where there is none
	Masked    bool   // the user has forbidden systemd to start it
	Same      bool   // installed as the spec says, and the daemon is of our version
	Running   bool
	Lingers   bool // the user's services outlast the session already
	BySpec    bool // the installed unit says that foldwatch made the user linger
	// DropIns are the files that Bind wrote.
	DropIns []string
}

// Install returns the steps that make what the spec says out of what is there.
// Done twice, the second time changes nothing.
func (s Spec) Install(now Standing) []Step {
	var steps []Step
	switch {
	case s.OS == "windows" && s.Scope == System:
		if !now.Same && now.Installed {
			steps = append(steps, Step{SCM: "stop", Optional: true}, Step{SCM: "uninstall"})
		}
		if !now.Same {
			steps = append(steps, Step{SCM: "install"})
		}
		return append(steps, s.begin(now)...)
	case s.OS == "linux" && s.Scope == System && s.NewAccount:
		p, text := s.sysusers()
		steps = append(steps, Step{Write: p, Text: text}, Step{Run: []string{"systemd-sysusers", p}})
	}
	if s.OS == "darwin" {
		steps = append(steps, s.folders()...)
	}
	if !now.Same {
		steps = append(steps, Step{Write: s.Path(), Text: s.Text()})
	}
	switch s.OS {
	case "darwin":
		if !now.Same && now.Installed {
			steps = append(steps, Step{Run: []string{"launchctl", "bootout", s.target()}, Optional: true})
		}
		if !now.Same || !now.Running {
			steps = append(steps, Step{Run: []string{"launchctl", "enable", s.target()}},
				Step{Run: []string{"launchctl", "bootstrap", s.domain(), s.Path()}, Optional: now.Same})
		}
		return steps
	case "windows":
		if !now.Same {
			steps = append(steps, Step{Run: []string{"schtasks", "/Create", "/TN", Name, "/XML", s.Path(), "/F"}})
		}
	default:
		if s.Linger && !now.Lingers {
			steps = append(steps, Step{Run: s.linger("enable")})
		}
		if !now.Same {
			steps = append(steps, Step{Run: s.systemctl("daemon-reload")})
		}
		verb := "enable"
		if now.Packaged != "" && !now.Own {
			verb = "reenable" // a link to the package's unit is in the way of enable
		}
		steps = append(steps, Step{Run: s.systemctl(verb, unitName)})
	}
	return append(steps, s.begin(now)...)
}

// begin starts what does not run, or starts anew what runs as it was.
func (s Spec) begin(now Standing) []Step {
	switch {
	case now.Running && now.Same:
		return nil
	case now.Running:
		return s.Control("restart")
	}
	return s.Control("start")
}

// Uninstall returns the steps that leave nothing of the service but the file of a
// package, which is stopped and disabled. What the daemon itself keeps is not the
// service's.
func (s Spec) Uninstall(now Standing) []Step {
	switch {
	case s.OS == "darwin" && now.Packaged != "" && !now.Own:
		return []Step{{Run: []string{"launchctl", "bootout", s.target()}, Optional: true}, {Run: s.Disable()}}
	case s.OS == "darwin":
		return []Step{{Run: []string{"launchctl", "bootout", s.target()}, Optional: true}, {Remove: s.Path()}}
	case s.OS == "windows" && s.Scope == User:
		return []Step{
			{Run: []string{"schtasks", "/End", "/TN", Name}, Optional: true},
			{Run: []string{"schtasks", "/Delete", "/TN", Name, "/F"}},
			{Remove: s.Path()},
		}
	case s.OS == "windows":
		return []Step{{SCM: "stop", Optional: true}, {SCM: "uninstall"}}
	}
	steps := []Step{{Run: s.Disable(), Optional: !now.Installed}}
	if now.Own || now.Packaged == "" {
		steps = append(steps, Step{Remove: s.Path()})
		if s.Scope == System {
			p, _ := s.sysusers()
			steps = append(steps, Step{Remove: p})
		}
	}
	for _, p := range now.DropIns {
		steps = append(steps, Step{Remove: p})
	}
	steps = append(
		steps,
		Step{Run: s.systemctl("daemon-reload")},
		Step{Run: s.systemctl("reset-failed", unitName), Optional: true},
	)
	if now.BySpec {
		steps = append(steps, Step{Run: s.linger("disable")})
	}
	return steps
}

// UninstallFiles returns what of Uninstall needs no service manager: the files go,
// and with the links the daemon is not started again. What runs is ended otherwise.
// It returns nil where the files alone are not the service.
func (s Spec) UninstallFiles(now Standing) []Step {
	if s.OS != "linux" {
		return nil
	}
	var steps []Step
	for _, st := range append([]Step{{Remove: s.Wants()[0]}}, s.Uninstall(now)...) {
		if st.Remove != "" {
			steps = append(steps, st)
		}
	}
	if now.BySpec {
		steps = append(steps, Step{Run: s.linger("disable"), Optional: true}) // asks the machine's manager
	}
	return steps
}

// Control returns the steps of start, stop and restart.
func (s Spec) Control(verb string) []Step {
	switch {
	case s.OS == "windows" && s.Scope == System:
		return []Step{{SCM: verb}}
	case s.OS == "windows":
		end := Step{Run: []string{"schtasks", "/End", "/TN", Name}}
		run := Step{Run: []string{"schtasks", "/Run", "/TN", Name}}
		return map[string][]Step{"start": {run}, "stop": {end}, "restart": {end, run}}[verb]
	case s.OS == "darwin":
		load := Step{Run: []string{"launchctl", "bootstrap", s.domain(), s.Path()}, Optional: true} // it may be loaded
		return map[string][]Step{
			"start":   {load, {Run: []string{"launchctl", "kickstart", s.target()}}},
			"stop":    {{Run: []string{"launchctl", "kill", "SIGTERM", s.target()}}},
			"restart": {load, {Run: []string{"launchctl", "kickstart", "-k", s.target()}}},
		}[verb]
	}
	if verb == "stop" {
		return []Step{{Run: s.systemctl(verb, unitName)}}
	}
	// What failed too often is not started before it is forgotten.
	return []Step{{Run: s.systemctl("reset-failed", unitName), Optional: true}, {Run: s.systemctl(verb, unitName)}}
}

// Bindable returns an ErrInvalid if no drop-in can let the daemon into the checkout at
// dir: no line of a unit holds a line end, and what follows one would be a setting of
// root's.
func Bindable(dir string) error {
	if hasControls(dir) {
		return fmt.Errorf("%q has control characters, and cannot stand in a unit: %w", dir, fold.ErrInvalid)
	}
	return nil
}

// Bind returns the steps that let the daemon of the system scope of systemd have
// the checkout at dir, which is Bindable, or have it no more.
func (s Spec) Bind(dir string, bind bool) []Step {
	p, text := DropIn(dir)
	step := Step{Remove: p}
	if bind {
		step = Step{Write: p, Text: text}
	}
	return append([]Step{step}, s.Reload()...)
}

// Reload returns the steps that give a running daemon the view that drop-ins say.
func (s Spec) Reload() []Step {
	return []Step{{Run: s.systemctl("daemon-reload")}, {Run: s.systemctl("try-restart", unitName)}}
}

// Ask returns the command whose output ParseState reads; nil where there is
// none.
func (s Spec) Ask() []string {
	switch s.OS {
	case "linux":
		return s.systemctl("show", unitName, "--property="+strings.Join(asked, ","))
	case "darwin":
		return []string{"launchctl", "print", s.target()}
	}
	return nil
}

// Logs returns the command that shows the last lines of the log, or "" and the
// file that is the log.
func (s Spec) Logs(lines int, follow bool) (command []string, file string) {
	if s.OS != "linux" {
		return nil, s.join(s.logDir(), "daemon.log")
	}
	command = []string{"journalctl"}
	if s.Scope == User {
		command = append(command, "--user")
	}
	command = append(command, "--unit="+unitName, "--lines="+strconv.Itoa(lines), "--no-pager", "--output=short-iso")
	if follow {
		command = append(command, "--follow")
	}
	return command, ""
}

const unitName = Name + ".service"

func (s Spec) systemctl(args ...string) []string {
	if s.Scope == User {
		return append([]string{"systemctl", "--user"}, args...)
	}
	return append([]string{"systemctl"}, args...)
}

func (s Spec) linger(verb string) []string { return []string{"loginctl", verb + "-linger", s.Account} }

// domain is where launchd keeps the services of this scope.
func (s Spec) domain() string {
	if s.Scope == System {
		return "system"
	}
	return fmt.Sprintf("gui/%d", s.UID)
}

func (s Spec) target() string { return path.Join(s.domain(), Label) }

// asked are the properties of a systemd unit that State is made of.
var asked = []string{"LoadState", "ActiveState", "SubState", "UnitFileState", "MainPID", "NRestarts", "Result", "StatusText", "ExecMainStatus"}

// A State is how the system says the service is.
type State struct {
	State    string `json:"state,omitempty"` // active, inactive, failed, activating; not running of launchd
	Enabled  bool   `json:"enabled"`         // it starts by itself
	PID      int    `json:"pid,omitempty"`
	Restarts int    `json:"restarts,omitempty"` // since it was last started by hand
	Result   string `json:"result,omitempty"`   // why it is not active, in the system's word
	Code     int    `json:"exit_code,omitempty"`
	Says     string `json:"says,omitempty"` // what the daemon told the system
}

// ParseState reads what the command of Ask prints.
func (s Spec) ParseState(out string) State {
	fields := map[string]string{}
	sep := "="
	if s.OS == "darwin" {
		sep = " = "
	}
	for line := range strings.Lines(out) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), sep)
		if _, seen := fields[name]; ok && !seen { // of launchd, inner tables repeat names
			fields[name] = value
		}
	}
	number := func(name string) int {
		n, _ := strconv.Atoi(fields[name])
		return n
	}
	if s.OS == "darwin" {
		st := State{State: fields["state"], Enabled: out != "", PID: number("pid"), Code: number("last exit code")}
		if st.State == "running" {
			st.State = "active"
		}
		return st
	}
	st := State{
		State: fields["ActiveState"], Enabled: fields["UnitFileState"] == "enabled", PID: number("MainPID"),
		Restarts: number("NRestarts"), Says: fields["StatusText"],
	}
	if r := fields["Result"]; r != "success" {
		st.Result, st.Code = r, number("ExecMainStatus")
	}
	return st
}
