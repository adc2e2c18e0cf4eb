package local

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// detached gives a daemon no console and a process group of its own: no Ctrl-C
// of a terminal reaches it.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		HideWindow:    true,
		CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS,
	}
}

// terminate ends a process. Windows has no signal to ask with; what the daemon
// has acknowledged is durable.
func terminate(p *os.Process) error { return p.Kill() }
