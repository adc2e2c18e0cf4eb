package usergit_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
)

// asNobody has the calling goroutine look at files as a user who owns none, until
// the test ends, where the test runs as root, who may read everything.
func asNobody(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	runtime.LockOSThread()
	if err := syscall.Setfsuid(65534); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Setfsuid(0) // returns no error
		runtime.UnlockOSThread()
	})
}

// A folder that may not be read, as databases in containers leave them, hides
// what is in it and nothing else; what of it was listed before stays. It runs alone, as
// it is one thread of the process that may read less.
func TestTrackedFilesPassesOverWhatMayNotBeRead(t *testing.T) {
	dir := checkout(t)
	for p := dir; p != "/"; p = filepath.Dir(p) {
		if fi, err := os.Stat(p); err == nil && fi.Mode().Perm()&0o005 == 0 {
			if err := os.Chmod(p, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(t, filepath.Join(dir, "was/open/x.go"), "package x\n")
	write(t, filepath.Join(dir, "dir/new.go"), "package b\n")
	older(t, dir)
	x, _ := lister(t, dir)
	want := []string{"a.go", "dir/b.go", "dir/new.go", "was/open/x.go"}
	list := func(what string, want []string) {
		t.Helper()
		if got, _, err := x.Files(t.Context()); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", what, got, err, want)
		}
	}
	list("all can be read", want)
	write(t, filepath.Join(dir, "data/base/1.go"), "package x\n")
	for _, p := range []string{"data", "was"} {
		if err := os.Chmod(filepath.Join(dir, p), 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, p), 0o755) })
	}
	asNobody(t)
	list("two folders cannot be read", want)
	list("nor the next time", want)
	x.Forget()
	if got, _, err := x.Files(t.Context()); err != nil || !slices.Contains(got, "dir/new.go") {
		t.Errorf("listed anew: %q, %v", got, err)
	}
}

// Nothing in a checkout is trusted: a pipe where the index should be holds nobody
// up (F42).
func TestIndexThatIsAPipe(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	l := locate(t, dir)
	index := filepath.Join(dir, ".git/index")
	if err := os.Remove(index); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(index, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	end() // git itself waits for the pipe until it is ended
	done := make(chan error, 1)
	go func() {
		_, err := l.Files(ctx)
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil {
			t.Error("files were listed")
		}
	case <-time.After(30 * time.Second):
		t.Error("still waiting for the pipe")
	}
}
