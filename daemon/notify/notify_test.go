//go:build unix

package notify_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/daemon/notify"
)

// listen is the system: a real socket, and what is said there.
func listen(t *testing.T) (path string, next func() string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "n")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return path, func() string {
		t.Helper()
		if err := c.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 4096)
		n, err := c.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
}

func environment(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestTellsReadyStatusAndStopping(t *testing.T) {
	t.Parallel()
	path, next := listen(t)
	n, err := notify.From(environment(map[string]string{"NOTIFY_SOCKET": path}), 7)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		say  func() error
		want string
	}{
		{func() error { return n.Ready("2 projects") }, "READY=1\nSTATUS=2 projects"},
		{func() error { return n.Status("a\nREADY=0") }, "STATUS=a READY=0"},
		{n.Stopping, "STOPPING=1\nSTATUS=stopping"},
	} {
		if err := tc.say(); err != nil {
			t.Fatal(err)
		}
		if got := next(); got != tc.want {
			t.Errorf("the system was told %q, want %q", got, tc.want)
		}
	}
}

func TestNobodyAsksNobodyIsTold(t *testing.T) {
	t.Parallel()
	n, err := notify.From(environment(nil), 7)
	if n != nil || err != nil {
		t.Fatalf("From(nothing) = %v, %v", n, err)
	}
	if err := errors.Join(n.Ready("x"), n.Status("x"), n.Stopping(), n.Watch(t.Context(), nil)); err != nil {
		t.Error(err)
	}
}

func TestSystemThatIsGoneIsAnError(t *testing.T) {
	t.Parallel()
	n, err := notify.From(environment(map[string]string{"NOTIFY_SOCKET": filepath.Join(t.TempDir(), "gone")}), 7)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Ready("x"); err == nil {
		t.Error("Ready to a socket that is not there succeeded")
	}
}

func TestWatchSignsWhileAlive(t *testing.T) {
	t.Parallel()
	path, next := listen(t)
	n, err := notify.From(environment(map[string]string{"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "60000", "WATCHDOG_PID": "7"}), 7)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var asked atomic.Int64
	ended := make(chan error, 1)
	go func() {
		ended <- n.Watch(ctx, func(context.Context) (string, error) {
			switch asked.Add(1) {
			case 1:
				return "1 project", nil
			case 2:
				return "", errors.New("does not answer") // says nothing
			default:
				return "3 projects", nil
			}
		})
	}()
	for _, want := range []string{"WATCHDOG=1\nSTATUS=1 project", "WATCHDOG=1\nSTATUS=3 projects"} {
		if got := next(); got != want {
			t.Errorf("the system was told %q, want %q", got, want)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A hung daemon must not wait for its own answer for ever.
func TestWatchBoundsTheQuestion(t *testing.T) {
	t.Parallel()
	path, next := listen(t)
	n, err := notify.From(environment(map[string]string{"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "30000"}), 7)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var asked atomic.Int64
	go func() {
		_ = n.Watch(ctx, func(ctx context.Context) (string, error) {
			if asked.Add(1) == 1 {
				<-ctx.Done()
				return "", ctx.Err()
			}
			return "back", nil
		})
	}()
	if got, want := next(), "WATCHDOG=1\nSTATUS=back"; got != want {
		t.Errorf("the system was told %q, want %q", got, want)
	}
}

func TestFromRefusesWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	for _, vars := range []map[string]string{
		{"NOTIFY_SOCKET": "relative"},
		{"NOTIFY_SOCKET": "/n", "WATCHDOG_USEC": "soon"},
		{"NOTIFY_SOCKET": "/n", "WATCHDOG_USEC": "-5"},
		{"NOTIFY_SOCKET": "/n", "WATCHDOG_USEC": "9223372036854775807"},
	} {
		if n, err := notify.From(environment(vars), 7); err == nil {
			t.Errorf("From(%v) = %v, want an error", vars, n)
		}
	}
	other := map[string]string{"NOTIFY_SOCKET": "/n", "WATCHDOG_USEC": "30000", "WATCHDOG_PID": "8"}
	if n, err := notify.From(environment(other), 7); err != nil || n.Limit() != 0 {
		t.Errorf("From(%v): limit %v, %v; the watchdog is another's", other, n.Limit(), err)
	}
}
