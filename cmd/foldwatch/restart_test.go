package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
)

// A daemonWithoutStatus is one that cannot be restarted: who it is, it does not say.
type daemonWithoutStatus struct{ *fakeDaemon }

func (daemonWithoutStatus) Status(context.Context) (wire.Status, error) {
	return wire.Status{}, errors.New("no status today")
}

// TestRestartKeepsNobodyWaiting: a program at a terminal is not asked, who does not
// answer is not waited for, and a restart that fails does not end the command.
func TestRestartKeepsNobodyWaiting(t *testing.T) {
	trialOf := func() *trial {
		f := twoProjects()
		f.version = "0.0.1"
		tr := newTrial(t, f, filepath.FromSlash("/src/app"))
		tr.app.daemon.Dial = func(context.Context) (local.Client, error) { return daemonWithoutStatus{f}, nil }
		tr.app.TTY = func(any) bool { return true }
		tr.app.Stdin = strings.NewReader("y\n")
		return tr
	}
	const question = "Restart it now? [y/N]"

	tr := trialOf()
	tr.app.TTY = func(stream any) bool { return stream != tr.app.Stdout }
	if code := tr.run("projects"); code != exitOK || strings.Contains(tr.err.String(), question) {
		t.Errorf("with stdout read by a program: exit code %d, %s", code, tr.err.String())
	}
	tr = trialOf()
	if code := tr.run("projects", "--json"); code != exitOK || strings.Contains(tr.err.String(), question) {
		t.Errorf("--json: exit code %d, %s", code, tr.err.String())
	}
	tr = trialOf()
	if code := tr.run("projects"); code != exitOK || !strings.Contains(tr.err.String(), "was not restarted: no status today") || tr.out.Len() == 0 {
		t.Errorf("a restart that fails: exit code %d, %s", code, tr.err.String())
	}

	if runtime.GOOS == "windows" {
		t.Skip("SKIP: a pipe is no console")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	tr = trialOf()
	tr.app.Stdin, tr.app.daemon.AnswerWithin = r, 20*time.Millisecond
	done := make(chan int, 1)
	go func() { done <- tr.run("projects") }()
	select {
	case code := <-done:
		if code != exitOK || !strings.Contains(tr.err.String(), question) {
			t.Errorf("no answer: exit code %d, %s", code, tr.err.String())
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it waits for an answer")
	}
}
