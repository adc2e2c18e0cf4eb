// Package notify reports the state of the daemon to the service manager, by the
// notification protocol of systemd (sd_notify(3)). It has no state beside the socket, and
// sends a datagram a call.
package notify

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// The environment variables of the protocol. Programs that the daemon starts must not get
// them, see [Variables].
const (
	socketVariable   = "NOTIFY_SOCKET"
	intervalVariable = "WATCHDOG_USEC"
	pidVariable      = "WATCHDOG_PID"
)

// Variables returns the names of the variables that [From] reads, to be removed from the
// environment of other programs.
func Variables() []string { return []string{socketVariable, intervalVariable, pidVariable} }

// A Notifier sends notifications to the service manager. The nil Notifier sends none and
// returns no errors. It is safe for concurrent use.
type Notifier struct {
	addr  net.UnixAddr
	limit time.Duration // watchdog interval; 0 if there is none
}

// From returns the Notifier for the environment, or nil if it asks for none. Pid is that
// of the daemon: variables for another process, which started this one, are ignored. It
// returns an error if the variables are invalid.
func From(getenv func(string) string, pid int) (*Notifier, error) {
	at := getenv(socketVariable)
	if at == "" {
		return nil, nil
	}
	if at[0] != '/' && at[0] != '@' {
		return nil, fmt.Errorf("%s %q is neither a path nor an abstract name", socketVariable, at)
	}
	// Go, too, writes an abstract name with @ in front.
	n := &Notifier{addr: net.UnixAddr{Name: at, Net: "unixgram"}}
	usec := getenv(intervalVariable)
	if usec == "" {
		return n, nil
	}
	us, err := strconv.ParseInt(usec, 10, 64)
	if err != nil || us <= 0 || us > int64(365*24*time.Hour/time.Microsecond) {
		return nil, fmt.Errorf("%s %q is no number of microseconds", intervalVariable, usec)
	}
	if of := getenv(pidVariable); of == "" || of == strconv.Itoa(pid) {
		n.limit = time.Duration(us) * time.Microsecond
	}
	return n, nil
}

// Ready reports that the daemon answers, with a status line.
func (n *Notifier) Ready(status string) error { return n.send("READY=1", "STATUS="+line(status)) }

// Status reports a status line.
func (n *Notifier) Status(status string) error { return n.send("STATUS=" + line(status)) }

// Stopping reports that the daemon is about to end.
func (n *Notifier) Stopping() error { return n.send("STOPPING=1", "STATUS=stopping") }

// Limit returns the watchdog interval, after which the service manager kills a daemon
// that was silent; 0 if there is none.
func (n *Notifier) Limit() time.Duration {
	if n == nil {
		return 0
	}
	return n.limit
}

// Watch calls alive three times within the limit, and if it returns no error within a
// third of the limit, notifies the watchdog with the returned status line. So only three
// failures in a row kill the daemon. Watch returns when ctx ends, at once if there is no
// watchdog.
func (n *Notifier) Watch(ctx context.Context, alive func(context.Context) (status string, err error)) error {
	if n.Limit() == 0 {
		return nil
	}
	every := n.limit / 3
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := n.sign(ctx, every, alive); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (n *Notifier) sign(ctx context.Context, within time.Duration, alive func(context.Context) (string, error)) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	status, err := alive(ctx)
	if err != nil {
		return nil //nolint:nilerr // not to notify is how a failure is reported
	}
	return n.send("WATCHDOG=1", "STATUS="+line(status))
}

// send sends assignments in one datagram.
func (n *Notifier) send(assignments ...string) error {
	if n == nil {
		return nil
	}
	c, err := net.DialUnix("unixgram", nil, &n.addr)
	if err != nil {
		return fmt.Errorf("tell the system: %w", err)
	}
	_, err = c.Write([]byte(strings.Join(assignments, "\n")))
	if err = errors.Join(err, c.Close()); err != nil {
		return fmt.Errorf("tell the system: %w", err)
	}
	return nil
}

// line keeps a status within one line.
func line(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, s)
}
