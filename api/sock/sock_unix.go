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
	path   string
	system bool // the system opened it, in a folder that need not be for it alone
	log    *slog.Logger

	mu     sync.Mutex        // guards the fields below
	net    *net.UnixListener // what listens now
	old    *net.UnixListener // what listened before Renew, nil if nothing did
	at     fs.FileInfo       // the socket as it was made; nil if it is the system's
	closed bool
}

// drainTime is for how long what waits at a socket whose file is gone is still
// accepted. Nobody can come to it any more.
const drainTime = 100 * time.Millisecond

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
	return &Listener{path: path, net: l, at: at, log: opt.log()}, nil
}

// Renew listens anew at the same path if the file there is not the socket any more
// that was made, as where somebody deleted it, or the folder around it. Accepted
// connections stay, and what waits for Accept is accepted. It reports whether it
// did anything; errors are those of [Listen], and then nothing has changed.
//
// Of a socket that the system opened only the missing file is put in place again,
// and only where its folder is ours and nobody else may write there; its mode stays:
// it may be a home, or /run. The system itself listens at a file that is
// no more until its socket unit is restarted, and would not be told otherwise.
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
	// No umask here: it is the whole process's, which makes folders meanwhile. The
	// folder lets nobody else in; in the system's, others are refused by Accept until
	// the mode is set, as they are after it.
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
		_ = l.old.Close() // it has been accepted from since, or nobody accepts
	}
	l.old, l.net, l.at = l.net, next, info
	_ = l.old.SetDeadline(time.Now().Add(drainTime)) // then a waiting Accept turns to the other
	return true, nil
}

// listening returns what the next connection comes from: first what waits where
// nobody can come to any more.
func (l *Listener) listening() *net.UnixListener {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.old != nil {
		_ = l.old.SetDeadline(time.Now().Add(drainTime)) // fails where it is closed, as Accept then does
		return l.old
	}
	return l.net
}

// left reports whether ln listened before Renew, and has nothing more to give.
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

// ownDir makes dir, or checks that it is a folder of ours, and makes it nobody else's.
func ownDir(dir string) error {
	info, err := oursAt(dir)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = os.Chmod(dir, 0o700)
	}
	return err
}

// guardedDir makes dir, or checks that it is a folder of ours in which nobody else may
// put anything.
func guardedDir(dir string) error {
	info, err := oursAt(dir)
	if err == nil && info.Mode().Perm()&0o022 != 0 {
		err = fmt.Errorf("others may write into folder %s: %w", dir, ErrForeign)
	}
	return err
}

// oursAt makes the folder dir if there is none, and returns ErrForeign if it is not ours.
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

// Close stops listening and removes the socket if it is still the one we made.
func (l *Listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.old != nil {
		_ = l.old.Close() // it has been accepted from since, or nobody accepts
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
