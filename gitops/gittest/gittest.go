// Package gittest makes the repositories and the home that tests of several
// packages work in: no test reads or changes the configuration of the machine.
package gittest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// sharedHome names the home of all tests, to processes that tests start too.
const sharedHome = "FOLDWATCH_TEST_HOME"

// Main runs the tests of a package in a home of their own, and fails if one of them
// changed it: so they may run side by side. What needs another environment (logins,
// no identity, no git) takes it by Isolate or t.Setenv, and then runs alone. Call it
// from TestMain.
func Main(m *testing.M) (code int) {
	defer func() {
		if template.dir != "" {
			_ = os.RemoveAll(template.dir) // of this process alone
		}
	}()
	if os.Getenv(sharedHome) != "" { // the child of a test has it from there
		return m.Run()
	}
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

// furnish writes the configuration as of an hour ago, since a time stamp that is as
// young as the look at it proves nothing, and points the environment at the home.
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

// Isolate gives the test a home of its own, to change as it likes. It cannot be
// parallel to others.
func Isolate(t testing.TB) {
	t.Helper()
	home := t.TempDir()
	for name, value := range homeEnv(home) {
		t.Setenv(name, value)
	}
	Write(t, filepath.Join(home, ".gitconfig"), gitConfig)
}

// Git runs git in dir and returns what it prints, without white space around it.
func Git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// Write writes a file and makes the folders it lies in.
func Write(t testing.TB, path, text string) {
	t.Helper()
	Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	Must(t, os.WriteFile(path, []byte(text), 0o644))
}

// Read returns the bytes of a file.
func Read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	Must(t, err)
	return b
}

// Must ends the test if there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Program writes a script and makes it one that can be run. No program is started
// meanwhile: until it runs it would hold the file open, and a file that somebody may
// write to is one that nobody can run (golang/go#22315).
func Program(t testing.TB, path, text string) {
	t.Helper()
	func() {
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		Write(t, path, text)
	}()
	Must(t, os.Chmod(path, 0o755))
}

// RealDir returns a new folder by a path without symlinks.
func RealDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	Must(t, err)
	return dir
}

// template is a repository that Checkout copies: git would take ten times as long to
// make it again.
var template struct {
	once sync.Once
	dir  string
	err  error
}

// Checkout returns a new repository with one commit, of a.go and dir/b.go, on main.
// A test that was given another environment makes its own.
func Checkout(t testing.TB) string {
	t.Helper()
	dir := RealDir(t)
	if os.Getenv("HOME") != os.Getenv(sharedHome) {
		fill(t, dir)
		return dir
	}
	template.once.Do(func() {
		if template.dir, template.err = os.MkdirTemp(os.Getenv("GOTMPDIR"), "foldwatch-template-"); template.err == nil { //nolint:usetesting // it outlives this test
			fill(t, template.dir)
		}
	})
	Must(t, template.err)
	Must(t, os.CopyFS(dir, os.DirFS(template.dir)))
	Git(t, dir, "update-index", "-q", "--refresh") // its stat data is that of the files copied from
	return dir
}

// fill makes a repository of dir.
func fill(t testing.TB, dir string) {
	t.Helper()
	Git(t, dir, "init", "-q", ".")
	Write(t, filepath.Join(dir, "a.go"), "package a\n")
	Write(t, filepath.Join(dir, "dir/b.go"), "package b\n")
	Git(t, dir, "add", ".")
	Git(t, dir, "commit", "-qm", "first\n\nwhy it was made")
}

// Beside returns a new repository with one commit of its own, of s.go.
func Beside(t testing.TB) string {
	t.Helper()
	dir := RealDir(t)
	Git(t, dir, "init", "-q", ".")
	Write(t, filepath.Join(dir, "s.go"), "package s\n")
	Git(t, dir, "add", ".")
	Git(t, dir, "commit", "-qm", "sub")
	return dir
}

// WaitFor waits up to ten seconds until ok.
func WaitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited too long for %s", what)
		}
	}
}

// Snapshot returns every file below dir with its bytes, mode and time, without
// fold/ and .git/foldwatch.
func Snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	Must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		rel = filepath.ToSlash(rel)
		if rel == "fold" || rel == ".git/foldwatch" {
			return fs.SkipDir
		}
		if d.IsDir() {
			out[rel] = "dir"
			return nil
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		b, err := os.ReadFile(p)
		out[rel] = fmt.Sprintf("%v %v %x", fi.Mode(), fi.ModTime().UnixNano(), b)
		return err
	}))
	return out
}

// Unchanged reports what differs between two snapshots.
func Unchanged(t testing.TB, before, after map[string]string) {
	t.Helper()
	for p, was := range before {
		if after[p] != was {
			t.Errorf("%s changed", p)
		}
	}
	for p := range after {
		if _, ok := before[p]; !ok {
			t.Errorf("%s is new", p)
		}
	}
}
