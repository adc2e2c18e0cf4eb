//go:build unix

package usergit

import "syscall"

// openFlags keep an open from hanging on a FIFO (F42).
const openFlags = syscall.O_NONBLOCK | syscall.O_NOFOLLOW
