// Package nocasetest gives tests a folder where the case of names does not count, as on
// macOS and Windows.
package nocasetest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A kind is a file system of that sort, which is made in an image and mounted.
type kind struct {
	size  int64
	make  func(image string) error
	mount func(image, at string) (leave func(), err error)
}

// kinds are those that are tried in turn: many kernels are built without the first.
var kinds = []kind{
	{
		size: 64 << 20,
		make: func(image string) error {
			return run("mkfs.ext4", "-q", "-F", "-O", "casefold", "-E", "encoding=utf8", image)
		},
		mount: func(image, at string) (func(), error) {
			return func() { _ = run("umount", at) }, run("mount", "-o", "loop", image, at)
		},
	},
	{
		size: 16 << 20,
		make: func(image string) error { return run("mkfs.exfat", image) },
		mount: func(image, at string) (func(), error) {
			out, err := exec.Command("losetup", "--find", "--show", image).Output()
			if err != nil {
				return nil, fmt.Errorf("losetup: %w", err)
			}
			device := strings.TrimSpace(string(out))
			if err := run("mount.exfat-fuse", device, at); err != nil {
				_ = run("losetup", "--detach", device)
				return nil, err
			}
			return func() {
				_ = run("umount", at)
				_ = run("losetup", "--detach", device)
			}, nil
		},
	},
}

func run(argv ...string) error {
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %.200s", argv[0], err, out)
	}
	return nil
}

// Dir returns an empty folder where the case of names does not count: one below
// FOLDWATCH_NO_CASE, else one of a file system that is made for it. Else the test is
// skipped.
func Dir(t testing.TB) string {
	t.Helper()
	base := os.Getenv("FOLDWATCH_NO_CASE")
	if base == "" && Lost(t, t.TempDir()) {
		base = t.TempDir()
	}
	if base == "" {
		base = mounted(t)
	}
	dir, err := os.MkdirTemp(base, "checkout-") //nolint:usetesting // t.TempDir is on another file system
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, dir) })
	if !Lost(t, dir) {
		t.Fatalf("the case of names counts in %s", base)
	}
	return dir
}

// remove removes dir. A file system in user space can be behind for a moment.
func remove(t testing.TB, dir string) {
	var err error
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if err = os.RemoveAll(dir); err == nil {
			return
		}
	}
	t.Error(err)
}

func mounted(t testing.TB) string {
	t.Helper()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("SKIP: FOLDWATCH_NO_CASE names no folder where the case of names does not count, and to mount one takes root on Linux")
	}
	var failed error
	for _, k := range kinds {
		dir := t.TempDir()
		image, at := filepath.Join(dir, "image"), filepath.Join(dir, "at")
		err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, k.size), os.Mkdir(at, 0o700))
		if err != nil {
			t.Fatal(err)
		}
		leave := func() {}
		if err = k.make(image); err == nil {
			leave, err = k.mount(image, at)
		}
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		t.Cleanup(leave)
		folded := filepath.Join(at, "folded")
		if err := os.Mkdir(folded, 0o755); err != nil {
			t.Fatal(err)
		}
		if !Lost(t, folded) { // ext4 is told for each folder
			if err := run("chattr", "+F", folded); err != nil {
				t.Fatal(err)
			}
		}
		return folded
	}
	t.Skipf("SKIP: FOLDWATCH_NO_CASE names no folder where the case of names does not count, and none can be mounted: %v", failed)
	return ""
}

// Lost reports whether dir has one file for two names that differ in case only.
func Lost(t testing.TB, dir string) bool {
	t.Helper()
	name := filepath.Join(dir, "Aa")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(name)
	_, err := os.Lstat(filepath.Join(dir, "aA"))
	return err == nil
}
