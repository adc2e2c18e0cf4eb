//go:build unix

package main

import "syscall"

// detached gives a daemon a session of its own: no terminal's Ctrl-C or hangup
// reaches it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
