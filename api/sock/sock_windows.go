package sock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"
)

const pipePrefix = `\\.\pipe\`

// Path returns the named pipe for path: path itself if it is one, else a pipe named after
// its hash.
func Path(path string) string {
	if strings.HasPrefix(path, pipePrefix) {
		return path
	}
	return pipePrefix + "foldwatch-" + strings.TrimSuffix(shortName(strings.ToLower(path)), ".sock")
}

// A Listener is a named pipe that only its owner and the system may open: Windows checks
// peers by the DACL and rejects remote clients, and Listen fails unless the first
// instance is ours.
type Listener struct{ net.Listener }

// Listen listens on the named pipe. It returns ErrInUse if another process does.
func Listen(path string, _ Options) (*Listener, error) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return nil, fmt.Errorf("pipe %s: who we are: %w", path, err)
	}
	l, err := winio.ListenPipe(Path(path), &winio.PipeConfig{
		SecurityDescriptor: "D:P(A;;GA;;;SY)(A;;GA;;;" + user.User.Sid.String() + ")",
	})
	if errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_PIPE_BUSY) {
		err = fmt.Errorf("%w (%w)", ErrInUse, err)
	}
	if err != nil {
		return nil, fmt.Errorf("pipe %s: %w", path, err)
	}
	return &Listener{l}, nil
}

// Renew does nothing: a named pipe has no file that could be deleted.
func (l *Listener) Renew() (renewed bool, err error) { return false, nil }

// Dial connects to the daemon at path. It returns ErrNobody if nothing listens
// there.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	c, err := winio.DialPipeContext(ctx, Path(path))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, windows.ERROR_FILE_NOT_FOUND) {
		err = fmt.Errorf("%w (%w)", ErrNobody, err)
	}
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", path, err)
	}
	return c, nil
}
