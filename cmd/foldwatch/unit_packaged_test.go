package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/doctor"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/packaging/unit"
)

// packagedUnit is where a package for Linux puts the unit of users.
const packagedUnit = "/usr/lib/systemd/user/foldwatch.service"

// A unitWard is a ward with a systemd that does nothing but note what it is told,
// and with the folders of a user.
type unitWard struct {
	*ward
	spec unit.Spec // the user's service
	ran  string    // what was run, a line each
}

// newUnitWard has systemctl answer a question for the state with these lines.
func newUnitWard(t *testing.T, state ...string) *unitWard {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("SKIP: systemd is of Linux")
	}
	u := &unitWard{ward: newWard(t)}
	delete(u.vars, "FOLDWATCH_HOME")
	for _, name := range []string{"CONFIG", "STATE", "DATA", "CACHE"} {
		u.vars["XDG_"+name+"_HOME"] = filepath.Join(u.home, strings.ToLower(name))
	}
	u.must(os.MkdirAll(u.app.at("/run/systemd/system"), 0o700))
	u.ran = filepath.Join(u.home, "ran")
	u.systemctl(state...)
	u.onPath("loginctl", `echo "loginctl $*" >> `+u.ran)
	var err error
	u.spec, err = u.app.unitSpec(unitFlags{})
	u.must(err)
	return u
}

func (u *unitWard) systemctl(state ...string) {
	u.t.Helper()
	u.onPath("systemctl", "echo \"systemctl $*\" >> "+u.ran+"\ncase \"$*\" in\n*show-environment) echo HOME="+u.home+"; echo PATH=\"$PATH\";;\n"+
		"*show*) printf '%s\\n' "+strings.Join(state, " ")+";;\nesac")
}

// runs are the commands that were run since it was last asked.
func (u *unitWard) runs() string {
	b, _ := os.ReadFile(u.ran) // not there: none
	_ = os.Remove(u.ran)
	return string(b)
}

// packaged puts the package's unit where it belongs.
func (u *unitWard) packaged(enabled bool) {
	u.t.Helper()
	for _, st := range unit.Packaged("/bin/sh") {
		u.write(u.app.at(st.Write), st.Text)
	}
	if link := u.app.at(u.spec.Wants()[0]); enabled {
		u.must(os.MkdirAll(filepath.Dir(link), 0o700))
		u.must(os.Symlink(packagedUnit, link))
	}
}

