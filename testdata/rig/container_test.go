//go:build accept && linux

package rig

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// inside is set where the test runs in the machine that it booted.
const inside = "RIG_INSIDE_SYSTEMD"

// tryUnit runs this test binary in that machine, and ends the machine with it.
const tryUnit = `[Unit]
Description=try foldwatch as a service
Requires=dbus.socket systemd-logind.service
After=dbus.socket systemd-logind.service systemd-user-sessions.service
SuccessAction=exit
FailureAction=exit

[Service]
Type=oneshot
Environment=` + inside + `=1 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ExecStart=/out/rig -test.v -test.timeout=100s -test.run=^%s
StandardOutput=file:/out/log
StandardError=file:/out/log
`

// needsRoot skips the test where containers cannot be run.
func needsRoot(t *testing.T, programs map[string]string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIP: a container needs root")
	}
	for program, pkg := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIP: %s is missing (Debian: apt-get install %s)", program, pkg)
		}
	}
}

// container returns the command that runs systemd-nspawn on the system at root,
// without a network, for so many seconds at most.
func container(ctx context.Context, root string, seconds int, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "timeout", append([]string{
		"--kill-after=5", fmt.Sprint(seconds), "systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--private-network", "--directory=" + root,
	}, args...)...)
}

// boot boots this machine's own system in a container, in memory above the disk,
// and runs there the tests whose names begin as run; n of them must pass.
func boot(t *testing.T, run string, n int, binds ...string) {
	t.Helper()
	if os.Getenv(inside) != "" {
		t.Skip("the machine is booted")
	}
	needsRoot(t, map[string]string{
		"systemd-nspawn": "systemd-container", "loginctl": "systemd", "dbus-daemon": "dbus", "useradd": "passwd", "unshare": "util-linux",
	})
	if _, err := os.Stat("/lib/systemd/systemd"); err != nil {
		t.Skip("SKIP: systemd is missing (Debian: apt-get install systemd libpam-systemd dbus-user-session)")
	}
	dir := t.TempDir()
	root, out := filepath.Join(dir, "root"), filepath.Join(dir, "out")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(dir, "try.service")
	if err := errors.Join(os.Mkdir(root, 0o700), os.Mkdir(out, 0o700), os.WriteFile(unit, fmt.Appendf(nil, tryUnit, run), 0o600),
		os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	if copied, err := exec.CommandContext(t.Context(), "cp", self, filepath.Join(out, "rig")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, copied)
	}
	inner := container(t.Context(), root, 110, append(binds, "--boot", "--volatile=overlay",
		"--bind-ro="+unit+":/etc/systemd/system/try.service", "--bind="+out+":/out", "systemd.unit=try.service")...)
	// A mount of / in a namespace of its own is gone with the container.
	console, err := exec.CommandContext(t.Context(), "unshare", append([]string{
		"--mount", "sh", "-c", `mount --bind / "$1" && shift && exec "$@"`, "sh", root,
	}, inner.Args...)...).CombinedOutput()
	log, lerr := os.ReadFile(filepath.Join(out, "log"))
	if lerr != nil {
		t.Skipf("SKIP: no systemd boots here: %v\n%s", err, console)
	}
	t.Logf("in a systemd by systemd-nspawn:\n%s", log)
	if err != nil || strings.Count(string(log), "\n--- PASS: "+run) != n || !strings.Contains(string(log), "\nPASS\n") {
		t.Errorf("it fails there: %v", err)
	}
}

// debian returns the root of a minimal Debian with these packages and all they
// need, as debootstrap makes it from where this machine has its own. It is
// kept in bin/, and unpacked for each test.
func debian(t *testing.T, packages ...string) string {
	t.Helper()
	needsRoot(t, map[string]string{"debootstrap": "debootstrap", "systemd-nspawn": "systemd-container", "tar": "tar"})
	suite, site := debianSource(t)
	sum := sha256.Sum256([]byte(strings.Join(append([]string{suite}, packages...), " ")))
	kept, err := filepath.Abs(fmt.Sprintf("../../bin/debian-%s-%x.tar", suite, sum[:6]))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	must := func(argv ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput(); err != nil {
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, strings.Join(lines[max(0, len(lines)-15):], "\n"))
		}
	}
	if _, err := os.Stat(kept); err != nil {
		args := []string{"debootstrap", "--variant=minbase"}
		if len(packages) > 0 {
			args = append(args, "--include="+strings.Join(packages, ","))
		}
		must(append(args, suite, root, site)...)
		if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
			t.Fatal(err)
		}
		must("tar", "--directory="+root, "--exclude=./var/cache/apt/archives/*.deb", "--exclude=./proc/*", "--exclude=./sys/*", "--exclude=./dev/*",
			"--create", "--file="+kept+".new", ".")
		if err := os.Rename(kept+".new", kept); err != nil {
			t.Fatal(err)
		}
		return root
	}
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	must("tar", "--directory="+root, "--extract", "--numeric-owner", "--file="+kept)
	return root
}

// debianSource says which Debian this machine is, and where it gets it from.
func debianSource(t *testing.T) (suite, site string) {
	t.Helper()
	release, err := os.ReadFile("/etc/os-release")
	if err != nil {
		t.Skip("SKIP: this machine is no Debian")
	}
	for line := range strings.Lines(string(release)) {
		if name, ok := strings.CutPrefix(line, "VERSION_CODENAME="); ok {
			suite = strings.Trim(strings.TrimSpace(name), `"`)
		}
	}
	out, err := exec.CommandContext(t.Context(), "apt-get", "indextargets", "--format", "$(SITE) $(CODENAME) $(ORIGIN)", "Created-By: Packages").Output()
	if err != nil {
		t.Skipf("SKIP: where this machine has its packages from is not known: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) >= 3 && f[1] == suite && f[2] == "Debian" {
			return suite, f[0]
		}
	}
	t.Skipf("SKIP: this machine gets no Debian %s from anywhere", suite)
	return "", ""
}
