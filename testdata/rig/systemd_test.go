//go:build accept && linux

package rig

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSystemd boots this machine's own system in a container, in memory above
// the disk, which it leaves as it is: a systemd with a user's manager, in which
// the service is installed, killed, stopped and uninstalled.
func TestSystemd(t *testing.T) {
	bin := os.Getenv("FOLDWATCH_BIN")
	if bin == "" {
		t.Fatal("FOLDWATCH_BIN is not set; run it by make")
	}
	boot(t, "TestServiceOf", 3, "--bind-ro="+bin+":/usr/local/bin/foldwatch")
}

// A booted is the user at work in the machine that TestSystemd booted.
type booted struct {
	t        *testing.T
	uid, run string // its number, its runtime folder
}

func newBooted(t *testing.T) *booted {
	t.Helper()
	if os.Getenv(inside) == "" {
		t.Skip("runs where boot starts it")
	}
	b := &booted{t: t}
	if _, err := exec.CommandContext(t.Context(), "id", "try").Output(); err != nil {
		b.root("useradd", "--create-home", "try")
	}
	b.uid = strings.TrimSpace(b.root("id", "-u", "try"))
	b.run = "/run/user/" + b.uid
	b.root("loginctl", "enable-linger", "try")
	b.await("the user's manager", 20*time.Second, func() bool {
		_, err := os.Stat(b.run + "/systemd/private")
		return err == nil
	})
	return b
}

// root runs a command as root, who must succeed.
func (b *booted) root(argv ...string) string {
	b.t.Helper()
	out, err := exec.CommandContext(b.t.Context(), argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		b.t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return string(out)
}

// user runs a command as the user, in a login that knows its runtime folder.
func (b *booted) user(argv ...string) (string, int) {
	b.t.Helper()
	cmd := exec.CommandContext(b.t.Context(), "runuser", append([]string{
		"-u", "try", "--", "env", "-i", "HOME=/home/try", "USER=try", "XDG_RUNTIME_DIR=" + b.run,
		"PATH=/usr/local/bin:/usr/bin:/bin", "FOLDWATCH_AUTO_START=false",
	}, argv...)...)
	cmd.Dir = "/home/try"
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		b.t.Fatalf("%s: %v", strings.Join(argv, " "), err)
	}
	return string(out) + stderr.String(), cmd.ProcessState.ExitCode()
}

// must is user for what must succeed.
func (b *booted) must(argv ...string) string {
	b.t.Helper()
	out, code := b.user(argv...)
	if code != 0 {
		b.t.Fatalf("%s: exit code %d\n%s", strings.Join(argv, " "), code, out)
	}
	return out
}

