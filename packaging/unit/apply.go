package unit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Machine is where steps are done. The zero Machine is this one.
type Machine struct {
	// Root is put before every path; "" but for tests and images.
	Root string
	// Exec runs a program and returns what it prints; nil runs it here.
	Exec func(ctx context.Context, argv []string) (output string, err error)
	// Spec is what the service control manager is told.
	Spec Spec
}

// stepTime bounds one program: a start waits until the daemon is ready.
const stepTime = 2 * time.Minute

// Apply does the steps in order and stops at the first that fails. A file that
// is already as it should be is not written, and nothing is written through a
// link. Folders that are missing are made.
func (m Machine) Apply(ctx context.Context, steps []Step) error {
	for _, st := range steps {
		if err := m.do(ctx, st); err != nil && !st.Optional {
			return fmt.Errorf("%s: %w", st, err)
		}
	}
	return nil
}

func (m Machine) do(ctx context.Context, st Step) error {
	switch {
	case st.Write != "":
		return m.write(filepath.Join(m.Root, st.Write), st.Text)
	case st.Remove != "":
		return m.remove(filepath.Join(m.Root, st.Remove))
	case st.SCM != "":
		return m.scm(st.SCM)
	}
	_, err := m.Output(ctx, st.Run)
	return err
}

func (m Machine) write(path, text string) error {
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // folders of the system, for all to read
		return err
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("there is something that is no file: %w", fold.ErrConflict)
	}
	return disk.WriteFile(path, []byte(text), 0o644)
}

// remove also removes the folders that this leaves empty, up to the one that
// holds units or agents.
func (m Machine) remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if dir := filepath.Dir(path); strings.HasSuffix(dir, ".service.d") {
		_ = os.Remove(dir) // stays if somebody else has a drop-in there
	}
	return nil
}

// Output runs a program and returns what it prints. An error holds its last
// line, and says what to do where a session has no service manager.
func (m Machine) Output(ctx context.Context, argv []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	run := m.Exec
	if run == nil {
		run = execHere
	}
	out, err := run(ctx, argv)
	if err == nil {
		return out, nil
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	last := strings.TrimSpace(lines[0])
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return out, fold.WithHint(fmt.Errorf("%s is not on this machine: %w", argv[0], fold.ErrUnavailable), byHand)
	case strings.Contains(out, "not been booted with systemd"):
		what, hint := m.instead()
		return out, fold.WithHint(fmt.Errorf("systemd does not run on this machine (%s): %w", what, fold.ErrUnavailable), hint)
	case strings.Contains(out, "connect to bus"):
		return out, fold.WithHint(fmt.Errorf("%s: %w", last, fold.ErrUnavailable),
			"log in as this user, not by su or sudo; or have its manager started by root: loginctl enable-linger "+cmp.Or(m.Spec.Account, "USER")+"; or start foldwatch by hand: foldwatch up -d")
	}
	return out, fmt.Errorf("%s (%w)", last, err)
}

// execHere runs a program as a session would: where a login by su or cron has no
// XDG_RUNTIME_DIR, the user's service manager is found at its usual place.
func execHere(ctx context.Context, argv []string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	if os.Getenv("XDG_RUNTIME_DIR") == "" {
		if dir := fmt.Sprintf("/run/user/%d", os.Getuid()); isDir(dir) {
			cmd.Env = append(cmd.Env, "XDG_RUNTIME_DIR="+dir)
		}
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
