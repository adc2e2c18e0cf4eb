package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// exchange swaps the files a and b in the directory d in one step. It returns
// errUnsupported where the file system cannot.
func exchange(d *os.File, a, b string) error {
	return renameat2(d, a, b, unix.RENAME_EXCHANGE)
}

// place renames a to b in d and fails with fs.ErrExist if b exists. It returns
// errUnsupported where the file system cannot.
func place(d *os.File, a, b string) error {
	return renameat2(d, a, b, unix.RENAME_NOREPLACE)
}

func renameat2(d *os.File, a, b string, flags uint) error {
	c, err := d.SyscallConn()
	if err != nil {
		return err
	}
	var rerr error
	err = c.Control(func(fd uintptr) {
		for {
			rerr = unix.Renameat2(int(fd), a, int(fd), b, flags)
			if rerr != unix.EINTR {
				return
			}
		}
	})
	switch {
	case err != nil:
		return err
	case errors.Is(rerr, unix.EINVAL), errors.Is(rerr, unix.ENOSYS), errors.Is(rerr, unix.ENOTSUP):
		return errUnsupported
	}
	return rerr
}

// syncFS makes durable everything that was written to the file system of d.
func syncFS(d *os.File) error {
	c, err := d.SyscallConn()
	if err != nil {
		return err
	}
	var serr error
	if err := c.Control(func(fd uintptr) { serr = unix.Syncfs(int(fd)) }); err != nil {
		return err
	}
	return serr
}

const hasSyncFS = true

// syncDir makes the names in d durable.
func syncDir(d *os.File) error { return d.Sync() }
