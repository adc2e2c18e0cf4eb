package disk

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// exchange swaps the file a in the directory from and the file b in the directory to,
// in one step. It returns errUnsupported where the file system cannot.
func exchange(from *os.File, a string, to *os.File, b string) error {
	return renameat2(from, a, to, b, unix.RENAME_EXCHANGE)
}

// place renames a in from to b in to and fails with fs.ErrExist if b exists. It returns
// errUnsupported where the file system cannot.
func place(from *os.File, a string, to *os.File, b string) error {
	return renameat2(from, a, to, b, unix.RENAME_NOREPLACE)
}

// move renames a in from to b in to, whatever b is.
func move(from *os.File, a string, to *os.File, b string) error { return renameat2(from, a, to, b, 0) }

// canMove reports whether files can be renamed from one directory to the other. The
// kernel looks whether both are of one mount before it looks for the file.
func canMove(from, to *os.File) bool {
	name := tempName()
	return errors.Is(move(from, name, to, name), fs.ErrNotExist)
}

func renameat2(from *os.File, a string, to *os.File, b string, flags uint) error {
	err := withBoth(from, to, func(x, y int) error {
		for {
			if err := unix.Renameat2(x, a, y, b, flags); err != unix.EINTR {
				return err
			}
		}
	})
	if flags != 0 && (errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP)) {
		return errUnsupported
	}
	return err
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
