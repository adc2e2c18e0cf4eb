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
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/packaging/unit"
)

// packagedUnit is where a package for Linux puts the unit of users.
const packagedUnit = "/usr/lib/systemd/user/foldwatch.service"

// A serviceWard is a ward with a systemd that does nothing but note what it is told,
// and with the folders of a user.
type serviceWard struct {
	*ward
	unit string // path of the user's own
	ran  string // what was run, a line each
}

// newServiceWard has systemctl show these properties of the unit.
func newServiceWard(t *testing.T, properties ...string) *serviceWard {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("SKIP: systemd is of Linux")
	}
	u := &serviceWard{ward: newWard(t)}
	delete(u.vars, "FOLDWATCH_HOME")
	for _, name := range []string{"CONFIG", "STATE", "DATA", "CACHE"} {
		u.vars["XDG_"+name+"_HOME"] = filepath.Join(u.home, strings.ToLower(name))
	}
	u.must(os.MkdirAll(u.app.at("/run/systemd/system"), 0o700))
	t.Setenv("XDG_RUNTIME_DIR", u.home)
	u.unit = filepath.Join(u.home, ".config", "systemd", "user", "foldwatch.service")
	u.ran = filepath.Join(u.home, "ran")
	u.systemctl(properties...)
	return u
}

func (u *serviceWard) systemctl(properties ...string) {
	u.t.Helper()
	u.onPath("systemctl", "echo \"systemctl $*\" >> "+u.ran+"\ncase \"$*\" in *show*) printf '%s\\n' Result=success "+strings.Join(properties, " ")+";; esac")
}

// installed puts the unit of this session in place, and has systemctl show it.
func (u *serviceWard) installed(properties ...string) {
	u.t.Helper()
	c, _, err := u.app.serviceConfig(unit.User)
	u.must(err)
	u.write(u.unit, c.Text())
	u.systemctl(append(properties, "LoadState=loaded", "UnitFileState=enabled", "FragmentPath="+u.unit)...)
}

// runs are the commands that were run since it was last asked, but for questions.
func (u *serviceWard) runs() string {
	b, _ := os.ReadFile(u.ran) // not there: none
	_ = os.Remove(u.ran)
	var did strings.Builder
	for line := range strings.Lines(string(b)) {
		if !strings.Contains(line, " show ") {
			did.WriteString(line)
		}
	}
	return did.String()
}

// said is what the command line printed, after it was run.
func (u *serviceWard) said(wantCode int, args ...string) string {
	u.t.Helper()
	u.out.Reset()
	u.err.Reset()
	u.app.config.Forget()
	if code := u.run(args...); code != wantCode {
		u.t.Errorf("%s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, wantCode, u.out.String(), u.err.String())
	}
	return u.out.String() + u.err.String()
}

func (u *serviceWard) tells(text string, wants ...string) {
	u.t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			u.t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}

// process starts one that does nothing, to be a daemon's; the channel is closed when
// it has ended.
func (u *serviceWard) process() (pid int, ended <-chan struct{}) {
	u.t.Helper()
	sleeper := exec.CommandContext(u.t.Context(), "sleep", "60")
	u.must(sleeper.Start())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = sleeper.Wait() // that it ended is what counts
	}()
	u.t.Cleanup(func() { <-done }) // the context of the test ends it
	return sleeper.Process.Pid, done
}

