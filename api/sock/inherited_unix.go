//go:build unix

package sock

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// firstInherited is the first descriptor that systemd passes (sd_listen_fds(3)).
const firstInherited = 3

// InheritedVariables returns the names of the variables that [Inherited] reads, to be
// removed from the environment of other programs.
func InheritedVariables() []string { return []string{"LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"} }

// Inherited returns the listener that the service manager opened for the process pid, or
// nil if there is none. Peers are checked as by [Listen]; the socket file belongs to the
// system and stays after Close, see also [Listener.Renew]. It returns ErrForeign if it is
// not one listening unix socket.
func Inherited(getenv func(string) string, pid int, opt Options) (*Listener, error) {
	passed := getenv("LISTEN_FDS")
	if passed == "" || passed == "0" || getenv("LISTEN_PID") != strconv.Itoa(pid) {
		return nil, nil // none, or meant for our parent
	}
	if passed != "1" {
		return nil, fmt.Errorf("LISTEN_FDS %q: one socket is expected: %w", passed, ErrForeign)
	}
	unix.CloseOnExec(firstInherited)
	return fromFile(os.NewFile(firstInherited, "inherited socket"), opt)
}

// fromFile makes a listener of an open socket, and closes f.
func fromFile(f *os.File, opt Options) (*Listener, error) {
	ln, err := net.FileListener(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("inherited socket: %w (%w)", ErrForeign, err)
	}
	l, ok := ln.(*net.UnixListener)
	if !ok || l.Addr().Network() != "unix" || l.Addr().String() == "" {
		return nil, errors.Join(fmt.Errorf("inherited socket %s (%s) is no unix socket with a path: %w", ln.Addr(), ln.Addr().Network(), ErrForeign), ln.Close())
	}
	l.SetUnlinkOnClose(false)
	return &Listener{path: l.Addr().String(), system: true, net: l, log: opt.log()}, nil
}
