//go:build unix

package sock_test

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/foldwatch/foldwatch/api/sock"
)

// echo answers on l until it is closed.
func echo(t *testing.T, l *sock.Listener) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
}

// said fails the test unless what is sent on c comes back.
func said(t *testing.T, c net.Conn, word string) {
	t.Helper()
	if _, err := io.WriteString(c, word); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, len(word))
	if _, err := io.ReadFull(c, b); err != nil || string(b) != word {
		t.Fatalf("came back: %q, %v", b, err)
	}
}

func connect(t *testing.T, path string) net.Conn {
	t.Helper()
	c, err := sock.Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestRenewPutsADeletedSocketInPlaceAgain: whoever is connected notices nothing.
func TestRenewPutsADeletedSocketInPlaceAgain(t *testing.T) {
	t.Parallel()
	for name, loses := range map[string]func(path string) error{
		"the socket": os.Remove,
		"its folder": func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
		"by a move":  func(path string) error { return os.Rename(path, path+".old") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := where(t)
			l := listen(t, path, sock.Options{})
			echo(t, l)
			before := connect(t, path)
			said(t, before, "here")
			if did, err := l.Renew(); did || err != nil {
				t.Fatalf("Renew of what is there = %v, %v", did, err)
			}
			for range 2 { // also what was renewed is
				if err := loses(path); err != nil {
					t.Fatal(err)
				}
				if did, err := l.Renew(); !did || err != nil {
					t.Fatalf("Renew = %v, %v", did, err)
				}
				said(t, before, "still here")
				said(t, connect(t, path), "come later")
			}
			for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
				if info, err := os.Lstat(name); err != nil || info.Mode().Perm() != want {
					t.Errorf("%s: mode %v, %v, want %o", name, info.Mode(), err, want)
				}
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Lstat(path); !os.IsNotExist(err) {
				t.Errorf("socket left behind: %v", err)
			}
			if did, err := l.Renew(); did || err != nil {
				t.Errorf("Renew of what is closed = %v, %v", did, err)
			}
			said(t, before, "to the end")
		})
	}
}

// TestRenewAcceptsWhatWaits: who came just before the file went is served.
func TestRenewAcceptsWhatWaits(t *testing.T) {
	t.Parallel()
	path := where(t)
	l := listen(t, path, sock.Options{})
	waits := connect(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if did, err := l.Renew(); !did || err != nil {
		t.Fatalf("Renew = %v, %v", did, err)
	}
	echo(t, l)
	said(t, waits, "waited")
}

// TestRenewLeavesWhatIsNotOursAlone: another's socket, and what is none.
func TestRenewLeavesWhatIsNotOursAlone(t *testing.T) {
	t.Parallel()
	path := where(t)
	l := listen(t, path, sock.Options{})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if did, err := l.Renew(); did || !errors.Is(err, sock.ErrForeign) {
		t.Errorf("Renew over a file = %v, %v", did, err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "mine" {
		t.Errorf("the file: %q, %v", b, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	other := listen(t, path, sock.Options{})
	echo(t, other)
	if did, err := l.Renew(); did || !errors.Is(err, sock.ErrInUse) {
		t.Errorf("Renew over another's socket = %v, %v", did, err)
	}
	said(t, connect(t, path), "the other")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the other's socket is gone: %v", err)
	}
}

// TestRenewOfTheSystemsSocket: it is the system's as long as its file is there.
func TestRenewOfTheSystemsSocket(t *testing.T) {
	t.Parallel()
	path := where(t)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	l := systems(t, path)
	echo(t, l)
	if did, err := l.Renew(); did || err != nil {
		t.Fatalf("Renew = %v, %v", did, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if did, err := l.Renew(); !did || err != nil {
		t.Fatalf("Renew = %v, %v", did, err)
	}
	said(t, connect(t, path), "found")
}

// TestRenewLeavesTheSystemsFolderAlone: it may be a home, or /run, and stays open to
// whom it was; a socket is put in place only where nobody else can.
func TestRenewLeavesTheSystemsFolderAlone(t *testing.T) {
	t.Parallel()
	for mode, want := range map[os.FileMode]error{0o755: nil, 0o777 | os.ModeSticky: sock.ErrForeign} {
		path := where(t)
		dir := filepath.Dir(path)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		l := systems(t, path)
		defer l.Close()
		if err := errors.Join(os.Chmod(dir, mode), os.Remove(path)); err != nil {
			t.Fatal(err)
		}
		if did, err := l.Renew(); did != (want == nil) || !errors.Is(err, want) {
			t.Errorf("Renew in a folder of mode %v = %v, %v, want %v", mode, did, err, want)
		}
		if info, err := os.Stat(dir); err != nil || info.Mode() != mode|os.ModeDir {
			t.Errorf("the folder has mode %v, %v, want %v", info.Mode(), err, mode)
		}
	}
}
