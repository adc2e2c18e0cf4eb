package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/meta/disk"
)

// TestStopAsksAgainWhatRuns: a daemon that ran beside the service and ended while that
// was stopped is ended, and its pid is left to whoever has it then.
func TestStopAsksAgainWhatRuns(t *testing.T) {
	u := newUnitWard(t, "ActiveState=active", "MainPID=4711", "UnitFileState=enabled")
	u.packaged(true)
	heir := exec.CommandContext(t.Context(), "sleep", "60")
	u.must(heir.Start())
	u.f.pid = heir.Process.Pid
	u.app.daemon.Proc = filepath.Join(u.home, "proc") // it does not say that this is no foldwatch
	u.app.daemon.Dial = func(context.Context) (local.Client, error) {
		if ran, _ := os.ReadFile(u.ran); strings.Contains(string(ran), "stop foldwatch.service") {
			return nil, nil
		}
		return u.f, nil
	}
	if said := u.said(0, "service", "stop"); strings.Contains(said, "it was ended too") {
		t.Errorf("it had ended by itself: %s", said)
	}
	u.must(heir.Process.Kill())
	if err := heir.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("who has the pid now was ended: %v", err)
	}

	// One that ends between the question and the signal.
	if err := u.app.daemon.End(t.Context(), heir.Process.Pid); err != nil {
		t.Errorf("a process that has ended: %v", err)
	}
}

// TestStopWaitsForADaemonThatStarts: it holds the state, or a program has begun to start
// it, and does not answer yet; it is ended like one that does.
func TestStopWaitsForADaemonThatStarts(t *testing.T) {
	for _, name := range []string{"daemon.lock", "start.lock"} {
		u := newUnitWard(t, "ActiveState=inactive", "MainPID=0")
		starts := exec.CommandContext(t.Context(), "sleep", "60")
		u.must(starts.Start())
		u.f.pid = starts.Process.Pid
		u.app.daemon.Proc = filepath.Join(u.home, "proc")
		u.must(os.MkdirAll(u.spec.State, 0o700))
		lock, err := disk.Lock(filepath.Join(u.spec.State, name), fmt.Sprintf("pid %d", u.f.pid))
		u.must(err)
		go func() {
			_ = starts.Wait() // it is told to end
			u.f.gone.Store(true)
			_ = lock.Close()
		}()
		var asked atomic.Int32
		u.app.daemon.Dial = func(context.Context) (local.Client, error) {
			if asked.Add(1) < 4 || u.f.gone.Load() {
				return nil, nil
			}
			return u.f, nil
		}
		u.tells(u.said(0, "service", "stop"), fmt.Sprintf("stopped  pid %d", u.f.pid))
		if !u.f.gone.Load() {
			t.Errorf("%s: it was not ended", name)
		}
		if said := u.said(0, "service", "stop"); !strings.Contains(said, "no daemon runs") {
			t.Errorf("%s: %s", name, said)
		}
	}
}
