package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/packaging/unit"
)

// TestDryRunTellsAllThatIsDone: that a daemon would be ended, and what stands in the
// way, the first thing first.
func TestDryRunTellsAllThatIsDone(t *testing.T) {
	u := newUnitWard(t, "ActiveState=active", "MainPID=4711", "UnitFileState=enabled")
	u.packaged(true)
	u.f.pid = 999_999_999 // no process has it
	u.must(os.MkdirAll(u.spec.State, 0o700))
	u.tells(u.said(0, "service", "uninstall", "--purge", "--dry-run"), "delete "+u.spec.State, "end the daemon (pid 999999999)")
	u.f.pid = 4711
	if said := u.said(0, "service", "uninstall", "--purge", "--dry-run"); strings.Contains(said, "end the daemon") {
		t.Errorf("the service's own, which systemctl ends: %s", said)
	}

	file := filepath.Join(u.vars["XDG_CONFIG_HOME"], "foldwatch", "config.toml")
	u.write(file, "lisen = \"\"\n")
	for _, flag := range []string{"--print", "--dry-run"} {
		u.tells(u.said(0, "service", "install", flag), "it would not be installed: ", "lisen")
	}
	u.must(os.Remove(file))
	if said := u.said(0, "service", "install", "--print"); strings.Contains(said, "would not be") {
		t.Errorf("nothing is wrong with the configuration: %s", said)
	}

	u.must(os.Remove(u.app.at("/run/systemd/system")))
	said := u.said(1, "service", "install", "--system", "--dry-run")
	u.tells(said, "systemd does not run on this machine")
	if strings.Contains(said, "install -m 755") {
		t.Errorf("it wants the program moved for nothing: %s", said)
	}
}

// TestStatusShowsNoValueOfOthers: what somebody has written into the unit may be secret.
func TestStatusShowsNoValueOfOthers(t *testing.T) {
	u := newUnitWard(t, "ActiveState=active", "MainPID=1", "UnitFileState=enabled")
	s := u.spec
	s.Env = append(s.Env, unit.Var{Name: "API_KEY", Value: "hush"}, unit.Var{Name: "HTTPS_PROXY", Value: "http://ada:hush@proxy"}, unit.Var{Name: "NO_PROXY", Value: "example.invalid"})
	u.write(u.app.at(s.Path()), s.Text())
	for _, args := range [][]string{{"service", "status"}, {"service", "status", "--json"}, {"doctor"}} {
		u.out.Reset()
		u.run(args...)
		said := u.out.String() + u.err.String()
		if strings.Contains(said, "hush") {
			t.Errorf("%s: %s", strings.Join(args, " "), said)
		}
		if args[0] == "service" {
			u.tells(said, "API_KEY", "HTTPS_PROXY", unit.NotShown, "example.invalid", u.home)
		}
	}
}

// TestFolderWithALineBreakIsNamed: the variable, and what to do about it.
func TestFolderWithALineBreakIsNamed(t *testing.T) {
	u := newUnitWard(t)
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CONFIG_HOME", "FOLDWATCH_HOME"} {
		was, had := u.vars[name]
		u.vars[name] = filepath.Join(u.home, "a\nb")
		for _, args := range [][]string{{"service", "install", "--print"}, {"service", "status"}} {
			u.tells(u.said(2, args...), name+" has a line break or another control character", "hint: set "+name+" to a path without one, or unset it: unset "+name)
		}
		if u.vars[name] = was; !had {
			delete(u.vars, name)
		}
	}
}
