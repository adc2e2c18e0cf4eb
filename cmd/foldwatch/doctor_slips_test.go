package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/doctor"
)

// TestSlipInTheConfiguration: it is told with its place and what to do, keeps no other
// check and no --fix from being made, and no command from what a daemon that runs says.
func TestSlipInTheConfiguration(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIP: modes of unix are made here")
	}
	w := newWard(t)
	file := filepath.Join(w.vars["FOLDWATCH_HOME"], "config", "config.toml")
	w.write(file, "auto_stat = false\nstrength_weight = 7\n")
	w.must(os.Chmod(w.state(), 0o755))

	found := w.look("configuration", false)
	if len(found) != 2 || !has(found, doctor.Fail, file+`:1: unknown key "auto_stat", did you mean "auto_start"`) || !has(found, doctor.Fail, file+":2: strength_weight") || found[0].Mend != "edit "+file {
		t.Errorf("configuration: %+v", found)
	}
	for _, name := range []string{"daemon", "state-folder", "disk-space", "clock", "listen", "index"} {
		if found := w.look(name, false); slices.ContainsFunc(found, func(f doctor.Result) bool { return f.Status == doctor.Skipped }) {
			t.Errorf("%s: %+v", name, found)
		}
	}
	if found := w.look("state-folder", true); !has(found, doctor.Fixed, "can be read by other users") {
		t.Errorf("--fix: %+v", found)
	}

	// Another daemon would not start: that which runs is left alone, and none is offered.
	w.f.version = "0.0.1"
	if found := w.look("version", true); !has(found, doctor.Fail, "the daemon is 0.0.1") || has(found, doctor.Fixed, "") {
		t.Errorf("version: %+v", found)
	}
	w.app.TTY = func(any) bool { return true }
	w.app.Stdin = strings.NewReader("y\n")
	w.app.config.Forget()
	if code := w.run("projects"); code != exitOK || strings.Contains(w.err.String(), "Restart it now?") {
		t.Errorf("projects: exit code %d, %s", code, w.err.String())
	}
	if told := w.err.String(); !strings.Contains(told, file+":1: ") || !strings.Contains(told, "and 1 more: foldwatch doctor") {
		t.Errorf("projects does not tell of the slips: %s", told)
	}
	w.f.version = fullVersion()
	if code := w.run("status", "--check"); code != exitDegraded || !strings.Contains(w.out.String(), "zoo") {
		t.Errorf("status --check: exit code %d\n%s", code, w.out.String())
	}

	// Where none runs, none starts; that is told once, and not as a fault of its own.
	w.app.daemon.Dial = nobody
	if found := w.look("daemon", true); len(found) != 1 || !has(found, doctor.Fail, "see check 2") {
		t.Errorf("daemon: %+v", found)
	}
}

// TestOlderProgramLeavesTheDaemon: what is older than the daemon does not end it, by
// itself or when asked to.
func TestOlderProgramLeavesTheDaemon(t *testing.T) {
	w := newWard(t)
	w.f.version = "99.1.0"
	found := w.look("version", true)
	if len(found) != 1 || !has(found, doctor.Fail, "this program is older than the daemon") || !strings.Contains(found[0].Mend, "update it") {
		t.Errorf("doctor --fix: %+v", found)
	}
	w.app.TTY = func(any) bool { return true }
	w.app.Stdin = strings.NewReader("y\n")
	if code := w.run("projects"); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if told := w.err.String(); strings.Contains(told, "Restart it now?") || strings.Count(told, "update this program") != 1 {
		t.Errorf("projects says %q", told)
	}
}

// TestStoresThatAreOpening are waited for, and nothing is told of what they hold until
// they are open.
func TestStoresThatAreOpening(t *testing.T) {
	w := newWard(t)
	w.f.state.State = "starting"
	asked := 0
	w.app.wait = func(context.Context, time.Duration) error {
		if asked++; asked == 3 {
			w.f.state.State, w.f.state.Files = "ready", wire.FileCounts{Indexed: 12}
		}
		return nil
	}
	if found := w.look("projects", false); len(found) != 1 || !has(found, doctor.OK, "zoo: 12 files") || asked != 3 {
		t.Errorf("after %d looks: %+v", asked, found)
	}

	w.f.state = wire.ProjectStatus{Slug: "zoo", Path: w.co, State: "starting", Watch: "events"}
	w.f.drift = wire.Drift{Differences: []string{"1 file has no row"}}
	w.app.wait = func(context.Context, time.Duration) error { return nil }
	for _, name := range []string{"projects", "index"} {
		if found := w.look(name, true); len(found) != 1 || !has(found, doctor.Skipped, "still opening") {
			t.Errorf("%s of what opens for long: %+v", name, found)
		}
	}
}
