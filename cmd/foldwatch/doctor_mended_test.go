package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/sock"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/doctor"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// nobody is a dial that finds no daemon.
func nobody(context.Context) (local.Client, error) { return nil, nil }

// shortHome has everything lie where a path is short enough for a socket.
func (w *ward) shortHome() string {
	w.t.Helper()
	dir, err := os.MkdirTemp("", "fw")
	w.must(err)
	w.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w.vars["FOLDWATCH_HOME"] = dir
	return dir
}

// TestDoctorOfASilentDaemon: one that takes connections and never answers keeps neither
// doctor nor a bug report nor another command waiting, and is what doctor tells of.
func TestDoctorOfASilentDaemon(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIP: a socket of unix is made here")
	}
	w := newWard(t)
	dir := w.shortHome()
	st, err := w.app.config.Settings()
	w.must(err)
	w.must(os.MkdirAll(st.Dirs.State, 0o700))
	ln, err := sock.Listen(st.Dirs.Socket, sock.Options{}) // the system takes connections
	w.must(err)
	t.Cleanup(func() { _ = ln.Close() })
	lock, err := disk.Lock(filepath.Join(st.Dirs.State, "daemon.lock"), "pid 4711")
	w.must(err)
	t.Cleanup(func() { _ = lock.Close() })
	w.old(filepath.Join(st.Dirs.State, "daemon.lock.holder"))
	w.app.daemon.Dial, w.app.daemon.Timeout = w.app.daemon.DialSocket, 30*time.Millisecond

	for _, args := range [][]string{{"doctor"}, {"bugreport", "-o", filepath.Join(dir, "report.json")}, {"projects"}} {
		done := make(chan int, 1)
		go func() { done <- w.run(args...) }()
		select {
		case code := <-done:
			if args[0] != "bugreport" && code == exitOK {
				t.Errorf("%s: exit code 0", args[0])
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s waits for a daemon that does not answer", args[0])
		}
	}
	for _, want := range []string{"pid 4711 holds the state for 1h", "does not answer within 30ms; it is stopped, or stuck", "kill 4711, or kill -9"} {
		if !strings.Contains(w.out.String(), want) {
			t.Errorf("doctor does not say %q:\n%s", want, w.out.String())
		}
	}
}

// TestLockOfWhoIsStarting: what may still be starting is not ended by --fix, and what
// has been silent for longer than any start is.
func TestLockOfWhoIsStarting(t *testing.T) {
	w := newWard(t)
	w.kernel("4711/cmdline", "/usr/bin/foldwatch\x00serve\x00")
	w.kernel("4711/environ", "A=b\x00")
	lock, err := disk.Lock(w.state("daemon.lock"), "pid 4711")
	w.must(err)
	t.Cleanup(func() { _ = lock.Close() })
	w.app.daemon.Dial = nobody
	for age, fix := range map[time.Duration]bool{time.Minute: false, time.Hour: true} {
		at := time.Now().Add(-age)
		w.must(os.Chtimes(w.state("daemon.lock.holder"), at, at))
		found := w.look("lock", false)
		if !has(found, doctor.Fail, "pid 4711 holds the state") || (found[0].Fix != "") != fix {
			t.Errorf("for %s: %+v", age, found)
		}
	}
	if !local.Exists(w.state("daemon.lock.holder")) {
		t.Error("to look took the holder's note away")
	}
}

