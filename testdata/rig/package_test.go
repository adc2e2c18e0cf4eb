//go:build accept && linux

package rig

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// deb returns the package that make packages made for this machine.
func deb(t *testing.T) string {
	t.Helper()
	path := os.Getenv("FOLDWATCH_DEB")
	if path == "" {
		t.Skip("FOLDWATCH_DEB is not set; run it by make packages")
	}
	return path
}

// checkout makes a small repository at dir, with the git of this machine.
func checkout(t *testing.T, dir string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `mkdir -p "$1" && cd "$1" && git init -q . && echo 'package app // Quokka feeds the quokkas' > a.go &&
		git add . && git -c user.name=T -c user.email=t@example.invalid commit -qm first`, "sh", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("git: %v\n%s", err, out)
	}
}

// inContainer runs a script, as root, in a Debian of its own.
func inContainer(t *testing.T, root, script string, seconds int, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "try")
	if err := os.WriteFile(file, []byte(script), 0o755); err != nil { //nolint:gosec // a script of the container's
		t.Fatal(err)
	}
	out, err := container(t.Context(), root, seconds, append(append(args, "--as-pid2", "--bind-ro="+file+":/try"), "/bin/bash", "/try")...).CombinedOutput()
	if err != nil {
		t.Fatalf("in the container: %v\n%s", err, out)
	}
	return strings.ReplaceAll(string(out), "\r\n", "\n") // it has a terminal of its own
}

// tryPackage is what root, and then a user, does with the package.
const tryPackage = `set -euo pipefail
if [ "${1:-}" != user ]; then
	dpkg --install /foldwatch.deb
	dpkg --verify foldwatch
	useradd --create-home --shell /bin/bash ada
	cp -r /app /home/ada/app && chown -R ada /home/ada/app
	setpriv --reuid ada --regid ada --init-groups --reset-env bash /try user
	dpkg --purge foldwatch
	left="$(find /usr /etc /lib/systemd -name '*foldwatch*')"
	[ -z "$left" ] || { echo "purge leaves $left"; exit 1; }
	echo PURGED
	exit
fi
cd ~/app
foldwatch version
foldwatch up --once --no-input
foldwatch search quokkas | grep a.go >/dev/null
foldwatch memory add 'The aardvark sleeps at noon.' >/dev/null
for _ in $(seq 100); do # it is searchable some moments later
	foldwatch search aardvark 2>/dev/null | grep noon >/dev/null && break
	sleep 0.1
done
foldwatch search aardvark | grep noon >/dev/null
test -s /usr/share/man/man1/foldwatch-up.1.gz
bash -n /usr/share/bash-completion/completions/foldwatch
echo "FOUND as $(id -un)"
`

// The package is installed into a clean Debian, which has what the package says
// that it needs and no more, and an ordinary user works with it.
func TestPackageInstalled(t *testing.T) {
	path := deb(t)
	depends, err := exec.CommandContext(t.Context(), "dpkg-deb", "--field", path, "Depends").Output()
	if err != nil {
		t.Fatal(err)
	}
	var needed []string
	for d := range strings.SplitSeq(strings.TrimSpace(string(depends)), ",") {
		if name, _, _ := strings.Cut(strings.TrimSpace(d), " "); name != "libc6" { // any Debian has it
			needed = append(needed, name)
		}
	}
	root := debian(t, needed...)
	checkout(t, filepath.Join(root, "app"))
	out := inContainer(t, root, tryPackage, 120, "--bind-ro="+path+":/foldwatch.deb")
	t.Log(out)
	if !strings.Contains(out, "\nFOUND as ada\n") || !strings.Contains(out, "\nPURGED\n") {
		t.Error("it did not come to its end")
	}
}

// TestPackageUnits boots a systemd, and there starts the units that the package
// brings.
func TestPackageUnits(t *testing.T) {
	boot(t, "TestUnitsOf", 1, "--bind-ro="+deb(t)+":/foldwatch.deb")
}

func TestUnitsOfPackage(t *testing.T) {
	b := newBooted(t)
	b.root("dpkg", "--install", "/foldwatch.deb")
	security := b.root("systemd-analyze", "security", "--no-pager", "--threshold=15", "foldwatch.service")
	t.Log(security[strings.LastIndex(strings.TrimSpace(security), "\n")+1:])

	b.must("git", "config", "--global", "user.name", "Try")
	b.must("git", "config", "--global", "user.email", "try@example.invalid")
	checkout(t, "/home/try/app")
	b.root("chown", "-R", "try", "/home/try/app")
	b.must("systemctl", "--user", "enable", "--now", "foldwatch")
	b.must("foldwatch", "up", "app", "--once")
	if out := b.must("foldwatch", "search", "quokkas", "-p", "app"); !strings.Contains(out, "a.go") {
		t.Errorf("search: %s", out)
	}
	if out := b.must("systemctl", "--user", "show", "foldwatch", "-p", "ActiveState,FragmentPath"); !strings.Contains(out, "ActiveState=active") ||
		!strings.Contains(out, "FragmentPath=/usr/lib/systemd/user/foldwatch.service") {
		t.Errorf("the user's unit: %s", out)
	}
	b.must("systemctl", "--user", "disable", "--now", "foldwatch")

	b.root("systemctl", "enable", "--now", "foldwatch")
	if out := b.root("runuser", "-u", "foldwatch", "--", "env", "FOLDWATCH_HOME=/var/lib/foldwatch", "foldwatch", "status"); out == "" {
		t.Error("the machine's daemon says nothing")
	}
	// Taken away, it runs no more, and no unit of it is left.
	b.root("dpkg", "--remove", "foldwatch")
	b.await("the daemon ends", 10*time.Second, func() bool {
		return exec.CommandContext(t.Context(), "pgrep", "-u", "foldwatch", "foldwatch").Run() != nil
	})
	if out := b.root("sh", "-c", "systemctl list-unit-files --no-legend 'foldwatch*' || true"); strings.TrimSpace(out) != "" {
		t.Errorf("units that are left: %s", out)
	}
}
