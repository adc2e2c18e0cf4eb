package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// exchange swaps the files a and b in the directory d in one step. It returns
// errUnsupported where the file system cannot.
func exchange(d *os.File, a, b string) error { return renameatx(d, a, b, unix.RENAME_SWAP) }

// place renames a to b in d and fails with fs.ErrExist if b exists. It returns
// errUnsupported where the file system cannot.
func place(d *os.File, a, b string) error { return renameatx(d, a, b, unix.RENAME_EXCL) }

func renameatx(d *os.File, a, b string, flag uint32) error {
	c, err := d.SyscallConn()
	if err != nil {
		return err
	}
	var rerr error
	err = c.Control(func(fd uintptr) { rerr = unix.RenameatxNp(int(fd), a, int(fd), b, flag) })
	switch {
	case err != nil:
		return err
	case errors.Is(rerr, unix.EINVAL), errors.Is(rerr, unix.ENOSYS), errors.Is(rerr, unix.ENOTSUP):
		return errUnsupported
	}
	return rerr
}

const hasSyncFS = false

func syncFS(*os.File) error { return errUnsupported }

// syncDir makes the names in d durable.
func syncDir(d *os.File) error { return d.Sync() }
