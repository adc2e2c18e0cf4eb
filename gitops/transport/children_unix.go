//go:build unix

package transport

import (
	"os/exec"
	"syscall"
)

// ownGroup lets a program and what it starts (ssh, index-pack) be ended
// together.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// passesFiles reports whether a child can be given an open file by its number.
const passesFiles = true
