package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/meta/disk"
)

// TestServeWaitsForADaemonThatStops starts while the state is still held by one
// that does not answer any more, and again while one answers.
func TestServeWaitsForADaemonThatStops(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIP: runs a daemon")
	}
	home := t.TempDir()
	newOne := func() *App {
		app := newApp(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
		app.Getenv = func(name string) string { return map[string]string{"FOLDWATCH_HOME": home}[name] }
		app.config.Environ = nil
		return app
	}
	app := newOne()
	st, err := app.config.Settings()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(st.Dirs.State, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := disk.Lock(filepath.Join(st.Dirs.State, "daemon.lock"), "pid 1")
	if err != nil {
		t.Fatal(err)
	}
	looked := make(chan struct{}, 1)
	dial := app.daemon.Dial
	app.daemon.Dial = func(ctx context.Context) (local.Client, error) {
		select {
		case looked <- struct{}{}:
		default:
		}
		return dial(ctx)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- serve(ctx, app, serveOptions{OnReady: func(string) { close(ready) }}) }()
	late := time.After(time.Minute)
	for range 2 { // it looks again, so it did not give up
		select {
		case <-looked:
		case err := <-done:
			t.Fatalf("it does not wait: %v", err)
		case <-late:
			t.Fatal("it does not look who holds the state")
		}
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ready:
	case err := <-done:
		t.Fatalf("it does not start: %v", err)
	case <-late:
		t.Fatal("it does not start")
	}
	began := time.Now()
	if err := serve(ctx, newOne(), serveOptions{}); err == nil || !strings.Contains(err.Error(), "another daemon runs already") {
		t.Errorf("beside one that answers: %v", err)
	}
	if took := time.Since(began); took >= stopDeadline {
		t.Errorf("it waited %v for one that answers", took)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestDaemonThatEndsWhileItIsAsked: one that was killed takes connections until the
// system has taken it apart. It is no daemon, and no error.
func TestDaemonThatEndsWhileItIsAsked(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	app := newApp(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
	app.Getenv = func(name string) string { return map[string]string{"FOLDWATCH_HOME": home}[name] }
	app.config.Environ = nil
	paths, err := app.daemon.SocketPaths()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(paths[0]), 0o700); err != nil {
		t.Fatal(err)
	}
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", paths[0])
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	for range 5 { // it is told in one of several ways
		if c, err := app.daemon.Dialed(t.Context()); c != nil || err != nil {
			t.Fatalf("dialSocket = %v, %v, want neither a client nor an error", c, err)
		}
	}
}
