//go:build unix

package usergit

import (
	"os"
	"strconv"
	"syscall"
)

// ownedByUs reports whether path belongs to the user we run as. As git does,
// root under sudo may also work on the files of the one who called it.
func ownedByUs(path string) bool {
	fi, err := os.Lstat(path)
	if err != nil {
		return false
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	uid := os.Geteuid()
	if int(st.Uid) == uid {
		return true
	}
	if uid != 0 {
		return false
	}
	sudo, err := strconv.Atoi(os.Getenv("SUDO_UID"))
	return err == nil && int(st.Uid) == sudo
}