func (b *booted) await(what string, within time.Duration, is func() bool) time.Duration {
	b.t.Helper()
	began := time.Now()
	for !is() {
		if time.Since(began) > within {
			b.t.Fatalf("%s: not within %v", what, within)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return time.Since(began)
}

// files lists what there is of the user's and of the system's units, but for
// what is in the checkout, and folders that are anybody's.
func (b *booted) files() string {
	b.t.Helper()
	return b.root("sh", "-c", `find /home/try "$1" /etc/systemd /etc/sysusers.d /var/lib/systemd/linger /var/lib -maxdepth 9 \
		-path /home/try/app -prune -o -path "$1/systemd" -prune -o \( ! -type d -path '*/try*' -o -name '*foldwatch*' \) -print 2>/dev/null | sort`, "sh", b.run)
}

func (b *booted) status() (pid int, state string, ready bool) {
	b.t.Helper()
	var r struct {
		PID   int    `json:"pid"`
		State string `json:"state"`
		Ready bool   `json:"ready"`
	}
	out, _ := b.user("foldwatch", "service", "status", "--json")
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&r); err != nil {
		b.t.Fatalf("%v in %s", err, out)
	}
	return r.PID, r.State, r.Ready
}

func TestServiceOfUser(t *testing.T) {
	b := newBooted(t)
	fw := func(args ...string) []string { return append([]string{"foldwatch"}, args...) }
	b.must("git", "config", "--global", "user.name", "Try")
	b.must("git", "config", "--global", "user.email", "try@example.invalid")
	b.must("sh", "-c", "git init -q app && cd app && echo 'package app // Quokka feeds the quokkas' > a.go && git add . && git commit -qm first")
	before := b.files()

	began := time.Now()
	b.must(fw("service", "install")...)
	t.Logf("install until ready: %v", time.Since(began).Round(time.Millisecond))
	pid, state, ready := b.status()
	if state != "active" || !ready || pid == 0 {
		t.Fatalf("after install: pid %d, %s, ready %t\n%s", pid, state, ready, b.must(fw("service", "logs")...))
	}
	if out := b.must(fw("service", "install")...); !strings.Contains(out, "up to date") {
		t.Errorf("install again: %s", out)
	}
	if again, _, _ := b.status(); again != pid {
		t.Errorf("install again: the daemon is pid %d, it was %d", again, pid)
	}
	b.must(fw("up", "app", "--once")...)

	// What the daemon keeps, it keeps through kill -9.
	b.must(fw("memory", "add", "The aardvark sleeps at noon.", "-p", "app")...)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	back := b.await("back after kill -9", 5*time.Second, func() bool {
		now, _, ready := b.status()
		return ready && now != pid && now != 0
	})
	t.Logf("back after kill -9: %v", back.Round(time.Millisecond))
	found := b.await("the memory of before kill -9 is found", 5*time.Second, func() bool {
		out, _ := b.user(fw("search", "aardvark", "-p", "app")...) // it says itself where not all is indexed yet
		return strings.Contains(out, "noon")
	})
	t.Logf("after kill -9 the memory is found after %v", found.Round(time.Millisecond))
	b.must("sh", "-c", "echo 'package app // Wombat digs' > app/b.go")
	watched := b.await("a saved file is found", 5*time.Second, func() bool {
		out, _ := b.user(fw("search", "Wombat", "-p", "app")...)
		return strings.Contains(out, "b.go")
	})
	t.Logf("after kill -9 a save is found after %v", watched.Round(time.Millisecond))
	if out := b.must(fw("service", "logs")...); !strings.Contains(out, "Listening") {
		t.Errorf("logs: %s", out)
	}
	if out, code := b.user(fw("doctor")...); !strings.Contains(out, "foldwatch.service") || strings.Contains(out, "service        it") {
		t.Errorf("doctor: exit code %d\n%s", code, out)
	}

	began = time.Now()
	b.must(fw("service", "stop")...)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("stop took %v", took)
	} else {
		t.Logf("stop: %v", took.Round(time.Millisecond))
	}
	if _, state, _ := b.status(); state != "inactive" {
		t.Errorf("after stop: %s\n%s", state, b.must(fw("service", "logs")...))
	}
	if _, code := b.user(fw("status")...); code != 3 {
		t.Errorf("status after stop: exit code %d, want 3", code)
	}

	// Bad configuration: no restart mends it, and none is tried.
	b.must("sh", "-c", "mkdir -p .config/foldwatch && echo 'lisen = 1' > .config/foldwatch/config.toml")
	b.user("systemctl", "--user", "start", "foldwatch")
	if out := b.must("systemctl", "--user", "show", "foldwatch", "-p", "NRestarts,ActiveState,ExecMainStatus"); !strings.Contains(out, "NRestarts=0") ||
		!strings.Contains(out, "ActiveState=failed") || !strings.Contains(out, "ExecMainStatus=2") {
		t.Errorf("with bad configuration:\n%s", out)
	}
	b.must("rm", "-r", ".config/foldwatch")
	b.must(fw("service", "start")...)

	b.must(fw("service", "uninstall", "--purge", "--yes")...)
	if after := b.files(); after != before {
		t.Errorf("uninstall leaves something; before:\n%s\nafter:\n%s", before, after)
	}
	if out, err := exec.CommandContext(t.Context(), "pgrep", "-u", "try", "foldwatch").Output(); err == nil {
		t.Errorf("uninstall leaves processes: %s", out)
	}
	if out := b.must("git", "-C", "app", "status", "--porcelain"); strings.TrimSpace(out) != "?? b.go" {
		t.Errorf("the checkout: %s", out)
	}
}

// packaged puts in place the files that a package for Linux brings, and returns what
// takes them away again.
func (b *booted) packaged() (remove func()) {
	b.t.Helper()
	b.root("foldwatch", "assets", "/tmp/assets", "--program", "/usr/local/bin/foldwatch", "--date", "2026-01-31")
	files := strings.Fields(b.root("sh", "-c", "cd /tmp/assets && find usr/lib -type f"))
	for _, f := range files {
		b.root("install", "-D", "-m", "644", "/tmp/assets/"+f, "/"+f)
	}
	b.root("systemctl", "daemon-reload")
	b.must("systemctl", "--user", "daemon-reload")
	return func() {
		for _, f := range files {
			b.root("rm", "/"+f)
		}
		b.root("rm", "-r", "/tmp/assets")
	}
}

