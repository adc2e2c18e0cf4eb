//go:build unix

package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/client"
)

// serving is the program under a system that passes it a socket and wants to be
// told, as systemd does.
type serving struct {
	t    *testing.T
	home string
	proc *exec.Cmd
	said bytes.Buffer
}

func newServing(t *testing.T, home string, vars ...string) *serving {
	t.Helper()
	s := &serving{t: t, home: home}
	// LISTEN_PID is known only to the process itself.
	s.proc = exec.CommandContext(t.Context(), "sh", "-c", `LISTEN_PID=$$ exec foldwatch serve`)
	s.proc.Env = append(os.Environ(), append(vars, "FOLDWATCH_HOME="+home, goRace)...)
	s.proc.Stderr = &s.said
	return s
}

func (s *serving) start() {
	s.t.Helper()
	if err := s.proc.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = s.proc.Process.Kill() })
}

// code waits for the end of the program, within the time that systemd gives it.
func (s *serving) code() int {
	s.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- s.proc.Wait() }()
	select {
	case err := <-ended:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			s.t.Fatal(err)
		}
		return s.proc.ProcessState.ExitCode()
	case <-time.After(20 * time.Second):
		_ = s.proc.Process.Kill()
		s.t.Fatalf("it does not end\n%s", s.said.Bytes())
		return -1
	}
}

func TestSystemIsToldAndItsSocketServed(t *testing.T) {
	home := t.TempDir()
	system, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(home, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer system.Close()
	awaited := func(part string) {
		t.Helper()
		b := make([]byte, 4096)
		for {
			_ = system.SetReadDeadline(time.Now().Add(20 * time.Second))
			n, err := system.Read(b)
			if err != nil {
				t.Fatalf("the system was not told %q: %v", part, err)
			}
			if strings.Contains(string(b[:n]), part) {
				return
			}
		}
	}
	at := filepath.Join(home, "given.sock")
	given, err := net.ListenUnix("unix", &net.UnixAddr{Name: at, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer given.Close()
	f, err := given.File()
	if err != nil {
		t.Fatal(err)
	}
	s := newServing(t, filepath.Join(home, "fw"), "NOTIFY_SOCKET="+system.LocalAddr().String(), "WATCHDOG_USEC=300000", "LISTEN_FDS=1")
	s.proc.ExtraFiles = []*os.File{f}
	s.start()
	awaited("READY=1\nSTATUS=no projects")
	awaited("WATCHDOG=1")

	st, err := client.New(at).Status(t.Context())
	if err != nil || st.PID != s.proc.Process.Pid || st.Socket != at {
		t.Errorf("at the socket that was passed: pid %d, socket %s, %v", st.PID, st.Socket, err)
	}
	second := newServing(t, s.home)
	second.start()
	if code := second.code(); code != 5 {
		t.Errorf("a second daemon ends with %d, want 5, which no restart mends\n%s", code, second.said.Bytes())
	}

	if err := s.proc.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	awaited("STOPPING=1")
	if code := s.code(); code != 0 {
		t.Errorf("told to end it ends with %d\n%s", code, s.said.Bytes())
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("to end took %v", took)
	}
	if _, err := os.Lstat(at); err != nil {
		t.Errorf("the system's socket is gone: %v", err)
	}
}

// A restart mends none of these, so that the unit names their codes.
func TestExitCodesThatNoRestartMends(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(home string) error
		want  int
	}{
		"configuration": {func(home string) error {
			dir := filepath.Join(home, "config")
			return errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "config.toml"), []byte("lisen = 1\n"), 0o600))
		}, 2},
		"newer state": {func(home string) error {
			dir := filepath.Join(home, "state")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
			db, err := sql.Open("sqlite", filepath.Join(dir, "state.db"))
			if err != nil {
				return err
			}
			_, err = db.ExecContext(context.Background(), "pragma user_version = 9999")
			return errors.Join(err, db.Close())
		}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			if err := tc.spoil(home); err != nil {
				t.Fatal(err)
			}
			s := newServing(t, home)
			s.start()
			if code := s.code(); code != tc.want {
				t.Errorf("exit code %d, want %d\n%s", code, tc.want, s.said.Bytes())
			}
		})
	}
}
