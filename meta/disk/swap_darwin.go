package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// exchange swaps the file a in the directory from and the file b in the directory to,
// in one step. It returns errUnsupported where the file system cannot.
func exchange(from *os.File, a string, to *os.File, b string) error {
	return renameatx(from, a, to, b, unix.RENAME_SWAP)
}

// place renames a in from to b in to and fails with fs.ErrExist if b exists. It returns
// errUnsupported where the file system cannot.
func place(from *os.File, a string, to *os.File, b string) error {
	return renameatx(from, a, to, b, unix.RENAME_EXCL)
}

// move renames a in from to b in to, whatever b is.
func move(from *os.File, a string, to *os.File, b string) error {
	return withBoth(from, to, func(x, y int) error { return unix.Renameat(x, a, y, b) })
}

// canMove reports whether files can be renamed from one directory to the other.
func canMove(from, to *os.File) bool {
	var x, y unix.Stat_t
	err := withBoth(from, to, func(a, b int) error { return errors.Join(unix.Fstat(a, &x), unix.Fstat(b, &y)) })
	return err == nil && x.Dev == y.Dev
}

func renameatx(from *os.File, a string, to *os.File, b string, flag uint32) error {
	err := withBoth(from, to, func(x, y int) error { return unix.RenameatxNp(x, a, y, b, flag) })
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP) {
		return errUnsupported
	}
	return err
}

const hasSyncFS = false

func syncFS(*os.File) error { return errUnsupported }

// syncDir makes the names in d durable.
func syncDir(d *os.File) error { return d.Sync() }