// said is what the command line printed, after it was run.
func (u *unitWard) said(wantCode int, args ...string) string {
	u.t.Helper()
	u.out.Reset()
	u.err.Reset()
	u.app.config.Forget()
	if code := u.run(args...); code != wantCode {
		u.t.Errorf("%s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, wantCode, u.out.String(), u.err.String())
	}
	return u.out.String() + u.err.String()
}

func (u *unitWard) tells(text string, wants ...string) {
	u.t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			u.t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}

// TestPackagedUnitThatNobodyEnabled: it is told of, and starts nothing.
func TestPackagedUnitThatNobodyEnabled(t *testing.T) {
	u := newUnitWard(t, "ActiveState=inactive", "MainPID=0", "UnitFileState=disabled")
	u.packaged(false)
	u.tells(u.said(4, "service", "status"), "not installed", "a package brought "+packagedUnit)
	if found := u.look("service", false); !has(found, doctor.OK, "a package brought "+packagedUnit) {
		t.Errorf("doctor: %+v", found)
	}
	if u.app.asService() {
		t.Error("commands would have it started")
	}
	u.runs()
	u.said(0, "service", "uninstall")
	if ran := u.runs(); strings.Contains(ran, "disable") {
		t.Errorf("uninstall runs %s", ran)
	}
	// Started by hand it is a service all the same.
	u.systemctl("ActiveState=active", "MainPID=1", "UnitFileState=disabled")
	u.tells(u.said(0, "service", "status"), "active, ready", packagedUnit+", of a package")
}

// TestPackagedUnit: the unit that a package brought and its user enabled is the
// service, in every command.
func TestPackagedUnit(t *testing.T) {
	u := newUnitWard(t, "ActiveState=active", "MainPID=1", "UnitFileState=enabled")
	u.packaged(true)
	out := u.said(0, "service", "status")
	u.tells(out, "active, ready", packagedUnit+", of a package")
	if strings.Contains(out, "install it otherwise") || strings.Contains(out, "git is in no folder") {
		t.Errorf("a unit of a package records no environment:\n%s", out)
	}
	if !u.app.asService() {
		t.Error("commands would start a daemon beside it")
	}
	for _, check := range []string{"service", "environment"} {
		for _, f := range u.look(check, false) {
			if f.Status != doctor.OK {
				t.Errorf("doctor: %+v", f)
			}
		}
	}

	u.runs()
	u.tells(u.said(0, "service", "uninstall"), packagedUnit+" is the package's", "systemctl --user disable --now foldwatch.service")
	u.tells(u.runs(), "systemctl --user disable --now foldwatch.service\n")
	if !local.Exists(u.app.at(packagedUnit)) {
		t.Error("uninstall removed a file of the package")
	}
}

// TestInstallBesidePackagedUnit: what install writes takes the place of the package's
// unit, with the environment, and uninstall leaves the package's.
func TestInstallBesidePackagedUnit(t *testing.T) {
	u := newUnitWard(t, "ActiveState=active", "MainPID=1", "UnitFileState=enabled")
	u.packaged(true)
	u.tells(u.said(0, "service", "install"), "installed", "takes the place of the package's "+packagedUnit)
	u.tells(u.runs(), "systemctl --user reenable foldwatch.service\n", "systemctl --user restart foldwatch.service\n")
	own, err := os.ReadFile(u.app.at(u.spec.Path()))
	if err != nil || !strings.Contains(string(own), `Environment="PATH=`) {
		t.Errorf("no unit with the environment: %v\n%s", err, own)
	}
	if out := u.said(0, "service", "status"); strings.Contains(out, "of a package") {
		t.Errorf("the package's is not what runs:\n%s", out)
	}
	u.tells(u.said(0, "service", "uninstall"), "uninstalled", packagedUnit+" is the package's")
	if local.Exists(u.app.at(u.spec.Path())) || !local.Exists(u.app.at(packagedUnit)) {
		t.Error("uninstall takes the user's unit away, and no other")
	}

	u.must(os.Symlink(os.DevNull, u.app.at(u.spec.Path())))
	u.tells(u.said(5, "service", "install"), "masked", "hint: systemctl --user unmask foldwatch.service")
}

// TestStatusTellsWhoseDaemonAnswers: a daemon that the service did not start does not
// make the service ready.
func TestStatusTellsWhoseDaemonAnswers(t *testing.T) {
	u := newUnitWard(t, "ActiveState=active", "MainPID=4711", "UnitFileState=enabled")
	u.write(u.app.at(u.spec.Path()), u.spec.Text())
	out := u.said(3, "service", "status")
	u.tells(out, "a daemon answers that the service did not start (pid 1)", "foldwatch service restart")
	if strings.Contains(out, "ready") {
		t.Errorf("it is called ready:\n%s", out)
	}
	u.tells(u.said(3, "service", "status", "--json"), `"ready": false`, `"other_pid": 1`)
	u.systemctl("ActiveState=inactive", "MainPID=0")
	u.tells(u.said(3, "service", "status"), "inactive", "a daemon answers that the service did not start (pid 1)")
	u.systemctl("ActiveState=active", "MainPID=1")
	u.tells(u.said(0, "service", "status"), "active, ready")
}

// TestRestartTakesThePlaceOfAnother: what status then says to do ends the daemon that
// is not the service's, also where the service is active.
func TestRestartTakesThePlaceOfAnother(t *testing.T) {
	u := newUnitWard(t, "ActiveState=active", "MainPID=4711", "UnitFileState=enabled")
	u.write(u.app.at(u.spec.Path()), u.spec.Text())
	pid, ended := u.process()
	gone := false
	u.app.daemon.Dial = func(context.Context) (local.Client, error) {
		select {
		case <-ended:
			gone = true
		default:
		}
		if b, _ := os.ReadFile(u.ran); strings.Contains(string(b), " restart ") {
			return u.f, nil
		}
		if gone {
			return nil, nil
		}
		return daemonOf{u.f, pid}, nil
	}
	u.tells(u.said(0, "service", "restart"), "ready")
	if !gone {
		t.Error("the daemon that is not the service's goes on")
	}
}

// TestUninstallWithoutTheManager: in a login that does not reach the user's service
// manager the files go all the same, with the link by which the daemon would start at
// the next login, and the daemon; what is left to do is said.
func TestUninstallWithoutTheManager(t *testing.T) {
	u := newUnitWard(t)
	u.onPath("systemctl", "echo 'Failed to connect to bus: No medium found'; exit 1")
	u.spec.Linger = true
	u.write(u.app.at(u.spec.Path()), u.spec.Text())
	link := u.app.at(u.spec.Wants()[0])
	u.must(os.MkdirAll(filepath.Dir(link), 0o700))
	u.must(os.Symlink(u.spec.Path(), link))
	pid, ended := u.process()
	u.app.daemon.Dial = func(context.Context) (local.Client, error) {
		select {
		case <-ended:
			return nil, nil
		default:
			return daemonOf{u.f, pid}, nil
		}
	}
	u.tells(u.said(0, "service", "uninstall"), "uninstalled", "connect to bus", "run systemctl --user daemon-reload, and loginctl disable-linger "+u.spec.Account)
	if local.Exists(u.app.at(u.spec.Path())) || local.Exists(link) {
		t.Error("files are left")
	}
	select {
	case <-ended:
	default:
		t.Error("the daemon goes on")
	}
	u.tells(u.said(0, "service", "uninstall"), "not installed")
}

// TestEmptyLogSaysWhy: a journal that shows nothing is no success without a word.
func TestEmptyLogSaysWhy(t *testing.T) {
	u := newUnitWard(t, "ActiveState=active", "MainPID=1")
	u.write(u.app.at(u.spec.Path()), u.spec.Text())
	u.onPath("journalctl", "echo '-- No entries --'")
	u.tells(u.said(4, "service", "logs"), "there is no /var/log/journal", "hint: as root: journalctl _SYSTEMD_USER_UNIT=foldwatch.service")
	u.must(os.MkdirAll(u.app.at("/var/log/journal"), 0o700))
	u.tells(u.said(4, "service", "logs"), "was not started since", "hint: foldwatch service status")
	u.onPath("journalctl", "echo '-- Boot 1 --'; echo 'now foldwatch: Listening'")
	if out := u.said(0, "service", "logs"); out != "-- Boot 1 --\nnow foldwatch: Listening\n" {
		t.Errorf("logs: %q", out)
	}
}

// TestDryRunForeseesTheRefusal: what install and its like would be refused, they are
// refused with --dry-run too, and status says what is missing.
func TestDryRunForeseesTheRefusal(t *testing.T) {
	u := newUnitWard(t, "ActiveState=inactive", "MainPID=0")
	u.app.daemon.Dial = func(context.Context) (local.Client, error) { return nil, nil }
	out := u.said(0, "service", "install", "--dry-run")
	u.tells(out, "write "+u.spec.Path()+"\n", "systemctl --user enable foldwatch.service\n")
	if ran := u.runs(); strings.Contains(ran, "enable") {
		t.Errorf("--dry-run runs %s", ran)
	}

	u.onPath("systemctl", "echo 'Failed to connect to bus: No medium found'; exit 1")
	for _, args := range [][]string{{"service", "install"}, {"service", "install", "--dry-run"}} {
		u.tells(u.said(1, args...), "connect to bus", "loginctl enable-linger "+u.spec.Account)
	}

	u.must(os.Remove(u.app.at("/run/systemd/system")))
	u.write(u.app.at("/run/openrc/softlevel"), "default")
	for _, args := range [][]string{{"service", "install"}, {"service", "install", "--dry-run"}, {"service", "start", "--dry-run"}} {
		u.tells(u.said(1, args...), "systemd does not run on this machine (it has OpenRC)", "hint: foldwatch up -d; or have what supervises this machine run: foldwatch serve")
	}
	u.tells(u.said(4, "service", "status"), "not installed", "systemd does not run on this machine (it has OpenRC)", "foldwatch up -d")
}

// TestInstallRecordsTheWayOut: proxies go into the unit, keys do not, and that is said.
func TestInstallRecordsTheWayOut(t *testing.T) {
	u := newUnitWard(t, "ActiveState=active", "MainPID=1")
	u.write(filepath.Join(u.vars["XDG_CONFIG_HOME"], "foldwatch", "config.toml"), "[providers.mine]\nkind = \"openai\"\nurl = \"https://m.example.invalid\"\nkey_env = \"MINE\"\n")
	u.vars["HTTPS_PROXY"] = "http://proxy.example.invalid:3128"
	u.app.config.Environ = []string{"MINE=hush", "FOLDWATCH_LISTEN=127.0.0.1:7350", "EDITOR=vi"}
	u.tells(u.said(0, "service", "install"), "note  FOLDWATCH_LISTEN, MINE: left out")
	text, err := os.ReadFile(u.app.at(u.spec.Path()))
	if err != nil || !strings.Contains(string(text), `Environment="HTTPS_PROXY=http://proxy.example.invalid:3128"`) || strings.Contains(string(text), "hush") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestServiceIsFoundWithVariablesOfLines: a proxy list of several lines is left out and
// named, and the service is used, not taken for absent.
func TestServiceIsFoundWithVariablesOfLines(t *testing.T) {
	u := newUnitWard(t, "ActiveState=active", "MainPID=1", "UnitFileState=enabled")
	u.vars["no_proxy"] = "localhost\n10.0.0.1"
	u.tells(u.said(0, "service", "install"), "note  no_proxy: left out")
	if !u.app.asService() {
		t.Error("commands take it for absent")
	}
}

// process starts one that does nothing, to be a daemon's; the channel is closed when
// it has ended.
func (u *unitWard) process() (pid int, ended <-chan struct{}) {
	u.t.Helper()
	sleeper := exec.CommandContext(u.t.Context(), "sleep", "60")
	u.app.daemon.Proc = filepath.Join(u.home, "proc") // it does not say that this is no foldwatch
	u.must(sleeper.Start())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = sleeper.Wait() // that it ended is what counts
	}()
	u.t.Cleanup(func() { <-done }) // the context of the test ends it
	return sleeper.Process.Pid, done
}

// A daemonOf is a daemon with a process.
type daemonOf struct {
	*fakeDaemon
	pid int
}

func (d daemonOf) Status(ctx context.Context) (wire.Status, error) {
	st, err := d.fakeDaemon.Status(ctx)
	st.PID = d.pid
	return st, err
}

// TestServiceIsRestartedByItsManager: a daemon of an older version that a service
// manager runs is restarted by that one, not ended.
func TestServiceIsRestartedByItsManager(t *testing.T) {
	u := newUnitWard(t)
	pid, ended := u.process()
	u.systemctl("ActiveState=active", fmt.Sprintf("MainPID=%d", pid), "UnitFileState=disabled")
	u.packaged(false)
	u.f.version = "0.0.1"
	u.app.daemon.Dial = func(context.Context) (local.Client, error) {
		if b, _ := os.ReadFile(u.ran); strings.Contains(string(b), " restart ") {
			u.f.version = fullVersion()
		}
		return daemonOf{u.f, pid}, nil
	}
	if found := u.look("version", true); !has(found, doctor.OK, "are both") {
		t.Errorf("doctor --fix: %+v", found)
	}
	u.tells(u.runs(), "systemctl --user restart foldwatch.service\n")
	select {
	case <-ended:
		t.Error("the service's daemon was ended")
	default:
	}
}

// TestServiceIsNotRestartedIntoASlip: with a configuration that no daemon would start
// with, the one that runs goes on, and its unit stays as it is.
func TestServiceIsNotRestartedIntoASlip(t *testing.T) {
	for _, verb := range []string{"restart", "install"} {
		u := newUnitWard(t, "ActiveState=active", "MainPID=4711", "UnitFileState=enabled")
		older := u.spec.Text() + "# of an older version\n"
		u.write(u.app.at(u.spec.Path()), older)
		u.write(filepath.Join(u.vars["XDG_CONFIG_HOME"], "foldwatch", "config.toml"), "auto_stat = false\n")
		u.app.config.Forget()
		u.runs()
		u.tells(u.said(exitUsage, "service", verb), `config.toml:1: unknown key "auto_stat"`, "hint: edit ")
		if ran := u.runs(); strings.Contains(ran, "restart") || strings.Contains(ran, "enable ") {
			t.Errorf("%s ran %s", verb, ran)
		}
		if text, err := os.ReadFile(u.app.at(u.spec.Path())); err != nil || string(text) != older {
			t.Errorf("%s wrote the unit: %v\n%s", verb, err, text)
		}
	}
}

// TestStopEndsWhatTheServiceDidNotStart: a daemon of these folders that goes on beside a
// service that is stopped is ended too, and that is said.
func TestStopEndsWhatTheServiceDidNotStart(t *testing.T) {
	u := newUnitWard(t, "ActiveState=active", "MainPID=4711", "UnitFileState=enabled")
	u.packaged(true)
	other := exec.CommandContext(t.Context(), "sleep", "60")
	u.must(other.Start())
	u.f.pid = other.Process.Pid
	u.app.daemon.Proc = filepath.Join(u.home, "proc") // it does not say that this is no foldwatch
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = other.Wait() // it is told to end
		u.f.gone.Store(true)
	}()
	u.app.daemon.Dial = func(context.Context) (local.Client, error) {
		if u.f.gone.Load() {
			return nil, nil
		}
		return u.f, nil
	}
	end := fmt.Sprintf("pid %d", u.f.pid)
	u.tells(u.said(0, "service", "stop", "--dry-run"), "systemctl --user stop foldwatch.service", "end the daemon that the service did not start ("+end+")")
	if u.f.gone.Load() {
		t.Fatal("--dry-run ended it")
	}
	u.tells(u.said(0, "service", "stop"), "stopped", "a daemon ran that the service did not start ("+end+"): it was ended too")
	<-ended
	if ran := u.runs(); !strings.Contains(ran, "systemctl --user stop foldwatch.service") {
		t.Errorf("what was run: %s", ran)
	}
}

// TestProcessOfAnotherContainerIsLeftAlone: the pid that a daemon elsewhere gives is
// here that of something else.
func TestProcessOfAnotherContainerIsLeftAlone(t *testing.T) {
	u := newUnitWard(t, "ActiveState=inactive", "MainPID=0")
	other := exec.CommandContext(t.Context(), "sleep", "60")
	u.must(other.Start())
	u.f.pid = other.Process.Pid
	u.tells(u.said(6, "service", "stop"), "runs in another container")
	u.must(other.Process.Kill())
	if err := other.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("it ended before: %v", err)
	}
}
