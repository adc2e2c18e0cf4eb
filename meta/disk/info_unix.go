//go:build unix

package disk

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// A FIFO opened without O_NONBLOCK would wait for a writer.
const openFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK

func inode(fi fs.FileInfo) uint64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}
