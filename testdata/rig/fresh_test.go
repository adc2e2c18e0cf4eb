//go:build accept && linux

package rig

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tryFresh is what somebody does who has read the README, on a machine that has
// what it asks for and no more. Go's caches are those of this machine, which
// stay as they are, so that nothing is downloaded and little compiled.
const tryFresh = `set -Eeuo pipefail
trap 'echo "line $LINENO: exit code $?"' ERR
if [ "${1:-}" != user ]; then
	useradd --shell /bin/bash ada
	mkdir /home/ada/src
	cp -r /app /home/ada/src/my-app
	chown ada /home/ada /home/ada/.cache /home/ada/go /home/ada/go/pkg
	chown -R ada /home/ada/src
	# To write beside what is there; nothing that is there is changed.
	find /home/ada/.cache/go-build /home/ada/go/pkg/mod /home/ada/go/pkg/mod/cache -maxdepth 1 -type d -exec chmod a+rwx {} +
	find /home/ada/go/pkg/mod/cache -maxdepth 1 -name lock -exec chmod a+rw {} +
	setpriv --reuid ada --regid ada --init-groups --reset-env bash /try user
	# As root, whose the caches are: go test writes over what is there.
	export HOME=/home/ada PATH=/usr/local/go/bin:/usr/sbin:/usr/bin:/sbin:/bin
	make -C ~/foldwatch test PKGS="$(cat /packages)"
	echo TESTED
	exit
fi
export PATH=/usr/local/go/bin:/usr/bin:/bin
cd
for program in node npm systemctl golangci-lint; do ! command -v $program || { echo "$program is here: this is no fresh machine"; exit 1; }; done
git config --global safe.directory '*'
git clone -q /foldwatch foldwatch && cd foldwatch
make up DIR=~/src/my-app >~/up 2>&1 &
for _ in $(seq 6000); do
	grep -q '^ready' ~/up && break
	kill -0 $! 2>/dev/null || break
	sleep 0.1
done
cat ~/up
grep -q '^ready' ~/up
(cd ~/src/my-app && ~/foldwatch/bin/foldwatch search quokkas | grep a.go)
kill -INT "$(pgrep -u ada -x foldwatch | head -1)"
wait $! || [ $? -eq 2 ] || [ $? -eq 130 ]
echo "UP as $(id -un)"
`

// freshPackages are those that make test is run on there, unless FRESH says
// others: few, and between them they need each tool of the README.
const freshPackages = "./meta/fold ./gitops/wal ./chunker ./packaging/unit"

// TestFresh runs the README's commands in a Debian that has what the README
// asks for: Go, make, a C compiler, git.
func TestFresh(t *testing.T) {
	pkgs := freshPackages
	if p := os.Getenv("FRESH"); p != "" {
		pkgs = p
	}
	root := debian(t, "make", "gcc", "libc6-dev", "git", "procps")
	checkout(t, filepath.Join(root, "app"))
	for _, dir := range []string{"home/ada/.cache/go-build", "home/ada/go/pkg/mod"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil { //nolint:gosec // a home of the container's
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "packages"), []byte(pkgs), 0o644); err != nil { //nolint:gosec // read by the container's user
		t.Fatal(err)
	}
	env := func(name string) string {
		out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	tree, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	// What no build here has needed yet is not in the cache, and ada, who may only
	// write beside what is there, could not add it.
	download := exec.CommandContext(t.Context(), "go", "mod", "download")
	download.Dir = tree
	if out, err := download.CombinedOutput(); err != nil {
		t.Fatalf("go mod download: %v\n%s", err, out)
	}
	seconds := 1200
	if strings.Contains(pkgs, "...") {
		seconds = 3000
	}
	out := inContainer(t, root, tryFresh, seconds, "--bind-ro="+tree+":/foldwatch", "--bind-ro="+env("GOROOT")+":/usr/local/go",
		"--overlay="+env("GOCACHE")+"::/home/ada/.cache/go-build", "--overlay="+env("GOMODCACHE")+"::/home/ada/go/pkg/mod")
	t.Log(out)
	if !strings.Contains(out, "\nUP as ada\n") || !strings.Contains(out, "\nTESTED\n") {
		t.Error("it did not come to its end")
	}
}
