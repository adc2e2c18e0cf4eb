//go:build unix

package disk

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Entries returns the entries of an open directory with their types, in no
// order, and looks at none of them where the file system tells the types along.
// ReadDir of a directory that was opened below an [os.Root] looks at each.
func Entries(d *os.File) ([]fs.DirEntry, error) {
	fd, err := unix.FcntlInt(d.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return d.ReadDir(-1)
	}
	f := os.NewFile(uintptr(fd), d.Name())
	defer f.Close()
	return f.ReadDir(-1)
}
