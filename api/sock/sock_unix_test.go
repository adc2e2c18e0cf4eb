//go:build unix

package sock_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/foldwatch/foldwatch/api/sock"
)

func where(t *testing.T) string {
	return sock.Path(filepath.Join(t.TempDir(), "run", "foldwatch.sock"))
}

func listen(t *testing.T, path string, opt sock.Options) *sock.Listener {
	t.Helper()
	l, err := sock.Listen(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestOwnerGetsInAndModesAreTight(t *testing.T) {
	path := where(t)
	l := listen(t, path, sock.Options{})
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, _ = c.Write([]byte("hi"))
			_ = c.Close()
		}
	}()
	c, err := sock.Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if b, err := io.ReadAll(c); err != nil || string(b) != "hi" {
		t.Errorf("read %q, %v", b, err)
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
	if _, err := sock.Dial(t.Context(), path); !errors.Is(err, sock.ErrNobody) {
		t.Errorf("Dial nobody: %v", err)
	}
}

func TestDeadSocketOfOursIsReplaced(t *testing.T) {
	path := where(t)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	_ = dead.Close()
	if _, err := sock.Dial(t.Context(), path); !errors.Is(err, sock.ErrNobody) {
		t.Errorf("Dial a dead socket: %v", err)
	}
	listen(t, path, sock.Options{})
}

func TestWhatIsNotOurDeadSocketIsLeftAlone(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"file":    func(p string) error { return os.WriteFile(p, []byte("mine"), 0o600) },
		"folder":  func(p string) error { return os.Mkdir(p, 0o700) },
		"fifo":    func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"symlink": func(p string) error { return os.Symlink("/dev/null", p) },
	} {
		t.Run(name, func(t *testing.T) {
			path := where(t)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := put(path); err != nil {
				t.Fatal(err)
			}
			before, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := sock.Listen(path, sock.Options{}); !errors.Is(err, sock.ErrForeign) {
				t.Errorf("Listen: %v", err)
			}
			if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) {
				t.Errorf("it was replaced: %v", err)
			}
		})
	}
	t.Run("live", func(t *testing.T) {
		path := where(t)
		l := listen(t, path, sock.Options{})
		go func() {
			if c, err := l.Accept(); err == nil {
				_ = c.Close()
			}
		}()
		if _, err := sock.Listen(path, sock.Options{}); !errors.Is(err, sock.ErrInUse) {
			t.Errorf("Listen: %v", err)
		}
	})
	t.Run("linked folder", func(t *testing.T) {
		real, link := t.TempDir(), filepath.Join(t.TempDir(), "l")
		if err := os.Symlink(real, link); err != nil {
			t.Fatal(err)
		}
		if _, err := sock.Listen(filepath.Join(link, "s"), sock.Options{}); !errors.Is(err, sock.ErrForeign) {
			t.Errorf("Listen: %v", err)
		}
	})
}

func TestCloseLeavesAReplacedSocketAlone(t *testing.T) {
	path := where(t)
	first := listen(t, path, sock.Options{})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	listen(t, path, sock.Options{})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the second socket is gone: %v", err)
	}
}

func TestLongPathsGetAShortName(t *testing.T) {
	long := filepath.Join("/home", strings.Repeat("x", 100), "foldwatch.sock")
	short := sock.Path(long)
	if len(short) > 100 || short == long || short != sock.Path(long) || short == sock.Path(long+"2") {
		t.Errorf("Path(%q) = %q", long, short)
	}
	if got := sock.Path("/run/x.sock"); got != "/run/x.sock" {
		t.Errorf("Path of a short one = %q", got)
	}
}

// TestConnectAsOther is no test: it is the other program of the next one.
func TestConnectAsOther(t *testing.T) {
	path := os.Getenv("SOCK_TEST_CONNECT")
	if path == "" {
		t.Skip("runs as part of TestAnotherUserIsRefused")
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("no connection: %v", err)
	}
	if b, err := io.ReadAll(c); len(b) > 0 || err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("read %q, %v", b, err)
	}
}

// TestAnotherUserIsRefused connects as nobody to a socket that is open to all.
func TestAnotherUserIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to become another user")
	}
	dir, err := os.MkdirTemp("/tmp", "fw") //nolint:usetesting // the other user cannot pass the folders above t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other")
	if err := os.WriteFile(other, program, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "run", "s")
	var log bytes.Buffer
	l := listen(t, path, sock.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	for name, mode := range map[string]os.FileMode{dir: 0o755, filepath.Dir(path): 0o755, path: 0o666} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	accepted := make(chan error, 1)
	go func() {
		_, err := l.Accept()
		accepted <- err
	}()
	cmd := exec.CommandContext(t.Context(), other, "-test.run=^TestConnectAsOther$")
	cmd.Dir, cmd.Env = "/", []string{"SOCK_TEST_CONNECT=" + path}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the other user: %v\n%s", err, out)
	}
	_ = l.Close()
	if err := <-accepted; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept: %v", err)
	}
	if !strings.Contains(log.String(), "uid=65534") {
		t.Errorf("log = %s", log.String())
	}
}