// daemonUntil has a daemon with this pid answer until ended is closed, and then, when
// the service manager was told to start one, the ward's.
func (u *serviceWard) daemonUntil(pid int, ended <-chan struct{}) {
	u.app.daemon.Dial = func(context.Context) (local.Client, error) {
		select {
		case <-ended:
		default:
			return daemonOf{u.f, pid}, nil
		}
		if b, _ := os.ReadFile(u.ran); strings.Contains(string(b), "start foldwatch.service") {
			return u.f, nil
		}
		return nil, nil
	}
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

// TestPackagedUnitIsToldOf: one that nobody enabled starts nothing; one that runs is the
// service, in every command.
func TestPackagedUnitIsToldOf(t *testing.T) {
	u := newServiceWard(t, "ActiveState=inactive", "MainPID=0", "UnitFileState=disabled", "LoadState=loaded", "FragmentPath="+packagedUnit)
	u.tells(u.said(4, "service", "status"), "not installed", "a package brought "+packagedUnit)
	if found := u.look("service", false); !has(found, doctor.OK, "a package brought "+packagedUnit) {
		t.Errorf("doctor: %+v", found)
	}
	if u.app.asService() {
		t.Error("commands would have it started")
	}
	u.systemctl("ActiveState=active", "MainPID=1", "UnitFileState=enabled", "LoadState=loaded", "FragmentPath="+packagedUnit)
	out := u.said(0, "service", "status")
	u.tells(out, "active, ready", packagedUnit+", of a package")
	if strings.Contains(out, "install it otherwise") {
		t.Errorf("a package's unit is as it is:\n%s", out)
	}
	if !u.app.asService() {
		t.Error("commands would start a daemon beside it")
	}
	if found := u.look("service", false); !has(found, doctor.OK, packagedUnit) {
		t.Errorf("doctor: %+v", found)
	}
	u.tells(u.said(0, "service", "uninstall"), "uninstalled", packagedUnit+" is the package's")
	u.tells(u.runs(), "systemctl --user disable foldwatch.service\n")
}

// TestInstallTellsWhatTheServiceLacks: keys and settings of the session, and the time
// after it.
func TestInstallTellsWhatTheServiceLacks(t *testing.T) {
	u := newServiceWard(t, "ActiveState=inactive")
	u.write(filepath.Join(u.vars["XDG_CONFIG_HOME"], "foldwatch", "config.toml"), "[providers.mine]\nkind = \"openai\"\nurl = \"https://m.example.invalid\"\nkey_env = \"MINE\"\n")
	u.vars["HTTPS_PROXY"] = "http://proxy.example.invalid:3128"
	u.vars["no_proxy"] = "localhost\n10.0.0.1"
	u.app.config.Environ = []string{"MINE=hush", "FOLDWATCH_LISTEN=127.0.0.1:7350", "EDITOR=vi"}
	gone := make(chan struct{})
	close(gone)
	u.daemonUntil(0, gone)
	u.tells(u.said(0, "service", "install"), "installed (systemd, user)", "ready", "note  FOLDWATCH_LISTEN, MINE: left out", "note  no_proxy is left out",
		"note  it stops when you log out; to keep it: loginctl enable-linger")
	text, err := os.ReadFile(u.unit)
	if err != nil || !strings.Contains(string(text), `Environment="HTTPS_PROXY=http://proxy.example.invalid:3128"`) || strings.Contains(string(text), "hush") {
		t.Errorf("%v\n%s", err, text)
	}
	u.installed("ActiveState=active", "MainPID=1")
	u.runs()
	u.tells(u.said(0, "service", "install"), "up to date")
	if ran := u.runs(); strings.Contains(ran, "start") || strings.Contains(ran, "enable") {
		t.Errorf("up to date, it runs %s", ran)
	}
}

// TestStatusTellsWhoseDaemonAnswers: a daemon that the service did not start does not
// make the service ready.
func TestStatusTellsWhoseDaemonAnswers(t *testing.T) {
	u := newServiceWard(t)
	u.installed("ActiveState=active", "MainPID=4711")
	out := u.said(3, "service", "status")
	u.tells(out, "a daemon answers that the service did not start (pid 1)", "foldwatch service restart")
	if strings.Contains(out, "ready") {
		t.Errorf("it is called ready:\n%s", out)
	}
	u.tells(u.said(3, "service", "status", "--json"), `"ready": false`, `"other_pid": 1`)
	u.installed("ActiveState=inactive", "MainPID=0")
	u.tells(u.said(3, "service", "status"), "inactive", "a daemon answers that the service did not start (pid 1)")
	u.installed("ActiveState=active", "MainPID=1")
	u.tells(u.said(0, "service", "status"), "active, ready")
}

// TestRestartTakesThePlaceOfAnother: what status then says to do ends the daemon that
// is not the service's, also where the service is active.
func TestRestartTakesThePlaceOfAnother(t *testing.T) {
	u := newServiceWard(t)
	u.installed("ActiveState=active", "MainPID=4711")
	pid, ended := u.process()
	u.daemonUntil(pid, ended)
	u.tells(u.said(0, "service", "restart"), "ready")
	select {
	case <-ended:
	default:
		t.Error("the daemon that is not the service's goes on")
	}
}

// TestStopEndsWhatTheServiceDidNotStart: a daemon of these folders that goes on beside a
// service that is stopped is ended too, and that is said.
func TestStopEndsWhatTheServiceDidNotStart(t *testing.T) {
	u := newServiceWard(t)
	u.installed("ActiveState=active", "MainPID=4711")
	pid, ended := u.process()
	u.daemonUntil(pid, ended)
	u.tells(u.said(0, "service", "stop"), "stopped", fmt.Sprintf("a daemon ran that the service did not start (pid %d): it was ended too", pid))
	<-ended
	u.tells(u.runs(), "stop --user foldwatch.service")
}

// TestStopEndsADaemonThatStarts: it holds the state and does not answer yet.
func TestStopEndsADaemonThatStarts(t *testing.T) {
	u := newServiceWard(t, "ActiveState=inactive", "MainPID=0")
	pid, ended := u.process()
	state := filepath.Join(u.vars["XDG_STATE_HOME"], "foldwatch")
	u.must(os.MkdirAll(state, 0o700))
	lock, err := disk.Lock(filepath.Join(state, "daemon.lock"), fmt.Sprintf("pid %d", pid))
	u.must(err)
	go func() {
		<-ended
		_ = lock.Close()
	}()
	u.app.daemon.Dial = func(context.Context) (local.Client, error) { return nil, nil }
	u.tells(u.said(0, "service", "stop"), fmt.Sprintf("stopped  pid %d", pid))
	u.tells(u.said(0, "service", "stop"), "no daemon runs")
}

// TestProcessOfAnotherContainerIsLeftAlone: the pid that a daemon elsewhere gives is
// here that of something else.
func TestProcessOfAnotherContainerIsLeftAlone(t *testing.T) {
	u := newServiceWard(t, "ActiveState=inactive", "MainPID=0")
	u.app.daemon.Proc = "/proc"
	pid, ended := u.process()
	u.app.daemon.Dial = func(context.Context) (local.Client, error) { return daemonOf{u.f, pid}, nil }
	u.tells(u.said(6, "service", "stop"), "runs in another container")
	select {
	case <-ended:
		t.Error("it was ended")
	default:
	}
}

// TestServiceIsRestartedByItsManager: a daemon of an older version that a service
// manager runs is restarted by that one, not ended.
func TestServiceIsRestartedByItsManager(t *testing.T) {
	u := newServiceWard(t)
	pid, ended := u.process()
	u.installed("ActiveState=active", fmt.Sprintf("MainPID=%d", pid))
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
	for _, verb := range []string{"restart", "install", "start"} {
		u := newServiceWard(t)
		u.installed("ActiveState=active", "MainPID=4711")
		const older = "# of an older version\n"
		u.write(u.unit, older)
		u.write(filepath.Join(u.vars["XDG_CONFIG_HOME"], "foldwatch", "config.toml"), "auto_stat = false\n")
		u.runs()
		u.tells(u.said(exitUsage, "service", verb), `config.toml:1: unknown key "auto_stat"`, "hint: edit ")
		if ran := u.runs(); strings.Contains(ran, "start") || strings.Contains(ran, "enable ") {
			t.Errorf("%s ran %s", verb, ran)
		}
		if text, err := os.ReadFile(u.unit); err != nil || string(text) != older {
			t.Errorf("%s wrote the unit: %v\n%s", verb, err, text)
		}
	}
}

// TestOutOfReachOfTheManager: a login that does not reach the user's service manager
// uninstalls nothing, and ends a daemon of its own all the same.
func TestOutOfReachOfTheManager(t *testing.T) {
	u := newServiceWard(t)
	u.onPath("systemctl", "echo 'Failed to connect to bus: No medium found'; exit 1")
	u.tells(u.said(1, "service", "install"), "connect to bus", "loginctl enable-linger")
	u.tells(u.said(4, "service", "status"), "connect to bus")
	u.tells(u.said(0, "service", "uninstall"), "not installed")
	pid, ended := u.process()
	u.daemonUntil(pid, ended)
	u.tells(u.said(0, "service", "stop"), fmt.Sprintf("stopped  pid %d", pid))
	u.write(u.unit, "")
	u.tells(u.said(1, "service", "uninstall"), "connect to bus")
	if !local.Exists(u.unit) {
		t.Error("half of the service was removed")
	}

	u.must(os.Remove(u.app.at("/run/systemd/system")))
	u.tells(u.said(1, "service", "install"), "systemd does not run on this machine", "hint: foldwatch up -d")
	u.tells(u.said(4, "service", "status"), "not installed", "systemd does not run on this machine")
}

// TestEmptyLogIsNoSuccess: a journal that shows nothing is no success without a word.
func TestEmptyLogIsNoSuccess(t *testing.T) {
	u := newServiceWard(t)
	u.installed("ActiveState=active", "MainPID=1")
	u.onPath("journalctl", "echo '-- No entries --'")
	u.tells(u.said(4, "service", "logs"), "the journal shows nothing", "hint: as root: journalctl _SYSTEMD_USER_UNIT=foldwatch.service")
	u.onPath("journalctl", "echo '-- Boot 1 --'; echo 'now foldwatch: Listening'")
	if out := u.said(0, "service", "logs"); out != "-- Boot 1 --\nnow foldwatch: Listening\n" {
		t.Errorf("logs: %q", out)
	}
}

// TestFolderWithALineBreakIsNamed: the variable, and what to do about it.
func TestFolderWithALineBreakIsNamed(t *testing.T) {
	u := newServiceWard(t)
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

// TestServiceOfTheMachineNeedsNoHome: root's login by a script may have none.
func TestServiceOfTheMachineNeedsNoHome(t *testing.T) {
	u := newServiceWard(t, "ActiveState=active", "MainPID=1", "UnitFileState=enabled", "LoadState=loaded", "FragmentPath=/usr/lib/systemd/system/foldwatch.service")
	u.onPath("journalctl", "echo 'now foldwatch: Listening'")
	clear(u.vars)
	u.tells(u.said(0, "service", "status", "--system"), "active, ready", "as foldwatch")
	for _, args := range [][]string{{"install"}, {"restart"}, {"logs"}, {"stop"}, {"start"}, {"uninstall"}} {
		u.said(0, append(append([]string{"service"}, args...), "--system")...)
	}
}

// TestFoldersOfTheMachineAreItsService: a command with the folders of the machine's
// service starts no daemon beside it and ends none, and says how root does.
func TestFoldersOfTheMachineAreItsService(t *testing.T) {
	u := newServiceWard(t, "ActiveState=failed", "ExecMainStatus=2", "Result=exit-code", "UnitFileState=enabled", "LoadState=loaded", "FragmentPath=/usr/lib/systemd/system/foldwatch.service")
	u.vars["FOLDWATCH_HOME"] = unit.SystemHome("linux")
	dial := u.app.daemon.Dial
	u.app.daemon.Dial = func(context.Context) (local.Client, error) { return nil, nil }
	u.tells(u.said(3, "status"), "the machine's service, which is to run it", "hint: as root: foldwatch service start --system")
	u.said(3, "up", u.co, "-d", "--no-input")
	u.said(3, "up", u.co, "--no-input")
	if found := u.look("service", false); !has(found, doctor.Fail, "it has failed: exit-code, exit code 2") || !strings.Contains(found[len(found)-1].Mend, "service restart --system") {
		t.Errorf("doctor: %+v", found)
	}

	u.app.daemon.Dial = dial // a daemon with a pid that nothing ends
	for _, verb := range []string{"stop", "restart"} {
		u.tells(u.said(6, "service", verb), "is the service of the machine", "hint: as root: foldwatch service stop --system")
	}
	u.f.version = "0.0.1"
	if found := u.look("version", true); !has(found, doctor.Fail, "the daemon is 0.0.1") || found[0].Mend != "as root: foldwatch service restart --system" {
		t.Errorf("version: %+v", found)
	}
}
