package unit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// A task starts the daemon when the user logs on to Windows, in that session: a service
// would not have the user's credentials.
type task struct{ path, text string }

func (t *task) Install() error {
	if err := os.MkdirAll(filepath.Dir(t.path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(t.path, []byte(t.text), 0o600); err != nil {
		return err
	}
	return t.schtasks("/Create", "/XML", t.path, "/F")
}

func (t *task) Uninstall() error {
	if err := t.schtasks("/Delete", "/F"); err != nil {
		return err
	}
	if err := os.Remove(t.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (t *task) Start() error { return t.schtasks("/Run") }
func (t *task) Stop() error  { return t.schtasks("/End") }

func (t *task) Restart() error {
	_ = t.Stop() // it may have ended
	return t.Start()
}

// State does not say whether the daemon runs: a task does not know what it started.
func (t *task) State() (State, error) {
	if !exists(t.path) {
		return State{}, nil
	}
	return State{Installed: true, Path: t.path, Enabled: true}, nil
}

func (t *task) schtasks(verb string, args ...string) error {
	_, err := run(append([]string{"schtasks", verb, "/TN", Name}, args...))
	return err
}
