package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/doctor"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/meta/disk"
)

// TestWhereABugReportGoes: not where the next commit takes it along, unless one says so;
// and to standard output.
func TestWhereABugReportGoes(t *testing.T) {
	w := newWard(t)
	if code := w.run("bugreport"); code != exitOK {
		t.Fatalf("exit code %d: %s", code, w.err.String())
	}
	if path := strings.TrimSpace(w.out.String()); filepath.Dir(path) != w.state() || !local.Exists(path) {
		t.Errorf("it is at %q", path)
	}
	if left, err := filepath.Glob(filepath.Join(w.co, "*.json")); err != nil || len(left) > 0 {
		t.Errorf("the checkout has %v, %v", left, err)
	}
	w.out.Reset()
	if code := w.run("bugreport", "-o", "-"); code != exitOK || !strings.HasPrefix(w.out.String(), "{\n") || !strings.Contains(w.out.String(), strconv.Quote("daemon")) {
		t.Errorf("-o -: exit code %d, %s", code, w.out.String())
	}
	if local.Exists(filepath.Join(w.co, "-")) {
		t.Error("there is a file called -")
	}
}

// TestBugReportFollowsNoLinkOfOthers: among temporary files, which others write too, it
// overwrites nothing that a link under its name leads to.
func TestBugReportFollowsNoLinkOfOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIP: folders of temporary files are each user's own")
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	w := newWard(t)
	w.vars["FOLDWATCH_HOME"] = os.DevNull // in which no folder is
	w.app.config.Forget()
	mine, foreseen := filepath.Join(w.home, "mine"), "foldwatch-bugreport-"+w.app.now().UTC().Format("20060102-150405")+".json"
	w.write(mine, "mine\n")
	if err := os.Symlink(mine, filepath.Join(temp, foreseen)); err != nil {
		t.Skipf("SKIP: no links are made here: %v", err)
	}
	path, err := reportFile(w.app, "")
	if err == nil {
		err = disk.WriteFile(path, []byte("{}\n"), 0o600)
	}
	if b, rerr := os.ReadFile(mine); err != nil || rerr != nil || string(b) != "mine\n" {
		t.Errorf("the report went to %s, %v; the file that is linked holds %q, %v", path, err, b, rerr)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm()&0o077 != 0 || !strings.HasPrefix(path, temp) {
		t.Errorf("the report is at %s: %v, %v", path, info, err)
	}
}

// TestCompletionOfAnUnknownShell names those that there are.
func TestCompletionOfAnUnknownShell(t *testing.T) {
	tr := newTrial(t, twoProjects(), t.TempDir())
	if code := tr.run("completion", "tcsh"); code != exitUsage || !strings.Contains(tr.err.String(), `no completion for "tcsh"`) || !strings.Contains(tr.err.String(), "bash, fish, powershell, zsh") {
		t.Errorf("exit code %d, %s%s", code, tr.err.String(), tr.out.String())
	}
}

// TestSetupWithoutAHome says what is missing, and what to do.
func TestSetupWithoutAHome(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIP: HOME is of unix")
	}
	t.Setenv("HOME", "")
	tr := newTrial(t, twoProjects(), t.TempDir())
	if code := tr.run("setup", "cursor"); code == exitOK || !strings.Contains(tr.err.String(), "home folder") || !strings.Contains(tr.err.String(), "hint: set HOME") {
		t.Errorf("exit code %d, %s", code, tr.err.String())
	}
}

// TestHomeThatCannotBeWritten: what it is that cannot, and what to do, and nothing is
// offered that would fail so too.
func TestHomeThatCannotBeWritten(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIP: modes of unix are made here")
	}
	w := newWard(t)
	w.app.daemon.Dial = nobody
	ro := filepath.Join(w.home, "ro")
	w.must(os.Mkdir(ro, 0o500))
	if os.Geteuid() == 0 { // whom no mode keeps out: a file where the folder should be does
		w.must(os.Remove(ro))
		w.write(ro, "")
	}
	w.vars["FOLDWATCH_HOME"] = filepath.Join(ro, "fw")
	w.app.config.Forget()
	if code := w.run("status"); code == exitOK || !strings.Contains(w.err.String(), filepath.Join(ro, "fw", "state")+" cannot be written: ") || !strings.Contains(w.err.String(), "set FOLDWATCH_HOME") {
		t.Errorf("status: exit code %d, %s", code, w.err.String())
	}
	if found := w.look("daemon", false); !has(found, doctor.Fail, "cannot be written") || found[0].Fix != "" {
		t.Errorf("daemon: %+v", found)
	}
}

// TestFolderThatCannotBeRead is not taken for one that is not there, or no repository.
func TestFolderThatCannotBeRead(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("SKIP: modes keep nobody out on Windows, nor root")
	}
	w := newWard(t)
	w.must(os.Chmod(w.co, 0))
	t.Cleanup(func() { _ = os.Chmod(w.co, 0o700) }) //nolint:gosec // a folder, to be removed
	for _, path := range []string{w.co, filepath.Join(w.co, "deep")} {
		w.err.Reset()
		if code := w.run("add", path); code != 6 || !strings.Contains(w.err.String(), "cannot be read by you") {
			t.Errorf("add %s: exit code %d, %s", path, code, w.err.String())
		}
	}
}
