package gitops_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops"
)

// sharedHome names the home of all tests, to processes that tests start too.
const sharedHome = "FOLDWATCH_TEST_HOME"

// TestMain gives all tests one machine of their own: no configuration of the real
// one. Since nobody changes it they may run side by side. What needs another
// environment (logins, no identity, no git) takes it by isolate or Setenv, and then
// runs alone.
func TestMain(m *testing.M) {
	if os.Getenv(sharedHome) != "" { // the child of a test has it from there
		os.Exit(m.Run())
	}
	os.Exit(atHome(m))
}

// gitConfig is the user's own configuration in every test. Without it each commit of a
// test starts two programs that find nothing to tidy.
const gitConfig = "[user]\n\tname = Ann\n\temail = ann@example.org\n[init]\n\tdefaultBranch = main\n[maintenance]\n\tauto = false\n"

// homeEnv is the environment of whoever lives at home.
func homeEnv(home string) map[string]string {
	return map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config"),
		"GIT_CONFIG_GLOBAL": filepath.Join(home, ".gitconfig"), "GIT_CONFIG_NOSYSTEM": "1",
	}
}

func atHome(m *testing.M) (code int) {
	home, err := os.MkdirTemp(os.Getenv("GOTMPDIR"), "foldwatch-home-") // beside those of T.TempDir, as reachable as they are
	if err == nil {
		defer os.RemoveAll(home)
		err = furnish(home)
	}
	if err == nil {
		code = m.Run()
		err = untouched(home)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the home of all tests:", err)
		code = max(code, 1)
	}
	return code
}

// furnish writes the configuration as of an hour ago, since a time stamp that is as
// young as the look at it proves nothing, and moves in.
func furnish(home string) error {
	config, then := filepath.Join(home, ".gitconfig"), time.Now().Add(-time.Hour)
	err := errors.Join(os.Chmod(home, 0o755), os.WriteFile(config, []byte(gitConfig), 0o644), os.Setenv(sharedHome, home))
	for name, value := range homeEnv(home) {
		err = errors.Join(err, os.Setenv(name, value))
	}
	return errors.Join(err, os.Chtimes(config, then, then), os.Chtimes(home, then, then))
}

// untouched finds out who changed what all tests share.
func untouched(home string) error {
	b, err := os.ReadFile(filepath.Join(home, ".gitconfig"))
	if err == nil && string(b) != gitConfig {
		err = fmt.Errorf("a test that is not isolated changed the configuration to\n%s", b)
	}
	return errors.Join(err, filepath.WalkDir(home, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != ".gitconfig" {
			err = fmt.Errorf("a test that is not isolated wrote %s", p)
		}
		return err
	}))
}

// isolate gives the test a home of its own, to change as it likes. It cannot be
// parallel to others.
func isolate(t testing.TB) {
	t.Helper()
	home := t.TempDir()
	for name, value := range homeEnv(home) {
		t.Setenv(name, value)
	}
	write(t, filepath.Join(home, ".gitconfig"), gitConfig)
}

// program writes a script and makes it one that can be run. No program is started
// meanwhile: until it runs it would hold the file open, and a file that somebody may
// write to is one that nobody can run (golang/go#22315).
func program(t testing.TB, path, text string) {
	t.Helper()
	func() {
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		write(t, path, text)
	}()
	must(t, os.Chmod(path, 0o755))
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return b
}

// remember writes a memory and has it recorded in the journal.
func remember(t testing.TB, s *gitops.Store, title, body string) (path string) {
	t.Helper()
	id, b := memoryFile(title, body)
	_, err := s.Put(t.Context(), gitops.Write{ID: id, New: b, Author: "claude"})
	must(t, err)
	_, err = s.Commit(t.Context(), nil, "")
	must(t, err)
	return id.Path()
}
