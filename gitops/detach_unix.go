//go:build unix

package gitops

import (
	"os/exec"
	"syscall"
)

// detach takes the terminal away from a program, so that it cannot ask there.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
