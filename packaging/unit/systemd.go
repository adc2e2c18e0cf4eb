package unit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/kardianos/service"

	"github.com/foldwatch/foldwatch/meta/fold"
)

const unitName = Name + ".service"

// A systemd service is a unit of the user's service manager, which we write, or one of
// the machine's, which a package brings.
type systemd struct {
	service.Service
	user bool
	path string // of the unit that we write
}

// Install writes and enables the unit of a user, in the place of one that a package
// brought; it enables that of the machine.
func (s systemd) Install() error {
	unit, err := s.show()
	switch {
	case err != nil:
		return err
	case unit["UnitFileState"] == "masked":
		return fold.WithHint(fmt.Errorf("the service is masked: %w", fold.ErrConflict), strings.Join(s.systemctl("unmask", unitName), " "))
	case !s.user && unit["LoadState"] != "loaded":
		return fold.WithHint(fmt.Errorf("the unit of the machine comes with the packages for Linux, and none is installed: %w", fold.ErrNotFound),
			"install the package; or, of this user and from the start of the machine: foldwatch service install && loginctl enable-linger")
	case !s.user:
		_, err := run(s.systemctl("enable", unitName))
		return err
	}
	return s.Service.Install()
}

// Uninstall removes the unit that we wrote, and disables one of a package.
func (s systemd) Uninstall() error {
	defer func() { _, _ = run(s.systemctl("reset-failed", unitName)) }() // it need not have failed
	if s.user && exists(s.path) {
		return s.Service.Uninstall()
	}
	_, err := run(s.systemctl("disable", unitName))
	return err
}

// Start also starts what has failed too often for systemd.
func (s systemd) Start() error {
	_, _ = run(s.systemctl("reset-failed", unitName)) // it need not have failed
	_, err := run(s.systemctl("start", unitName))
	return err
}

func (s systemd) Restart() error {
	_, _ = run(s.systemctl("reset-failed", unitName))
	_, err := run(s.systemctl("restart", unitName))
	return err
}

func (s systemd) State() (State, error) {
	unit, err := s.show()
	if err != nil { // who is not answered knows at least that the file is there
		return State{Installed: exists(s.path), Path: s.path}, err
	}
	number := func(name string) int {
		n, _ := strconv.Atoi(unit[name])
		return n
	}
	st := State{
		Path: unit["FragmentPath"], State: unit["ActiveState"], Enabled: strings.HasPrefix(unit["UnitFileState"], "enabled"),
		PID: number("MainPID"), Restarts: number("NRestarts"), Says: unit["StatusText"],
	}
	st.Packaged = st.Path != "" && st.Path != s.path
	st.Installed = st.Path != "" && (!st.Packaged || st.Enabled || st.State != "inactive")
	if r := unit["Result"]; r != "success" {
		st.Result, st.Code = r, number("ExecMainStatus")
	}
	return st, nil
}

// show returns the properties of the unit, as its manager has them.
func (s systemd) show() (map[string]string, error) {
	out, err := run(s.systemctl("show", unitName,
		"--property=LoadState,ActiveState,UnitFileState,FragmentPath,MainPID,NRestarts,Result,StatusText,ExecMainStatus"))
	unit := map[string]string{}
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		unit[name] = value
	}
	return unit, err
}

func (s systemd) systemctl(args ...string) []string {
	if s.user {
		return append([]string{"systemctl", "--user"}, args...)
	}
	return append([]string{"systemctl"}, args...)
}

// runTime bounds one program: a start waits until the daemon is ready.
const runTime = 2 * time.Minute

// run runs a program of the system and returns what it prints. An error has the first
// line of that.
func run(argv []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), runTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	b, err := cmd.CombinedOutput()
	out := string(b)
	first, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	switch {
	case err == nil:
		return out, nil
	case errors.Is(err, exec.ErrNotFound):
		return out, fold.WithHint(fmt.Errorf("%s is not on this machine: %w", argv[0], fold.ErrUnavailable), "foldwatch up -d")
	case strings.Contains(out, "connect to bus"):
		return out, fold.WithHint(fmt.Errorf("%s: %w", first, fold.ErrUnavailable),
			"log in as this user, not by su or sudo; or have its service manager started by root: loginctl enable-linger USER; or start foldwatch by hand: foldwatch up -d")
	case strings.Contains(out, "Access denied"), strings.Contains(out, "authentication required"):
		return out, fold.WithHint(fmt.Errorf("%s: %w", first, fold.ErrForbidden), "as root: "+strings.Join(argv, " "))
	}
	return out, fmt.Errorf("%s: %s (%w)", strings.Join(argv, " "), first, err)
}
