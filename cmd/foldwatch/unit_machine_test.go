package main

import (
	"context"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/doctor"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/packaging/unit"
)

// machineService installs a service of the machine whose account is who runs the
// test, and returns its FOLDWATCH_HOME.
func (u *unitWard) machineService(vars ...unit.Var) string {
	u.t.Helper()
	me, err := user.Current()
	u.must(err)
	home := filepath.Join(u.home, "srv")
	s := unit.Spec{
		OS: "linux", Scope: unit.System, Program: "/usr/bin/foldwatch", Account: me.Username, Home: home, State: home,
		Env: append([]unit.Var{{Name: "HOME", Value: u.home}, {Name: "FOLDWATCH_HOME", Value: home}}, vars...),
	}
	u.write(u.app.at(s.Path()), s.Text())
	return home
}

// TestAccountOfTheMachineStartsNothing: a command that runs as the account of the
// machine's service starts no daemon beside it, and says how the service is started.
func TestAccountOfTheMachineStartsNothing(t *testing.T) {
	u := newUnitWard(t, "ActiveState=inactive", "MainPID=0", "UnitFileState=enabled")
	home := u.machineService()
	// No daemon could be started, so that none is where this fails.
	u.write(filepath.Join(home, "state"), "")
	u.write(filepath.Join(u.vars["XDG_STATE_HOME"], "foldwatch"), "")
	u.app.daemon.Dial = func(context.Context) (local.Client, error) { return nil, nil }

	u.vars["FOLDWATCH_HOME"] = home
	u.tells(u.said(3, "status"), "is the account of the machine's service, which is to run it", "hint: as root: foldwatch service start --system")
	u.said(3, "up", u.co, "-d", "--no-input")
	u.said(3, "up", u.co, "--no-input")
	u.vars["FOLDWATCH_AUTO_START"] = "false"
	u.app.config.Environ = []string{"FOLDWATCH_AUTO_START=false"} // as `add --system` has it
	u.tells(u.said(3, "projects"), "foldwatch service start --system")
	u.app.config.Environ = nil

	delete(u.vars, "FOLDWATCH_HOME")
	u.tells(u.said(3, "status"), "which has its own in "+home, "hint: FOLDWATCH_HOME="+home+" foldwatch status")

	// Folders that were named for this program are its own, and so are those of a
	// service that this user has.
	u.vars["FOLDWATCH_HOME"] = filepath.Join(u.home, "mine")
	if err := u.app.leaveToMachine(); err != nil {
		t.Errorf("with folders of its own: %v", err)
	}
	delete(u.vars, "FOLDWATCH_HOME")
	u.write(u.app.at(u.spec.Path()), u.spec.Text())
	if err := u.app.leaveToMachine(); err != nil {
		t.Errorf("with a service of its own: %v", err)
	}
}

// TestAccountOfTheMachineEndsNothing: nor does such a command end the machine's daemon,
// which no service of this user started either.
func TestAccountOfTheMachineEndsNothing(t *testing.T) {
	u := newUnitWard(t, "ActiveState=inactive", "MainPID=0", "UnitFileState=enabled")
	u.vars["FOLDWATCH_HOME"] = u.machineService()
	for _, verb := range []string{"stop", "restart"} { // u.f has a pid that nothing ends
		u.tells(u.said(6, "service", verb), "is the service of the machine", "hint: as root: foldwatch service "+verb+" --system")
	}
}