// TestDeafDaemonIsEnded: one that runs, and whose socket is gone, is named by every
// command that looks for it, with its pid, and ended by --fix.
func TestDeafDaemonIsEnded(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIP: a named pipe cannot be deleted")
	}
	w := newWard(t)
	daemon := exec.CommandContext(t.Context(), "sleep", "60")
	w.must(daemon.Start())
	pid := strconv.Itoa(daemon.Process.Pid)
	w.kernel(pid+"/cmdline", "/usr/bin/foldwatch\x00serve\x00")
	w.kernel(pid+"/environ", "A=b\x00")
	lock, err := disk.Lock(w.state("daemon.lock"), "pid "+pid)
	w.must(err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = daemon.Wait() // it was told to end
		_ = lock.Close()
	}()
	w.app.daemon.Dial = nobody
	w.write(w.state("socket"), "/gone/foldwatch.sock\n")
	before := time.Now().Add(-time.Minute)
	w.must(os.Chtimes(w.state("socket"), before, before))
	if d := w.app.daemon.Unreachable(); d != nil {
		t.Fatalf("one that is starting: %v", d)
	}
	w.write(w.state("socket"), "/gone/foldwatch.sock\n")

	began := time.Now()
	_, err = w.app.daemon.Connect(t.Context())
	if took := time.Since(began); took > local.StartDeadline/4 {
		t.Errorf("it took %v to say so", took)
	}
	if want := "pid " + pid + "), and cannot be reached: its socket /gone/foldwatch.sock is not there any more"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("connect: %v, want %q", err, want)
	}
	if hint := fold.Hint(err); !strings.Contains(hint, "kill "+pid) {
		t.Errorf("hint %q", hint)
	}
	found := w.look("lock", true)
	if !has(found, doctor.Fixed, "is not there any more") {
		t.Fatalf("--fix: %+v", found)
	}
	<-ended
	if found := w.look("lock", false); has(found, doctor.Fail, "") {
		t.Errorf("after it was mended: %+v", found)
	}
}

// TestNoDaemonIsStartedAgainstAutoStart: --fix obeys it too.
func TestNoDaemonIsStartedAgainstAutoStart(t *testing.T) {
	w := newWard(t)
	w.app.config.Environ, w.app.daemon.Dial = []string{"FOLDWATCH_AUTO_START=false"}, nobody
	if found := w.look("daemon", false); len(found) != 1 || found[0].Status != doctor.Fail || found[0].Fix != "" {
		t.Errorf("%+v", found)
	}
}

// sickMended is what was once told wrongly, or not at all.
func sickMended() []sick {
	return []sick{
		{check: "lock", name: "holder unknown", status: doctor.Warn, text: "does not say what it is", make: func(w *ward) {
			was := w.app.daemon.Dial
			w.app.daemon.Dial = nobody
			lock, err := disk.Lock(w.state("daemon.lock"), "somebody")
			w.must(err)
			w.old(w.state("daemon.lock.holder"))
			w.mend = func() { w.must(lock.Close()); w.app.daemon.Dial = was }
		}},
		{check: "lock", name: "socket file, to be written anew", status: doctor.Warn, text: "nothing answers any more", fixes: true, make: func(w *ward) {
			w.app.daemon.Dial = nobody
			w.write(w.state("socket"), "/gone/foldwatch.sock\n")
		}},
		{check: "history", name: "slow", status: doctor.Skipped, text: "takes longer than 100ms", make: func(w *ward) {
			l, err := usergit.Locate(w.t.Context(), w.co)
			w.must(err)
			w.must(os.MkdirAll(l.Journal(), 0o700))
			was := w.app.git
			w.app.git = 100 * time.Millisecond
			real, err := exec.LookPath("git")
			w.must(err)
			w.onPath("git", `case "$*" in *fsck*) echo error: interrupted >&2; exec sleep 20;; esac; exec `+terminal.Quote(real)+` "$@"`)
			unpath := w.mend
			w.mend = func() { unpath(); w.app.git = was; w.must(os.RemoveAll(l.Journal())) }
		}},
	}
}

