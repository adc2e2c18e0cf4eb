//go:build unix

package powertest

import (
	"io/fs"
	"syscall"
)

// A fileID tells whether two names are of one file.
type fileID struct{ dev, ino uint64 }

// idOf reports a file's id, and whether it may have other names.
func idOf(fi fs.FileInfo) (fileID, bool) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok || !fi.Mode().IsRegular() {
		return fileID{}, false
	}
	return fileID{uint64(st.Dev), st.Ino}, st.Nlink > 1 //nolint:unconvert // int32 on some systems
}
