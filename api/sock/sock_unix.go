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

// Path returns the path of the socket for path: path itself, or, if that is over 100
// bytes, a short hashed name in <temp>/foldwatch-<uid>/. It is the same each time as long
// as TMPDIR stays.
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
	path   string
	system bool // opened by the service manager, in a folder that others may use too
	log    *slog.Logger

	mu     sync.Mutex        // guards the fields below
	net    *net.UnixListener // the current listener
	old    *net.UnixListener // the listener before Renew, nil if there is none
	at     fs.FileInfo       // the socket file we made; nil if the system made it
	closed bool
}

// drainTime is how long connections that wait at a deleted socket are still accepted.
const drainTime = 100 * time.Millisecond

// Listen creates the folder of path if needed (0700) and listens at path (0600). A dead
// socket of our own is replaced. It returns ErrInUse if another process listens there,
// and ErrForeign if path is not a socket of ours or its folder belongs to somebody else.
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
	return &Listener{path: path, net: l, at: at, log: opt.log()}, nil
}

// Renew listens again at the same path if the socket file, or its folder, was deleted or
// replaced. Accepted connections stay, and those that wait for Accept are accepted. It
// reports whether it listened again; on an error, which is one of [Listen], nothing has
// changed.
//
// A socket that the system opened is only replaced if the file is missing, and if its
// folder is ours and nobody else may write there; the mode of the folder stays, since it
// may be a home or /run. The system itself listens at the deleted file until its socket
// unit is restarted.
func (l *Listener) Renew() (renewed bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false, nil
	}
	info, err := os.Lstat(l.path)
	if err == nil && (l.at == nil || os.SameFile(info, l.at)) {
		return false, nil
	}
	fit := ownDir
	if l.system {
		fit = guardedDir
	}
	if err := fit(filepath.Dir(l.path)); err != nil {
		return false, fmt.Errorf("socket %s: %w", l.path, err)
	}
	if err := clear(l.path); err != nil {
		return false, fmt.Errorf("socket %s: %w", l.path, err)
	}
	// No umask here: it is that of the whole process, which may create folders meanwhile.
	// Nobody else can enter our folder; in one of the system, Accept refuses others
	// before and after the mode is set.
	next, err := net.ListenUnix("unix", &net.UnixAddr{Name: l.path, Net: "unix"})
	if err != nil {
		return false, fmt.Errorf("socket %s: %w", l.path, err)
	}
	next.SetUnlinkOnClose(false)
	err = os.Chmod(l.path, 0o600)
	if err == nil {
		info, err = os.Lstat(l.path)
	}
	if err != nil {
		return false, fmt.Errorf("socket %s: %w", l.path, errors.Join(err, next.Close()))
	}
	if l.old != nil {
		_ = l.old.Close() // all of its connections were accepted, or nobody accepts any
	}
	l.old, l.net, l.at = l.net, next, info
	_ = l.old.SetDeadline(time.Now().Add(drainTime)) // wakes a waiting Accept, which then uses the new listener
	return true, nil
}

// listening returns the listener to accept from: the old one until it is drained.
func (l *Listener) listening() *net.UnixListener {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.old != nil {
		_ = l.old.SetDeadline(time.Now().Add(drainTime)) // fails if it is closed; then Accept fails too
		return l.old
	}
	return l.net
}

// left reports whether ln is no longer the listener, and drops it if it was the old one.
func (l *Listener) left(ln *net.UnixListener) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.old == ln {
		l.old = nil
		_ = ln.Close() // closed already after Close
	}
	return ln != l.net
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

// ownDir creates dir, or checks that it is ours, and removes the access of others.
func ownDir(dir string) error {
	info, err := oursAt(dir)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = os.Chmod(dir, 0o700)
	}
	return err
}

// guardedDir creates dir, or checks that it is ours and nobody else may write there.
func guardedDir(dir string) error {
	info, err := oursAt(dir)
	if err == nil && info.Mode().Perm()&0o022 != 0 {
		err = fmt.Errorf("others may write into folder %s: %w", dir, ErrForeign)
	}
	return err
}

// oursAt creates the folder dir if needed, and returns ErrForeign if it is not ours.
func oursAt(dir string) (fs.FileInfo, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("folder %s is a link: %w", dir, ErrForeign)
	}
	if !ours(info) {
		return nil, fmt.Errorf("folder %s belongs to another user: %w", dir, ErrForeign)
	}
	return info, nil
}

func ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// clear removes a dead socket of our own at path, and nothing else.
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

// removeSame removes path if it is still the file of info.
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

// Accept returns the next connection of our own user. Others are closed and logged,
// whatever the mode of the socket.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		ln := l.listening()
		c, err := ln.AcceptUnix()
		if err != nil && l.left(ln) {
			continue
		}
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

// Close stops listening and removes the socket file if it is still the one we made.
func (l *Listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.old != nil {
		_ = l.old.Close() // all of its connections were accepted, or nobody accepts any
	}
	err := l.net.Close()
	if errors.Is(err, net.ErrClosed) || l.at == nil {
		return err
	}
	if e := removeSame(l.path, l.at); e != nil && !errors.Is(e, ErrForeign) {
		err = errors.Join(err, e)
	}
	return err
}

// Addr returns the path of the socket.
func (l *Listener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

// Dial connects to the daemon at path. It returns ErrNobody if nothing listens there, and
// ErrForeign if the listener runs as another user.
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
