package disk

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// A dirHandle is an open folder by which its entries are looked at.
type dirHandle struct {
	fd    int
	there bool
}

func (d dirHandle) valid() bool { return d.there }

func (d dirHandle) close() {
	if d.there {
		_ = unix.Close(d.fd)
	}
}

// openDir opens dir below base, with a final slash, or "" for base itself. No
// symbolic link is followed. It returns errUnsupported where the kernel has no
// such call.
func openDir(base *os.File, dir string) (dirHandle, error) {
	at := strings.TrimSuffix(dir, "/")
	if at == "" {
		at = "."
	}
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	var fd int
	var oerr error
	for range 16 { // EAGAIN: something below was renamed meanwhile
		fd, oerr = unix.Openat2(int(base.Fd()), at, &how)
		if !errors.Is(oerr, unix.EINTR) && !errors.Is(oerr, unix.EAGAIN) {
			break
		}
	}
	switch {
	case errors.Is(oerr, unix.ENOENT):
		return dirHandle{}, fs.ErrNotExist
	case errors.Is(oerr, unix.ENOSYS), errors.Is(oerr, unix.EPERM), errors.Is(oerr, unix.EINVAL), errors.Is(oerr, unix.E2BIG):
		return dirHandle{}, errUnsupported
	case oerr != nil:
		return dirHandle{}, &fs.PathError{Op: "open", Path: dir, Err: oerr}
	}
	return dirHandle{fd: fd, there: true}, nil
}

// lstat looks at one entry.
func (d dirHandle) lstat(name string) (Info, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
		switch {
		case err == nil:
			return statInfo(&st), nil
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ENOENT):
			return Info{}, fs.ErrNotExist
		}
		return Info{}, &fs.PathError{Op: "lstat", Path: name, Err: err}
	}
}

func statInfo(st *unix.Stat_t) Info {
	info := Info{Size: st.Size, MtimeNS: st.Mtim.Nano(), Inode: st.Ino, Mode: fs.FileMode(st.Mode & 0o777)}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		info.Mode |= fs.ModeDir
	case unix.S_IFLNK:
		info.Mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		info.Mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		info.Mode |= fs.ModeSocket
	case unix.S_IFCHR:
		info.Mode |= fs.ModeDevice | fs.ModeCharDevice
	default:
		info.Mode |= fs.ModeDevice
	}
	return info
}

// lstatIn looks at an entry of d, which is open as f.
func lstatIn(_ *os.Root, f *os.File, name string) (Info, error) {
	return dirHandle{fd: int(f.Fd())}.lstat(name)
}
