// Package notify tells the system that started the daemon how it is, where
// that system asks for it: the notification protocol of systemd (sd_notify(3)).
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

// What the system says to the daemon in its environment. The programs that the
// daemon starts are none of its business: see [Variables].
const (
	socketVariable   = "NOTIFY_SOCKET"
	intervalVariable = "WATCHDOG_USEC"
	pidVariable      = "WATCHDOG_PID"
)

// Variables returns the names of what [From] reads, so that who starts other
// programs can take them out of their environment.
func Variables() []string { return []string{socketVariable, intervalVariable, pidVariable} }

// A Notifier tells one system. The nil Notifier is that of a daemon whose
// system does not ask: it says nothing, and is never wrong. It is safe for
// concurrent use.
type Notifier struct {
	addr  net.UnixAddr
	limit time.Duration // between two signs of life; 0 if none are awaited
}

// From returns the Notifier that the environment asks for, or nil if it asks for
// none. Pid is the daemon's own: what was meant for another process, which
// started this one, is not ours to answer. It returns an error if what the
// environment says makes no sense.
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

// Ready says that the daemon answers, and in one line how it is.
func (n *Notifier) Ready(status string) error { return n.send("READY=1", "STATUS="+line(status)) }

// Status says in one line how the daemon is.
func (n *Notifier) Status(status string) error { return n.send("STATUS=" + line(status)) }

// Stopping says that the daemon is about to end.
func (n *Notifier) Stopping() error { return n.send("STOPPING=1", "STATUS=stopping") }

// Limit returns how long the system waits for a sign of life before it kills
// the daemon; 0 if it does not.
func (n *Notifier) Limit() time.Duration {
	if n == nil {
		return 0
	}
	return n.limit
}

// Watch gives a sign of life three times within the limit, each time that alive
// returns without error, and says the line it returns as the status. It has a
// third of the limit to do so: who does not answer by then is taken for dead
// only after three such failures. Watch returns when ctx ends, at once if no
// sign is awaited.
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
		return nil //nolint:nilerr // to say nothing is how this is said
	}
	return n.send("WATCHDOG=1", "STATUS="+line(status))
}

// send gives the system its assignments, one datagram.
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

// line keeps a status within the one line it has.
func line(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, s)
}
