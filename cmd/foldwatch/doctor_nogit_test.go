package main

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/doctor"
)

// TestWithoutGit that is told once, and nothing is made up about what git would say.
func TestWithoutGit(t *testing.T) {
	w := newWard(t)
	t.Setenv("PATH", w.home)
	w.vars["PATH"] = w.home
	w.sync(wire.Repository{Sync: "on", Remote: "https://example.invalid/zoo.git"})
	w.run("doctor")
	told := 0
	for line := range strings.Lines(w.out.String()) {
		if (strings.Contains(line, " fail ") || strings.Contains(line, " warn ")) && strings.Contains(line, "git") {
			told++
		}
	}
	if told != 1 || !strings.Contains(w.out.String(), " fail     git            there is no git program") {
		t.Errorf("doctor says:\n%s", w.out.String())
	}
	for _, name := range []string{"identity", "credentials", "git-lock", "history", "branch", "merge-driver"} {
		if found := w.look(name, false); len(found) != 1 || !has(found, doctor.Skipped, "see check 7") {
			t.Errorf("%s: %+v", name, found)
		}
	}
	w.app.daemon.Dial = nobody
	w.app.config.Environ = []string{"FOLDWATCH_AUTO_START=false"}
	if found := w.look("packers", false); !has(found, doctor.Skipped, "no git program") {
		t.Errorf("without a daemon: %+v", found)
	}
}

// TestCheckoutOfAnotherUser: to register it would fail, and it is said how it can be.
func TestCheckoutOfAnotherUser(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() != 0 {
		t.Skip("SKIP: needs root to give a folder away")
	}
	w := newWard(t)
	w.f.projects = nil
	w.must(os.Chown(w.co, 12345, 12345))
	found := w.look("folder", false)
	if !has(found, doctor.Fail, "belongs to another user") || !strings.Contains(found[0].Mend, "safe.directory "+w.co) {
		t.Errorf("folder: %+v", found)
	}
	w.f.projects = map[string]string{"zoo": w.co}
	if found := w.look("identity", false); !has(found, doctor.Skipped, "see check 21") {
		t.Errorf("identity: %+v", found)
	}
	if found := w.look("history", false); !strings.Contains(found[0].Mend, "safe.directory") {
		t.Errorf("history: %+v", found)
	}
}
