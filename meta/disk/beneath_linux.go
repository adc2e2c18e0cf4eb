package disk

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// openBeneath opens the file at path below root for reading, in one call that
// follows no link anywhere and does not wait for a FIFO. It returns
// errUnsupported where the kernel (before 5.6) or a sandbox has no such call.
func openBeneath(root *os.Root, path string) (*os.File, error) {
	d, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	c, err := d.SyscallConn()
	if err != nil {
		return nil, err
	}
	how := unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	fd, oerr := -1, error(nil)
	err = c.Control(func(dir uintptr) {
		// EAGAIN: something below was renamed meanwhile.
		for range 16 {
			fd, oerr = unix.Openat2(int(dir), path, &how)
			if !errors.Is(oerr, unix.EINTR) && !errors.Is(oerr, unix.EAGAIN) {
				return
			}
		}
	})
	switch {
	case err != nil:
		return nil, err
	case errors.Is(oerr, unix.ENOENT):
		return nil, fs.ErrNotExist
	case oerr != nil && isBusy(oerr):
		return nil, oerr
	case oerr != nil:
		// Not there to be called, or a link, a FIFO or the like: the way by
		// small steps finds out which.
		return nil, errUnsupported
	}
	return os.NewFile(uintptr(fd), path), nil
}

// isBusy reports errors that small steps would only meet again.
func isBusy(err error) bool {
	return isExhausted(err) || isBroken(err) || errors.Is(err, unix.EACCES)
}