// TestNoSecretOfAHelper: of a credential helper no more than its name is told.
func TestNoSecretOfAHelper(t *testing.T) {
	for _, helper := range []string{`!f() { echo password=ghp_secret; }; f`, "nowhere --password ghp_secret", "!nowhere ghp_secret", `/no\ where/x ghp_secret`} {
		w := newWard(t)
		w.write(filepath.Join(w.co, ".git", "config"), "[core]\n\trepositoryformatversion = 0\n[credential]\n\thelper = \""+strings.ReplaceAll(helper, `\`, `\\`)+"\"\n")
		w.sync(wire.Repository{Sync: "on", Remote: "https://example.invalid/zoo.git"})
		found := w.look("credentials", false)
		for _, f := range found {
			if f.Status == doctor.Fail || strings.Contains(f.Text+f.Mend, "secret") {
				t.Errorf("%s: %+v", helper, f)
			}
		}
		if judged := strings.HasPrefix(helper, "nowhere "); has(found, doctor.Warn, "is not to be found") != judged {
			t.Errorf("%s: %+v", helper, found)
		}
	}
}

// TestOneRebuildForAllDifferences: what one rebuild mends costs one.
func TestOneRebuildForAllDifferences(t *testing.T) {
	w := newWard(t)
	w.f.drift = wire.Drift{Differences: []string{"2 vectors are of what has no row", "1 file has no row"}}
	found := w.look("index", true)
	if !has(found, doctor.Fixed, "2 vectors are of what has no row; 1 file has no row") {
		t.Errorf("%+v", found)
	}
	if n := strings.Count(strings.Join(w.f.asked, "\n"), "reindex"); n != 1 {
		t.Errorf("%d rebuilds: %v", n, w.f.asked)
	}
}

// TestFilesTheIndexLacks are named, with the command that brings them, which is no
// rebuild.
func TestFilesTheIndexLacks(t *testing.T) {
	w := newWard(t)
	w.f.drift = wire.Drift{Behind: []string{`files not in the index: 1, first ["fresh.go"]`}}
	found := w.look("index", false)
	if !has(found, doctor.Fail, `zoo: files not in the index: 1, first ["fresh.go"]`) || found[0].Mend != "foldwatch index -p zoo" {
		t.Errorf("%+v", found)
	}
	if found = w.look("index", true); !has(found, doctor.Fixed, "fresh.go") {
		t.Errorf("%+v", found)
	}
	if asked := strings.Join(w.f.asked, "\n"); strings.Count(asked, "reindex") != 1 || !strings.Contains(asked, "rebuild=false") {
		t.Errorf("asked for: %s", asked)
	}
}

// TestEmbedderIsReachedAsTheDaemonDoes: no connection to a provider that the project
// may not use, or that is called by way of a proxy; and no key in what is told.
func TestEmbedderIsReachedAsTheDaemonDoes(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := ln.Addr().String()
	_ = ln.Close()
	for name, tc := range map[string]struct {
		url, allow, proxy string
		fails             bool
	}{
		"with a key":  {"http://user:secret@" + at, "", "", true},
		"not allowed": {"https://nowhere.invalid", "", "", false},
		"by a proxy":  {"https://nowhere.invalid", "[projects.zoo]\nproviders = [\"mine\"]\n", "http://" + at, false},
	} {
		w := newWard(t)
		w.write(filepath.Join(w.vars["FOLDWATCH_HOME"], "config", "config.toml"),
			"[embedding]\nprovider = \"mine\"\nmodel = \"m\"\n[providers.mine]\nkind = \"ollama\"\nurl = \""+tc.url+"\"\n"+tc.allow)
		w.vars["HTTPS_PROXY"] = tc.proxy
		w.f.state.Embedder = &wire.Embedder{Provider: "mine", Model: "m", Dimension: 384}
		found := w.look("embedder", false)
		if has(found, doctor.Fail, "cannot be reached") != tc.fails || has(found, doctor.Fail, "secret") || has(found, doctor.Skipped, "") {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// TestAgentsEntryIsNotTakenOver: --fix writes no entry anew whose program is there, and
// none for a program that was only built to be tried.
func TestAgentsEntryIsNotTakenOver(t *testing.T) {
	for name, tc := range map[string]struct {
		ours, its string
		fix       bool
	}{
		"its program is gone":  {"/opt/foldwatch/foldwatch", "/gone/foldwatch", true},
		"its program is there": {"/opt/foldwatch/foldwatch", "git", false},
		"ours is temporary":    {filepath.Join(os.TempDir(), "go-build1", "foldwatch"), "/gone/foldwatch", false},
	} {
		w := newWard(t)
		w.app.program = func() (string, error) { return tc.ours, nil }
		file := filepath.Join(w.home, ".cursor", "mcp.json")
		w.write(file, `{"mcpServers": {"foldwatch": {"command": "`+tc.its+`", "args": ["mcp"]}}}`)
		if found := w.look("agents", true); has(found, doctor.Fixed, "lies elsewhere") != tc.fix || has(found, doctor.Warn, "lies elsewhere") == tc.fix {
			t.Errorf("%s: %+v", name, found)
		}
	}
}
