//go:build !linux && !windows

package worker

import (
	"runtime"
	"syscall"
)

// limitMemory does nothing: these systems do not hold a process to such a
// limit. The pool replaces a worker that has grown, see resident.
func limitMemory(int64) error { return nil }

// resident returns the most bytes this process has had in memory so far, 0 if
// unknown.
func resident() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(u.Maxrss) // bytes
	}
	return int64(u.Maxrss) << 10
}