// TestHiddenProgramIsRefused: the machine's service is not installed with a program
// that its unit hides from it, nor is that promised.
func TestHiddenProgramIsRefused(t *testing.T) {
	u := newUnitWard(t)
	link := filepath.Join(u.home, "usr", "foldwatch")
	u.write(filepath.Join(u.home, "foldwatch"), "")
	u.must(os.Mkdir(filepath.Dir(link), 0o700))
	u.must(os.Symlink("../foldwatch", link))
	for _, p := range []string{"/home/ada/bin/foldwatch", "/tmp/foldwatch", link} {
		s := unit.Spec{OS: "linux", Scope: unit.System, Program: p, Account: "foldwatch", UID: -1}
		if real, err := filepath.EvalSymlinks(p); err == nil && s.Sees(real) {
			t.Skip("SKIP: temporary folders are not in /tmp")
		}
		err := u.app.seen(s)
		if exitCode(err) != exitUsage || !strings.Contains(fold.Hint(err), "/usr/local/bin/foldwatch service install --system") {
			t.Errorf("%s: %v, hint %s", p, err, fold.Hint(err))
		}
		if s.Scope = unit.User; u.app.seen(s) != nil {
			t.Errorf("%s: the user's own service has it", p)
		}
	}
	if self, err := os.Executable(); err == nil && strings.HasPrefix(self, "/tmp/") {
		u.tells(u.said(2, "service", "install", "--system", "--dry-run"), "does not see /tmp/", "hint: install -m 755 /tmp/")
	}
}

// TestUninstallRemovesWhatAnotherLeft: drop-ins, the account's file and the link of a
// service whose unit is gone.
func TestUninstallRemovesWhatAnotherLeft(t *testing.T) {
	u := newUnitWard(t)
	drop, text := unit.DropIn("/srv/app")
	left := []string{drop, "/etc/sysusers.d/foldwatch.conf", "/etc/systemd/system/multi-user.target.wants/foldwatch.service"}
	for _, p := range left {
		u.write(u.app.at(p), text)
	}
	if os.Geteuid() != 0 {
		u.tells(u.said(0, "service", "uninstall", "--system", "--dry-run"), left...)
		t.Skip("SKIP: what follows is root's to do")
	}
	u.tells(u.said(0, "service", "uninstall", "--system"), "uninstalled")
	for _, p := range left {
		if local.Exists(u.app.at(p)) {
			t.Errorf("%s is left", p)
		}
	}
	if local.Exists(u.app.at(filepath.Dir(drop))) {
		t.Error("the folder of drop-ins is left")
	}
	u.tells(u.runs(), "systemctl daemon-reload\n")
	u.tells(u.said(0, "service", "uninstall", "--system"), "not installed")
}

// TestDoctorLooksAtTheMachinesService: for the account of it, and root.
func TestDoctorLooksAtTheMachinesService(t *testing.T) {
	u := newUnitWard(t, "ActiveState=failed", "Result=exit-code", "ExecMainStatus=2", "UnitFileState=enabled")
	u.vars["FOLDWATCH_HOME"] = u.machineService(unit.Var{Name: "PATH", Value: "/nowhere"})
	found := u.look("service", false)
	if !has(found, doctor.Fail, "it has failed: exit-code, exit code 2") || !strings.Contains(found[len(found)-1].Mend, "service restart --system") {
		t.Errorf("service: %+v", found)
	}
	if found := u.look("environment", false); !has(found, doctor.Fail, "git is in no folder of the service's PATH (/nowhere)") {
		t.Errorf("environment: %+v", found)
	}

	// A daemon that it may end and not start again is not ended.
	u.f.version = "0.0.1"
	pid, ended := u.process()
	u.app.daemon.Dial = func(context.Context) (local.Client, error) { return daemonOf{u.f, pid}, nil }
	found = u.look("version", true)
	if !has(found, doctor.Fail, "the daemon is 0.0.1") || found[0].Mend != "as root: foldwatch service restart --system" {
		t.Errorf("version: %+v", found)
	}
	if _, err := u.app.daemon.Restart(t.Context(), pid); !errors.Is(err, fold.ErrForbidden) {
		t.Errorf("restart: %v, want ErrForbidden", err)
	}
	select {
	case <-ended:
		t.Error("the daemon of the machine's service was ended")
	default:
	}
}

// TestCheckoutIsOneLineOfADropIn: no checkout's name adds settings to the unit of the
// machine's service.
func TestCheckoutIsOneLineOfADropIn(t *testing.T) {
	u := newUnitWard(t)
	u.machineService()
	if err := u.app.addToSystem(&cobra.Command{}, "/srv/a\nExecStartPre=+/srv/b"); !errors.Is(err, fold.ErrInvalid) {
		t.Errorf("add --system: %v", err)
	}
	if there := u.app.dropIns(); len(there) > 0 {
		t.Errorf("it wrote %v", there)
	}
}
