//go:build unix

package disk_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foldwatch/foldwatch/meta/disk"
)

// ended returns the number of a process that was.
func ended(t *testing.T) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "true")
	if err := cmd.Run(); err != nil {
		t.Skipf("no program true: %v", err)
	}
	return cmd.Process.Pid
}

// TestLockOfTheDead: what a killed process was just starting holds its lock a little
// longer than it lived. Who comes next waits for that, not for a process that runs.
func TestLockOfTheDead(t *testing.T) {
	gone := ended(t)
	for name, tc := range map[string]struct {
		pid  int
		held time.Duration // for how long the lock is held on
		wait time.Duration // for how long Lock waits
		ok   bool
	}{
		"for a moment": {gone, 300 * time.Millisecond, 300 * time.Millisecond, true},
		"on and on":    {gone, time.Hour, 2 * time.Second, false},
		"by a process": {os.Getpid(), 300 * time.Millisecond, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "lock")
			synctest.Test(t, func(t *testing.T) {
				note := fmt.Sprintf("pid %d", tc.pid)
				first, err := disk.Lock(path, note)
				if err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(tc.held, func() {
					_ = first.Close() // the test is over, or waits for it
				})
				began := time.Now()
				l, err := disk.Lock(path, "pid 1")
				if took := time.Since(began); took < tc.wait || took > tc.wait+100*time.Millisecond {
					t.Errorf("Lock waited for %v, want about %v", took, tc.wait)
				}
				var held *disk.LockedError
				switch {
				case tc.ok && err != nil:
					t.Error(err)
				case tc.ok:
					if err := l.Close(); err != nil {
						t.Error(err)
					}
				case !errors.As(err, &held) || held.Info != note:
					t.Errorf("Lock = %v, want that %s holds it", err, note)
				}
			})
		})
	}
}
