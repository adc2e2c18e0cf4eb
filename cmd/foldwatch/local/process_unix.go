//go:build unix

package local

import (
	"os"
	"syscall"
)

// detached gives a daemon a session of its own: no terminal's Ctrl-C or hangup
// reaches it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// terminate asks a process to end.
func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
