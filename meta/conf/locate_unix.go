//go:build unix

package conf

import (
	"os"
	"syscall"
)

// ownedByUser reports whether dir is a folder, not a link, of the current user
// that nobody else may write to.
func ownedByUser(dir string) bool {
	fi, err := os.Lstat(dir)
	if err != nil || !fi.IsDir() || fi.Mode().Perm()&0o022 != 0 {
		return false
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}

// nonBlocking opens a FIFO without waiting for a writer.
const nonBlocking = syscall.O_NONBLOCK

// fileOwnedByUser reports whether a file belongs to the current user, or to root, from whom
// nothing can be kept anyway.
func fileOwnedByUser(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (int(st.Uid) == os.Geteuid() || st.Uid == 0)
}
