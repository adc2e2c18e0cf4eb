//go:build unix

package disk

import (
	"errors"
	"syscall"
)

// processRuns reports whether there is a process of that number, whoever's it is.
func processRuns(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
