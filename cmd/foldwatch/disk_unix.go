//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// freeSpace returns how many bytes the user can still write where dir lies.
func freeSpace(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return int64(st.Bavail) * int64(st.Bsize), nil //nolint:unconvert // types differ between systems
}
