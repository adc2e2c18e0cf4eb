//go:build unix

package sock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// umask guards the process-wide file mode mask while a socket is bound.
var umask sync.Mutex

// Path returns where the socket meant for path really lies: path itself, or,
// where that is over 100 bytes, a short hashed name in <temp>/foldwatch-<uid>/.
// Equal arguments give equal results as long as TMPDIR stays.
func Path(path string) string {
	if len(path) <= maxPath {
		return path
	}
	dir := filepath.Join(os.TempDir(), "foldwatch-"+strconv.Itoa(os.Geteuid()))
	if short := filepath.Join(dir, shortName(path)); len(short) <= maxPath {
		return short
	}
	return filepath.Join("/tmp", filepath.Base(dir), shortName(path))
}

// A Listener accepts only peers that run as the user of this process. It is
// safe for concurrent use.
type Listener struct {
	net *net.UnixListener
	at  fs.FileInfo // the socket as it was made; nil if it is the system's
	log *slog.Logger
}

// Listen makes the folder of path if need be (0700) and listens at path (0600).
// A dead socket of our own is replaced. It returns ErrInUse if another process
// listens there, and ErrForeign if path is anything but a socket of ours or if
// its folder belongs to somebody else.
func Listen(path string, opt Options) (*Listener, error) {
	if err := ownDir(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	if err := clear(path); err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	l, err := bind(path)
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	at, err := os.Lstat(path)
	if err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	return &Listener{net: l, at: at, log: opt.log()}, nil
}

func bind(path string) (*net.UnixListener, error) {
	umask.Lock()
	defer umask.Unlock()
	defer syscall.Umask(syscall.Umask(0o177))
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // Close looks first whether it is still ours
	return l, nil
}

// ownDir makes dir, or checks that it is a folder of ours and nobody else's.
func ownDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("folder %s is a link: %w", dir, ErrForeign)
	}
	if !ours(info) {
		return fmt.Errorf("folder %s belongs to another user: %w", dir, ErrForeign)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return os.Chmod(dir, 0o700)
	}
	return nil
}

func ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// clear removes a dead socket of our own from path, and nothing else.
func clear(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("there is something that is no socket (%s): %w", info.Mode(), ErrForeign)
	}
	if !ours(info) {
		return fmt.Errorf("the socket belongs to another user: %w", ErrForeign)
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		_ = c.Close()
		return ErrInUse
	}
	if !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return removeSame(path, info)
}

// removeSame unlinks path if it is still the file that info tells of.
func removeSame(path string, info fs.FileInfo) error {
	now, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !os.SameFile(now, info) {
		return fmt.Errorf("the socket was replaced meanwhile: %w", ErrForeign)
	}
	return os.Remove(path)
}

// Accept returns the next connection of our own user; others are closed and
// logged, whatever the mode of the socket says.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.net.AcceptUnix()
		if err != nil {
			return nil, err
		}
		uid, err := peerUID(c)
		if err == nil && uid == os.Geteuid() {
			return c, nil
		}
		_ = c.Close()
		l.log.Warn("Refused connection", "uid", uid, "err", err)
	}
}

// Close stops listening and removes the socket if it is still the one we made.
func (l *Listener) Close() error {
	path := l.net.Addr().String()
	err := l.net.Close()
	if errors.Is(err, net.ErrClosed) || l.at == nil {
		return err
	}
	if e := removeSame(path, l.at); e != nil && !errors.Is(e, ErrForeign) {
		err = errors.Join(err, e)
	}
	return err
}

// Addr returns the path of the socket.
func (l *Listener) Addr() net.Addr { return l.net.Addr() }

// Dial connects to the daemon at path. It returns ErrNobody if nothing listens
// there, and ErrForeign if what listens runs as another user.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTDIR) {
			err = fmt.Errorf("%w (%w)", ErrNobody, err)
		}
		return nil, fmt.Errorf("dial %s: %w", path, err)
	}
	uid, err := peerUID(c.(*net.UnixConn))
	if err == nil && uid != os.Geteuid() && uid != 0 {
		err = fmt.Errorf("uid %d listens there: %w", uid, ErrForeign)
	}
	if err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("dial %s: %w", path, err)
	}
	return c, nil
}

func peerUID(c *net.UnixConn) (int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	uid, uidErr := -1, error(nil)
	if err := raw.Control(func(fd uintptr) { uid, uidErr = fdPeerUID(int(fd)) }); err != nil {
		return -1, err
	}
	return uid, uidErr
}
