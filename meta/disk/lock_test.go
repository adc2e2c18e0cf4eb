package disk_test

import (
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
	if !first.Stands() {
		t.Error("a lock that was just taken does not stand")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if first.Stands() {
		t.Error("a lock without its file stands")
	}
	second, err := disk.Lock(path, "pid 2")
	if err != nil {
		t.Fatal(err)
	}
	if first.Stands() || !second.Stands() {
		t.Errorf("the first stands: %v, the second: %v", first.Stands(), second.Stands())
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
