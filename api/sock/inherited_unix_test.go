//go:build unix

package sock_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/foldwatch/foldwatch/api/sock"
)

// systems returns the listener of a socket that the system made at path.
func systems(t *testing.T, path string) *sock.Listener {
	t.Helper()
	system, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = system.Close() })
	f, err := system.File()
	if err != nil {
		t.Fatal(err)
	}
	l, err := sock.FromFile(f, sock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestInheritedSocketIsServedAndLeftThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l := systems(t, path)
	if got := l.Addr().String(); got != path {
		t.Errorf("Addr = %q, want %q", got, path)
	}
	c, err := sock.Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the system's socket is gone: %v", err)
	}
}

func TestInheritedThingsThatAreNoSocketAreRefused(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	tf, err := tcp.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	plain, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]*os.File{"tcp": tf, "file": plain} {
		if l, err := sock.FromFile(f, sock.Options{}); !errors.Is(err, sock.ErrForeign) {
			t.Errorf("FromFile(%s) = %v, %v, want ErrForeign", name, l, err)
		}
	}
}

func TestInheritedReadsItsEnvironment(t *testing.T) {
	for _, tc := range []struct {
		fds, pid string
		wantErr  bool
	}{
		{"", "", false},
		{"", "7", false},
		{"1", "8", false}, // meant for another process
		{"0", "7", false},
		{"2", "7", true},
		{"x", "7", true},
		{"-1", "7", true},
	} {
		vars := map[string]string{"LISTEN_FDS": tc.fds, "LISTEN_PID": tc.pid}
		l, err := sock.Inherited(func(name string) string { return vars[name] }, 7, sock.Options{})
		if l != nil || (err != nil) != tc.wantErr {
			t.Errorf("Inherited(%v) = %v, %v", vars, l, err)
		}
	}
}
