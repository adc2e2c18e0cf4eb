package local

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/foldwatch/foldwatch/api/client"
	"github.com/foldwatch/foldwatch/api/wire"
)

// SocketPaths returns where the daemon may listen, the likeliest first. It may
// have been started from where other variables said where the socket lies, and
// notes the real path in the state folder.
func (d *Daemon) SocketPaths() ([]string, error) {
	dirs, err := d.Config.Dirs()
	if err != nil {
		return nil, err
	}
	paths := []string{dirs.Socket}
	if noted, err := os.ReadFile(dirs.SocketFile()); err == nil {
		if p := strings.TrimSpace(string(noted)); p != "" && !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	return paths, nil
}

// DialSocket returns a client of the daemon's socket, or nil if nothing listens
// there.
func (d *Daemon) DialSocket(ctx context.Context) (Client, error) {
	paths, err := d.SocketPaths()
	if err != nil {
		return nil, err
	}
	for _, p := range paths {
		c := client.New(p)
		err := c.Ping(ctx)
		switch {
		case err == nil:
			return c, nil
		case !errors.Is(err, wire.ErrNoDaemon) && !hungUp(err):
			return nil, err
		}
	}
	return nil, nil
}

// hungUp reports whether err is that of a daemon that ended between the dial and its
// answer.
func hungUp(err error) bool {
	for _, end := range []error{syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, end) {
			return true
		}
	}
	// net/http keeps this one to itself: the end came before the request was written.
	return err != nil && strings.HasSuffix(err.Error(), "http: server closed idle connection")
}
