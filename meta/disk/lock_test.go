package disk_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/foldwatch/foldwatch/meta/disk"
)

// TestLockStandsAsLongAsItsFile: a lock whose file was deleted keeps nobody away, and
// its end takes nothing from who has the next one.
func TestLockStandsAsLongAsItsFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIP: an open file cannot be deleted here")
	}
	path := filepath.Join(t.TempDir(), "lock")
	first, err := disk.Lock(path, "pid 1")
	if err != nil {
		t.Fatal(err)
	}
	if !first.Intact() {
		t.Error("a lock that was just taken does not stand")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if first.Intact() {
		t.Error("a lock without its file stands")
	}
	second, err := disk.Lock(path, "pid 2")
	if err != nil {
		t.Fatal(err)
	}
	if first.Intact() || !second.Intact() {
		t.Errorf("the first stands: %v, the second: %v", first.Intact(), second.Intact())
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if holder, held := disk.LockHolder(path); !held || holder != "pid 2" {
		t.Errorf("LockHolder = %q, %v", holder, held)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLockWhoseFolderBecameAFile: nobody is kept away by it.
func TestLockWhoseFolderBecameAFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIP: the folder of an open file cannot be moved here")
	}
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := disk.Lock(filepath.Join(dir, "lock"), "pid 1")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if lock.Intact() {
		t.Error("a lock whose folder is a file stands")
	}
	if err := lock.Close(); err != nil {
		t.Error(err)
	}
}