// The machine's service runs under an account of its own, which sees the
// checkouts that root lets it see.
func TestServiceOfMachine(t *testing.T) {
	b := newBooted(t)
	before := b.files()
	if out, err := exec.CommandContext(t.Context(), "foldwatch", "service", "install", "--system").CombinedOutput(); err == nil || !strings.Contains(string(out), "comes with the packages") {
		t.Errorf("install without a package: %v: %s", err, out)
	}
	remove := b.packaged()
	b.root("systemd-sysusers", "foldwatch.conf")
	// A folder of home is hidden from it but for what is bound in.
	for _, dir := range []string{"/srv/app", "/home/app"} {
		b.root("sh", "-c", `install -d -o foldwatch "$1" && cd "$1" && runuser -u foldwatch -- sh -c "git init -q . && echo 'package app // Okapi' > a.go && git add . &&
			git -c user.name=T -c user.email=t@example.invalid commit -qm first"`, "sh", dir)
	}
	b.root("sh", "-c", `mkdir /etc/systemd/system/foldwatch.service.d && printf '[Service]\nBindPaths=/srv/app /home/app\n' > /etc/systemd/system/foldwatch.service.d/override.conf && systemctl daemon-reload`)
	b.root("foldwatch", "service", "install", "--system")
	if out := b.root("foldwatch", "service", "status", "--system"); !strings.Contains(out, "active") || !strings.Contains(out, "as foldwatch") {
		t.Errorf("status: %s", out)
	}
	if out := b.root("systemctl", "is-enabled", "foldwatch"); strings.TrimSpace(out) != "enabled" {
		t.Errorf("it is %s with the start of the machine", out)
	}
	security := b.root("systemd-analyze", "security", "--no-pager", "--threshold=15", "foldwatch.service")
	t.Log(security[strings.LastIndex(strings.TrimSpace(security), "\n")+1:])

	fw := func(args ...string) string {
		return b.root(append([]string{"runuser", "-u", "foldwatch", "--", "env", "FOLDWATCH_HOME=/var/lib/foldwatch", "foldwatch"}, args...)...)
	}
	for _, slug := range []string{"srv", "home"} {
		fw("add", "/"+slug+"/app", "--slug", slug)
		fw("memory", "add", "An okapi is shy.", "-p", slug)
		defer func() {
			if t.Failed() {
				t.Logf("%s%s", fw("search", "okapi", "-p", slug), fw("status"))
				t.Log(b.root("journalctl", "--unit=foldwatch", "--no-pager", "--lines=30"))
			}
		}()
		b.await("memory and source are found in "+slug, 5*time.Second, func() bool {
			out := fw("search", "okapi", "-p", slug)
			return strings.Contains(out, "shy") && strings.Contains(out, "a.go")
		})
		if out := fw("status", "--check", "-p", slug); !strings.Contains(out, "ready") {
			t.Errorf("status of %s: %s", slug, out)
		}
	}
	// Where it is down, its account starts no daemon in its place.
	b.root("foldwatch", "service", "stop", "--system")
	cmd := exec.CommandContext(t.Context(), "runuser", "-u", "foldwatch", "--", "env", "FOLDWATCH_HOME=/var/lib/foldwatch", "foldwatch", "status")
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 3 || !strings.Contains(string(out), "foldwatch service start --system") {
		t.Errorf("status while it is down: exit code %d: %s", cmd.ProcessState.ExitCode(), out)
	}
	if out, err := exec.CommandContext(t.Context(), "pgrep", "-u", "foldwatch", "foldwatch").Output(); err == nil {
		t.Errorf("its account has started a daemon: %s", out)
	}
	b.root("foldwatch", "service", "start", "--system")
	b.root("foldwatch", "service", "uninstall", "--system", "--purge", "--yes")
	if out, err := exec.CommandContext(t.Context(), "systemctl", "is-enabled", "foldwatch").Output(); err == nil {
		t.Errorf("after uninstall it is %s", out)
	}
	remove()
	b.root("rm", "-r", "/etc/systemd/system/foldwatch.service.d")
	b.root("rm", "-r", "/srv/app", "/home/app")
	if after := b.files(); after != before {
		t.Errorf("uninstall leaves something; before:\n%s\nafter:\n%s", before, after)
	}
}

// The unit that a package brings is seen, gives way to one of install's own, and is
// left where it is.
func TestServiceOfPackage(t *testing.T) {
	b := newBooted(t)
	const brought = "/usr/lib/systemd/user/foldwatch.service"
	remove := b.packaged()
	defer remove()
	if out, code := b.user("foldwatch", "service", "status"); code != 4 || !strings.Contains(out, brought+", which nobody has enabled") {
		t.Errorf("before it is enabled: exit code %d: %s", code, out)
	}
	is := func(when string, wants ...string) {
		t.Helper()
		out := b.must("systemctl", "--user", "show", "foldwatch", "-p", "FragmentPath,UnitFileState,ActiveState")
		for _, want := range wants {
			if !strings.Contains(out, want+"\n") {
				t.Errorf("%s: not %s:\n%s", when, want, out)
			}
		}
	}
	b.must("systemctl", "--user", "enable", "--now", "foldwatch")
	if out := b.must("foldwatch", "service", "status"); !strings.Contains(out, "active, ready") || !strings.Contains(out, brought+", of a package") {
		t.Errorf("status: %s", out)
	}
	if out, _ := b.user("foldwatch", "doctor"); !strings.Contains(out, brought) || strings.Contains(out, "git is in no folder") {
		t.Errorf("doctor: %s", out)
	}
	b.must("foldwatch", "service", "install")
	is("installed beside it", "FragmentPath=/home/try/.config/systemd/user/foldwatch.service", "UnitFileState=enabled", "ActiveState=active")
	b.must("foldwatch", "service", "uninstall")
	is("uninstalled", "FragmentPath="+brought, "UnitFileState=disabled", "ActiveState=inactive")

	b.must("systemctl", "--user", "enable", "--now", "foldwatch")
	if out := b.must("foldwatch", "service", "uninstall"); !strings.Contains(out, brought+" is the package's") {
		t.Errorf("uninstall: %s", out)
	}
	is("uninstalled, which is disabled", "FragmentPath="+brought, "UnitFileState=disabled", "ActiveState=inactive")
}
