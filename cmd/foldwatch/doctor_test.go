package main

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/sock"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/doctor"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/packaging/unit"
)

// A ward is a machine of its own to be looked at: home, variables, a checkout with
// memories, and a daemon that says what the test has it say.
type ward struct {
	*trial
	t    *testing.T
	f    *fakeDaemon
	vars map[string]string
	home string
	co   string // the checkout
	mend func() // what a person does, after a finding
}

func newWard(t *testing.T) *ward {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIP: needs git")
	}
	w := &ward{t: t, home: t.TempDir(), co: filepath.Join(t.TempDir(), "zoo")}
	w.f = &fakeDaemon{version: fullVersion(), projects: map[string]string{"zoo": w.co}, jobs: []wire.Job{{Status: "completed"}}}
	w.f.state = wire.ProjectStatus{Slug: "zoo", Path: w.co, State: "ready", Watch: "events", Mode: "sidecar", Sync: "off"}
	w.trial = newTrial(t, w.f, w.co)
	w.vars = map[string]string{"FOLDWATCH_HOME": filepath.Join(w.home, "fw"), "HOME": w.home, "PATH": os.Getenv("PATH")}
	w.app.Getenv = func(name string) string { return w.vars[name] }
	w.app.root = filepath.Join(w.home, "root")           // no unit of this machine is looked at
	w.app.daemon.Proc = filepath.Join(w.home, "no-proc") // and no process
	w.app.program = func() (string, error) { return filepath.FromSlash("/opt/foldwatch/foldwatch"), nil }
	w.app.wait = func(context.Context, time.Duration) error { return nil }
	w.write(filepath.Join(w.home, ".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.invalid\n")
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(w.home, ".gitconfig"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("HOME", w.home)
	w.must(os.MkdirAll(filepath.Join(w.vars["FOLDWATCH_HOME"], "state"), 0o700))
	w.must(os.MkdirAll(w.co, 0o700))
	// As git init makes it, without a process for each of many tests.
	w.write(filepath.Join(w.co, ".git", "HEAD"), "ref: refs/heads/main\n")
	w.write(filepath.Join(w.co, ".git", "config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n")
	w.must(os.MkdirAll(filepath.Join(w.co, ".git", "objects"), 0o700))
	w.must(os.MkdirAll(filepath.Join(w.co, ".git", "refs", "heads"), 0o700))
	w.write(filepath.Join(w.co, "fold", ".gitignore"), gitops.IgnoreText)
	w.write(filepath.Join(w.co, "fold", "project.toml"), "[project]\n")
	return w
}

func (w *ward) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *ward) write(path, text string) {
	w.t.Helper()
	w.must(os.MkdirAll(filepath.Dir(path), 0o700))
	w.must(os.WriteFile(path, []byte(text), 0o600))
}

func (w *ward) git(args ...string) {
	w.t.Helper()
	if out, err := exec.CommandContext(w.t.Context(), "git", append([]string{"-C", w.co}, args...)...).CombinedOutput(); err != nil {
		w.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// old makes a file as old as something that was left behind.
func (w *ward) old(path string) {
	w.t.Helper()
	at := time.Now().Add(-time.Hour)
	w.must(os.Chtimes(path, at, at))
}

func (w *ward) state(parts ...string) string {
	return filepath.Join(append([]string{w.vars["FOLDWATCH_HOME"], "state"}, parts...)...)
}

// look makes one check, after those that it needs.
func (w *ward) look(name string, fix bool) []doctor.Result {
	w.t.Helper()
	w.app.config.Forget()
	found := doctor.RunOne(w.t.Context(), w.app.doctorHost(), name, fix)
	if found == nil {
		w.t.Fatalf("no check is called %q", name)
	}
	return found
}

func has(found []doctor.Result, status, text string) bool {
	return slices.ContainsFunc(found, func(f doctor.Result) bool { return f.Status == status && strings.Contains(f.Text, text) })
}

// sick describes one way in which a check fails.
type sick struct {
	check, name string
	status      string // doctor.Fail or doctor.Warn
	text        string // of the finding
	make        func(w *ward)
	fixes       bool // --fix mends it; else w.mend does
}

// TestEachCheckFailsAndIsMended has every check of doctor find something, with real
// files, sockets and git, and then find it mended.
func TestEachCheckFailsAndIsMended(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIP: modes and sockets of unix are made here")
	}
	all := slices.Concat(sickMachine(), sickDaemon(), sickService(), sickCheckout(), sickMended())
	seen := map[string]bool{}
	for _, s := range all {
		seen[s.check] = true
		t.Run(s.check+"/"+s.name, func(t *testing.T) {
			w := newWard(t)
			if s.check == "socket" {
				w.listen()
			}
			if found := w.look(s.check, false); slices.ContainsFunc(found, func(f doctor.Result) bool { return f.Status == doctor.Fail }) {
				t.Fatalf("before anything is wrong: %+v", found)
			}
			s.make(w)
			found := w.look(s.check, false)
			if !has(found, s.status, s.text) {
				t.Fatalf("%+v, want %s with %q", found, s.status, s.text)
			}
			if i := slices.IndexFunc(found, doctor.Result.NeedsAction); i >= 0 && found[i].Mend == "" {
				t.Errorf("it does not say what to do: %+v", found[i])
			}
			if s.fixes {
				if found := w.look(s.check, true); !slices.ContainsFunc(found, func(f doctor.Result) bool { return f.Status == doctor.Fixed && f.Fix != "" }) {
					t.Fatalf("--fix: %+v", found)
				}
			} else {
				w.mend()
			}
			if found := w.look(s.check, false); has(found, s.status, s.text) {
				t.Errorf("after it was mended: %+v", found)
			}
		})
	}
	for _, name := range doctor.Names() {
		if !seen[name] {
			t.Errorf("nothing makes the check %s fail", name)
		}
	}
}

// sickMachine is what may be wrong with the machine and what lies on it.
func sickMachine() []sick {
	return []sick{
		{check: "program", status: doctor.Warn, text: "without parsers", make: func(w *ward) {
			was := w.app.parsers
			w.app.parsers, w.mend = func() string { return "text" }, func() { w.app.parsers = was }
		}},
		{check: "configuration", name: "key", status: doctor.Fail, text: "lisen", make: func(w *ward) {
			file := filepath.Join(w.vars["FOLDWATCH_HOME"], "config", "config.toml")
			w.write(file, "lisen = \"\"\n")
			w.mend = func() { w.write(file, "listen = \"\"\n") }
		}},
		{check: "configuration", name: "mode", status: doctor.Fail, text: "other users may write", fixes: true, make: func(w *ward) {
			file := filepath.Join(w.vars["FOLDWATCH_HOME"], "config", "config.toml")
			w.write(file, "listen = \"\"\n")
			w.must(os.Chmod(file, 0o666))
		}},
		{check: "configuration", name: "no home", status: doctor.Fail, text: "HOME", make: func(w *ward) {
			was := w.vars
			w.vars = map[string]string{"PATH": was["PATH"]}
			w.mend = func() { w.vars = was }
		}},
		{check: "variables", status: doctor.Warn, text: "PORT is set", make: func(w *ward) {
			w.vars["PORT"] = "8080"
			w.mend = func() { delete(w.vars, "PORT") }
		}},
		{check: "state-folder", name: "mode", status: doctor.Fail, text: "can be read by other users", fixes: true, make: func(w *ward) {
			w.must(os.Chmod(w.state(), 0o755))
		}},
		{check: "state-folder", name: "file", status: doctor.Fail, text: "is not a folder", make: func(w *ward) {
			w.must(os.Remove(w.state()))
			w.write(w.state(), "")
			w.mend = func() { w.must(os.Remove(w.state())) }
		}},
		{check: "state-folder", name: "cannot be made", status: doctor.Fail, text: "cannot be made", make: func(w *ward) {
			was := w.vars["FOLDWATCH_HOME"]
			w.write(filepath.Join(w.home, "x"), "")
			w.vars["FOLDWATCH_HOME"] = filepath.Join(w.home, "x", "fw")
			w.must(os.Remove(filepath.Join(w.home, "x")))
			w.must(os.Symlink(filepath.Join(w.home, "nowhere"), filepath.Join(w.home, "x")))
			w.mend = func() { w.vars["FOLDWATCH_HOME"] = was }
		}},
		{check: "disk-space", status: doctor.Fail, text: "1 MB free", make: func(w *ward) {
			was := w.app.free
			w.app.free, w.mend = func(string) (int64, error) { return 1 << 20, nil }, func() { w.app.free = was }
		}},
		{check: "clock", name: "year", status: doctor.Fail, text: "2001-02-03", make: func(w *ward) {
			w.app.now = func() time.Time { return time.Date(2001, 2, 3, 0, 0, 0, 0, time.UTC) }
			w.mend = func() { w.app.now = time.Now }
		}},
		{check: "clock", name: "set back", status: doctor.Fail, text: "written 3h from now", make: func(w *ward) {
			log := w.state("daemon.log")
			w.write(log, "")
			at := time.Now().Add(3*time.Hour + 10*time.Minute)
			w.must(os.Chtimes(log, at, at))
			w.mend = func() { w.old(log) }
		}},
		{check: "git", name: "old", status: doctor.Fail, text: "git 2.20.1", make: func(w *ward) {
			w.onPath("git", "echo git version 2.20.1")
		}},
		{check: "git", name: "none", status: doctor.Fail, text: "no git program", make: func(w *ward) {
			was := os.Getenv("PATH")
			w.t.Setenv("PATH", w.home)
			w.mend = func() { w.t.Setenv("PATH", was) }
		}},
		{check: "open-files", status: doctor.Fail, text: "may open 256 files", make: func(w *ward) {
			w.kernel("1/limits", "Limit                     Soft Limit           Hard Limit           Units     \nMax open files            256                  256                  files     \n")
		}},
		{check: "open-files", name: "used up", status: doctor.Fail, text: "has 9 of 10", make: func(w *ward) {
			for i := range 9 {
				w.kernel("1/fd/"+strconv.Itoa(i), "")
			}
			w.kernel("1/limits", "Max open files            10                  10                  files     \n")
		}},
		{check: "watches", name: "limit", status: doctor.Fail, text: "may watch 50 folders", make: func(w *ward) {
			w.kernel("sys/fs/inotify/max_user_watches", "50\n")
		}},
		{check: "watches", name: "instances", status: doctor.Fail, text: "may have 16 watchers", make: func(w *ward) {
			w.kernel("sys/fs/inotify/max_user_watches", "65536\n")
			w.kernel("sys/fs/inotify/max_user_instances", "16\n")
		}},
		{check: "watches", name: "polling", status: doctor.Fail, text: "zoo is watched by polling", make: func(w *ward) {
			w.f.state.Watch, w.f.state.WatchReason = "polling", "the limit of inotify watches is reached"
			w.mend = func() { w.f.state.Watch = "events" }
		}},
		{check: "agents", status: doctor.Warn, text: "lies elsewhere", fixes: true, make: func(w *ward) {
			w.write(filepath.Join(w.home, ".cursor", "mcp.json"), `{"mcpServers": {"foldwatch": {"command": "/gone/foldwatch", "args": ["mcp"]}}}`)
		}},
	}
}

// onPath puts a script in front of what PATH has, until it is mended.
func (w *ward) onPath(name, script string) {
	w.t.Helper()
	dir := filepath.Join(w.home, "bin")
	w.must(os.MkdirAll(dir, 0o700))
	w.must(os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700)) //nolint:gosec // it must run
	was := os.Getenv("PATH")
	w.t.Setenv("PATH", dir+string(filepath.ListSeparator)+was)
	w.mend = func() { w.t.Setenv("PATH", was) }
}

// kernel has the kernel tell something else, until it is mended.
func (w *ward) kernel(name, text string) {
	w.t.Helper()
	w.app.daemon.Proc = filepath.Join(w.home, "proc")
	w.write(filepath.Join(w.app.daemon.Proc, filepath.FromSlash(name)), text)
	w.mend = func() { w.app.daemon.Proc = filepath.Join(w.home, "no-proc") }
}

// sickDaemon is what may be wrong with the daemon and how it is reached.
func sickDaemon() []sick {
	return []sick{
		{check: "lock", name: "held", status: doctor.Fail, text: "pid 4711 holds the state for 1h", make: func(w *ward) {
			was := w.app.daemon.Dial
			w.app.daemon.Dial = func(context.Context) (local.Client, error) { return nil, nil }
			lock, err := disk.Lock(w.state("daemon.lock"), "pid 4711")
			w.must(err)
			w.old(w.state("daemon.lock.holder"))
			w.mend = func() { w.must(lock.Close()); w.app.daemon.Dial = was }
		}},
		{check: "lock", name: "socket file", status: doctor.Fail, text: "nothing answers any more", fixes: true, make: func(w *ward) {
			w.app.config.Environ = []string{"FOLDWATCH_AUTO_START=false"}
			w.app.daemon.Dial = func(context.Context) (local.Client, error) { return nil, nil }
			w.write(w.state("socket"), "/gone/foldwatch.sock\n")
		}},
		{check: "daemon", status: doctor.Fail, text: "auto_start is off", make: func(w *ward) {
			was := w.app.daemon.Dial
			w.app.config.Environ = []string{"FOLDWATCH_AUTO_START=false"}
			w.app.daemon.Dial = func(context.Context) (local.Client, error) { return nil, nil }
			w.mend = func() { w.app.daemon.Dial = was }
		}},
		{check: "daemon", name: "socket of another", status: doctor.Fail, text: "the socket cannot be used", make: func(w *ward) {
			was := w.app.daemon.Dial
			w.app.daemon.Dial = func(context.Context) (local.Client, error) { return nil, sock.ErrForeign }
			w.mend = func() { w.app.daemon.Dial = was }
		}},
		{check: "other-daemon", status: doctor.Warn, text: "pid 4711, with /elsewhere as FOLDWATCH_HOME", make: func(w *ward) {
			w.kernel("4711/cmdline", "/usr/bin/foldwatch\x00serve\x00--log-file\x00")
			w.kernel("4711/environ", "A=b\x00FOLDWATCH_HOME=/elsewhere\x00")
			w.kernel("12/cmdline", "/usr/bin/foldwatch\x00mcp\x00")
		}},
		{check: "version", status: doctor.Fail, text: "the daemon is 0.0.1", make: func(w *ward) {
			w.f.version = "0.0.1"
			w.mend = func() { w.f.version = fullVersion() }
		}},
		{check: "socket", name: "mode", status: doctor.Fail, text: "open to other users", fixes: true, make: func(w *ward) {
			w.must(os.Chmod(w.f.whole.Socket, 0o666))
		}},
		{check: "socket", name: "folder", status: doctor.Fail, text: "open to other users", fixes: true, make: func(w *ward) {
			w.must(os.Chmod(filepath.Dir(w.f.whole.Socket), 0o755))
		}},
		{check: "listen", status: doctor.Fail, text: "listen is 127.0.0.1:7350", make: func(w *ward) {
			w.app.config.Environ = []string{"FOLDWATCH_LISTEN=127.0.0.1:7350"}
			w.mend = func() { w.f.whole.Listen = "http://127.0.0.1:7350" }
		}},
		{check: "folder", status: doctor.Warn, text: "is not registered", make: func(w *ward) {
			w.f.projects = nil
			w.mend = func() { w.f.projects = map[string]string{"zoo": w.co} }
		}},
		{check: "folder", name: "not ours", status: doctor.Warn, text: "is not a fold of ours", make: func(w *ward) {
			w.f.projects = nil
			w.must(os.Remove(filepath.Join(w.co, "fold", "project.toml")))
			w.mend = func() { w.f.projects = map[string]string{"zoo": w.co} }
		}},
		{check: "projects", name: "missing", status: doctor.Fail, text: "zoo is missing", make: func(w *ward) {
			w.f.state.State, w.f.state.Reason, w.f.state.Hint = "missing", "its folder is not there", "mount it again"
			w.mend = func() { w.f.state.State = "ready" }
		}},
		{check: "projects", name: "quarantine", status: doctor.Fail, text: "fold/a.md: line 3", make: func(w *ward) {
			w.f.state.Problems = []wire.FileProblem{{Path: "fold/a.md", State: "quarantined", Reason: "line 3"}}
			w.mend = func() { w.f.state.Problems = nil }
		}},
		{check: "sync", name: "paused", status: doctor.Fail, text: "sync is paused: the remote rejected", make: func(w *ward) {
			w.sync(wire.Repository{Sync: "paused", Stopped: "policy", Reason: "the remote rejected the push", Hint: "allow it"})
		}},
		{check: "sync", name: "unpushed", status: doctor.Fail, text: "2 memories not pushed since", make: func(w *ward) {
			since := time.Now().Add(-48 * time.Hour)
			w.sync(wire.Repository{Sync: "on", Unpushed: 2, UnpushedSince: &since})
		}},
		{check: "embedder", name: "dimension", status: doctor.Fail, text: "embedding.dimension is 768, and the vectors that answer have 384", make: func(w *ward) {
			w.provider("http://127.0.0.1:1")
			w.app.config.Environ = []string{"FOLDWATCH_EMBEDDING_DIMENSION=768"}
			w.f.state.Embedder = &wire.Embedder{Provider: "mine", Model: "m", Dimension: 384}
			w.mend = func() { w.f.state.Embedder.Dimension = 768 }
		}},
		{check: "embedder", name: "unreachable", status: doctor.Fail, text: "cannot be reached", make: func(w *ward) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			w.must(err)
			at := ln.Addr().String()
			w.must(ln.Close())
			w.provider("http://" + at)
			w.f.state.Embedder = &wire.Embedder{Provider: "mine", Model: "m", Dimension: 384}
			w.mend = func() {
				ln, err := net.Listen("tcp", at)
				w.must(err)
				w.t.Cleanup(func() { _ = ln.Close() })
			}
		}},
		{check: "index", status: doctor.Fail, text: "2 vectors are of what has no row", fixes: true, make: func(w *ward) {
			w.f.drift = wire.Drift{Differences: []string{"2 vectors are of what has no row any more"}}
		}},
	}
}

// listen has a socket be where the daemon says its own is.
func (w *ward) listen() {
	w.t.Helper()
	w.f.whole.Socket = filepath.Join(w.shortHome(), "foldwatch.sock")
	ln, err := sock.Listen(w.f.whole.Socket, sock.Options{})
	w.must(err)
	w.t.Cleanup(func() { _ = ln.Close() })
}

// sync has the project be synced, as r says, until it is mended.
func (w *ward) sync(r wire.Repository) {
	w.f.state.Sync, w.f.state.Repository = r.Sync, &r
	w.mend = func() {
		now := time.Now()
		w.f.state.Repository = &wire.Repository{Sync: "on", Remote: r.Remote, LastPush: &now}
	}
}

// provider has the user file choose a model elsewhere.
func (w *ward) provider(at string) {
	w.t.Helper()
	w.write(filepath.Join(w.vars["FOLDWATCH_HOME"], "config", "config.toml"),
		"[embedding]\nprovider = \"mine\"\nmodel = \"m\"\n[providers.mine]\nkind = \"ollama\"\nurl = \""+at+"\"\n")
}

// sickService is what may be wrong with the service and what the daemon has of a session.
func sickService() []sick {
	systemctl := func(w *ward, properties ...string) {
		w.onPath("systemctl", "printf '%s\\n' LoadState=loaded UnitFileState=enabled Result=success FragmentPath="+
			filepath.Join(w.home, ".config", "systemd", "user", "foldwatch.service")+" "+strings.Join(properties, " "))
	}
	onLinux := func(make func(w *ward)) func(w *ward) {
		return func(w *ward) {
			if runtime.GOOS != "linux" {
				w.t.Skip("SKIP: a unit of systemd is written here")
			}
			w.must(os.MkdirAll(w.app.at("/run/systemd/system"), 0o700))
			c, _, err := w.app.serviceConfig(unit.User)
			w.must(err)
			w.write(filepath.Join(w.home, ".config", "systemd", "user", "foldwatch.service"), c.Text())
			make(w)
			w.mend = func() { systemctl(w, "ActiveState=active", "MainPID=1") }
		}
	}
	// environ has the daemon, which is pid 1, run with these variables.
	environ := func(vars ...string) func(w *ward) {
		return func(w *ward) {
			all := append([]string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH")}, vars...)
			w.kernel("1/environ", strings.Join(all, "\x00")+"\x00")
		}
	}
	return []sick{
		{check: "service", name: "failed", status: doctor.Fail, text: "it has failed: exit-code, exit code 2", make: onLinux(func(w *ward) {
			systemctl(w, "ActiveState=failed", "Result=exit-code", "ExecMainStatus=2")
		})},
		{check: "service", name: "another daemon", status: doctor.Fail, text: "the daemon that answers is pid 1, the service's is 4711", make: onLinux(func(w *ward) {
			systemctl(w, "ActiveState=active", "MainPID=4711")
		})},
		{check: "service", name: "not at login", status: doctor.Warn, text: "not started by itself", make: onLinux(func(w *ward) {
			systemctl(w, "ActiveState=active", "MainPID=1", "UnitFileState=disabled")
		})},
		{check: "service", name: "old file", status: doctor.Warn, text: "would install it otherwise", make: func(w *ward) {
			onLinux(func(w *ward) { systemctl(w, "ActiveState=active", "MainPID=1") })(w)
			was := w.vars["PATH"]
			w.vars["PATH"] = w.home
			w.mend = func() { w.vars["PATH"] = was }
		}},
		{check: "environment", name: "git", status: doctor.Fail, text: "git is in no folder of the daemon's PATH (/nowhere)", make: environ("PATH=/nowhere")},
		{check: "environment", name: "agent", status: doctor.Warn, text: "SSH_AUTH_SOCK=/gone/agent", make: environ("SSH_AUTH_SOCK=/gone/agent")},
		{check: "environment", name: "home", status: doctor.Fail, text: "the daemon's HOME is no folder (/gone)", make: environ("HOME=/gone")},
		{check: "credentials", name: "refused", status: doctor.Fail, text: "the remote wants another login", make: func(w *ward) {
			w.sync(wire.Repository{Sync: "paused", Stopped: "auth", Reason: "the remote wants another login"})
		}},
		{check: "credentials", name: "ssh", status: doctor.Warn, text: "neither an ssh agent nor a key", make: func(w *ward) {
			w.onPath("ssh", "")
			w.vars["PATH"] = os.Getenv("PATH")
			w.sync(wire.Repository{Sync: "on", Remote: "git@example.invalid:zoo.git"})
			w.mend = func() { w.write(filepath.Join(w.home, ".ssh", "id_ed25519"), "") }
		}},
		{check: "credentials", name: "https", status: doctor.Warn, text: "git keeps no login", make: func(w *ward) {
			w.sync(wire.Repository{Sync: "on", Remote: "https://example.invalid/zoo.git"})
			w.mend = func() { w.git("config", "credential.helper", "store") }
		}},
		{check: "credentials", name: "helper", status: doctor.Warn, text: `the credential helper "nowhere" is not to be found`, make: func(w *ward) {
			w.git("config", "credential.helper", "nowhere")
			w.sync(wire.Repository{Sync: "on", Remote: "https://example.invalid/zoo.git"})
			w.mend = func() { w.git("config", "credential.helper", "store") }
		}},
	}
}

// sickCheckout is what may be wrong in a checkout.
func sickCheckout() []sick {
	return []sick{
		{check: "identity", name: "beside the branch", status: doctor.Warn, text: "history names nobody", make: func(w *ward) {
			w.write(filepath.Join(w.home, ".gitconfig"), "")
			w.mend = func() { w.git("config", "user.name", "Ada"); w.git("config", "user.email", "ada@example.invalid") }
		}},
		{check: "git-lock", status: doctor.Fail, text: "index.lock 1h ago", make: func(w *ward) {
			lock := filepath.Join(w.co, ".git", "index.lock")
			w.write(lock, "")
			w.old(lock)
			w.mend = func() { w.must(os.Remove(lock)) }
		}},
		{check: "history", status: doctor.Fail, text: "the history of memories is damaged", make: func(w *ward) {
			w.damageHistory()
		}},
		{check: "branch", name: "autostash", status: doctor.Warn, text: "rebase.autoStash is on with git 2.39.5", make: func(w *ward) {
			w.f.state.Mode = "tracked"
			w.onPath("git", `case "$*" in *--version) echo git version 2.39.5;; *rebase.autoStash) echo true;; *) exit 1;; esac`)
			w.mend = func() {
				w.onPath("git", `case "$*" in *--version) echo git version 2.47.0;; *rebase.autoStash) echo true;; *) exit 1;; esac`)
			}
		}},
		{check: "branch", name: "lost", status: doctor.Warn, text: "git took 2 memories away", make: func(w *ward) {
			w.f.state.Mode, w.f.state.Lost, w.f.state.Uncommitted = "tracked", 2, 3
			w.mend = func() { w.f.state.Lost = 0 }
		}},
		{check: "branch", name: "callout", status: doctor.Warn, text: "b1c2d3e4f5a60718.md keeps another version", make: func(w *ward) {
			w.f.state.Mode = "tracked"
			file := filepath.Join(w.co, "fold", "b", "1", "b1c2d3e4f5a60718.md")
			w.write(file, "# Text\n\nOurs.\n\n"+fold.Callout("0123456789ab", "Theirs."))
			w.mend = func() { w.write(file, "# Text\n\nOurs.\n") }
		}},
		{check: "merge-driver", name: "none", status: doctor.Warn, text: "line by line", make: func(w *ward) {
			w.f.state.Mode = "tracked"
			w.mend = func() {
				w.onPath("foldwatch", "")
				w.git("config", "merge.foldwatch.driver", "foldwatch merge-driver %O %A %B %P")
				w.write(filepath.Join(w.co, ".gitattributes"), "fold/**/*.md merge=foldwatch\n")
			}
		}},
		{check: "merge-driver", name: "program gone", status: doctor.Fail, text: "/gone/foldwatch, which is not there", make: func(w *ward) {
			w.f.state.Mode = "tracked"
			w.git("config", "merge.foldwatch.driver", "/gone/foldwatch merge-driver %O %A %B %P")
			w.mend = func() { w.git("config", "--unset", "merge.foldwatch.driver") }
		}},
		{check: "merge-driver", name: "attribute", status: doctor.Warn, text: "no attribute", make: func(w *ward) {
			w.f.state.Mode = "tracked"
			w.onPath("foldwatch", "")
			w.git("config", "merge.foldwatch.driver", "foldwatch merge-driver %O %A %B %P")
			w.mend = func() { w.write(filepath.Join(w.co, ".gitattributes"), "fold/**/*.md merge=foldwatch\n") }
		}},
		{check: "packers", name: "not hidden", status: doctor.Fail, text: "does not hide memories", fixes: true, make: func(w *ward) {
			w.must(os.Remove(filepath.Join(w.co, "fold", ".gitignore")))
		}},
		{check: "packers", name: "image", status: doctor.Warn, text: "Dockerfile copies fold/ into the image", make: func(w *ward) {
			w.write(filepath.Join(w.co, "Dockerfile"), "FROM scratch\nCOPY . /app\n")
			w.mend = func() { w.write(filepath.Join(w.co, ".dockerignore"), "fold\n") }
		}},
		{check: "obsidian", name: "excluded", status: doctor.Warn, text: "excludes fold/", make: func(w *ward) {
			app := filepath.Join(w.co, ".obsidian", "app.json")
			w.write(app, `{"userIgnoreFilters": ["fold/"]}`)
			w.mend = func() { w.write(app, `{"userIgnoreFilters": ["vendor/"]}`) }
		}},
		{check: "obsidian", name: "unreadable", status: doctor.Fail, text: "cannot be read", make: func(w *ward) {
			app := filepath.Join(w.co, ".obsidian", "app.json")
			w.write(app, `{"user`)
			w.mend = func() { w.write(app, `{}`) }
		}},
		{check: "obsidian", name: "plugin", status: doctor.Warn, text: "obsidian-linter rewrites", make: func(w *ward) {
			w.write(filepath.Join(w.co, ".obsidian", "community-plugins.json"), `["obsidian-linter"]`)
			w.mend = func() {
				w.write(filepath.Join(w.co, ".obsidian", "plugins", "obsidian-linter", "data.json"), `{"foldersToIgnore": ["fold"]}`)
			}
		}},
		{check: "obsidian", name: "two vaults", status: doctor.Warn, text: "are vaults", make: func(w *ward) {
			w.write(filepath.Join(w.co, ".obsidian", "app.json"), `{}`)
			w.write(filepath.Join(w.co, "fold", ".obsidian", "app.json"), `{}`)
			w.mend = func() { w.must(os.RemoveAll(filepath.Join(w.co, "fold", ".obsidian"))) }
		}},
	}
}

// damageHistory takes an object out of a repository at the place of the journal.
func (w *ward) damageHistory() {
	w.t.Helper()
	l, err := usergit.Locate(w.t.Context(), w.co)
	w.must(err)
	at := l.Journal()
	w.write(filepath.Join(w.co, "a.txt"), "quokkas\n")
	w.git("add", "a.txt")
	w.git("commit", "-q", "-m", "One")
	w.git("clone", "-q", "--bare", "--no-hardlinks", ".", at)
	if found := w.look("history", false); found[0].Status != doctor.OK {
		w.t.Fatalf("whole: %+v", found)
	}
	objects, err := filepath.Glob(filepath.Join(at, "objects", "??", "*"))
	w.must(err)
	for _, o := range objects {
		w.must(os.Rename(o, o+".gone"))
	}
	w.mend = func() {
		for _, o := range objects {
			w.must(os.Rename(o+".gone", o))
		}
	}
}

// TestDoctorWithoutDaemon looks at what can be looked at, says what it left out, and
// ends with 7.
func TestDoctorWithoutDaemon(t *testing.T) {
	w := newWard(t)
	w.app.config.Environ = []string{"FOLDWATCH_AUTO_START=false"}
	w.app.daemon.Dial = func(context.Context) (local.Client, error) { return nil, nil }
	w.write(filepath.Join(w.co, "Dockerfile"), "FROM scratch\nCOPY . /app\n")
	if code := w.run("doctor", "--json"); code != exitDegraded {
		t.Errorf("exit code %d, want %d", code, exitDegraded)
	}
	var reply struct {
		Checks []doctor.Result `json:"checks"`
		Counts map[string]int  `json:"counts"`
	}
	w.must(json.Unmarshal(w.out.Bytes(), &reply))
	by := map[string]string{}
	for _, f := range reply.Checks {
		by[f.Name] = f.Status
	}
	for name, want := range map[string]string{"daemon": doctor.Fail, "version": doctor.Skipped, "projects": doctor.Skipped, "index": doctor.Skipped, "identity": doctor.OK, "packers": doctor.Warn, "git": doctor.OK} {
		if by[name] != want {
			t.Errorf("%s is %q, want %q", name, by[name], want)
		}
	}
	if reply.Counts[doctor.Skipped] == 0 || len(by) != len(doctor.Names()) {
		t.Errorf("%d of %d checks, counts %v", len(by), len(doctor.Names()), reply.Counts)
	}
}

// TestDoctorDryRun says what --fix would change, and changes nothing.
func TestDoctorDryRun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIP: modes of unix are made here")
	}
	w := newWard(t)
	w.must(os.Chmod(w.state(), 0o755))
	if code := w.run("doctor", "--fix", "--dry-run"); code != exitDegraded || !strings.Contains(w.out.String(), "--fix would: chmod 700") {
		t.Errorf("exit code %d\n%s", code, w.out.String())
	}
	if info, err := os.Stat(w.state()); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("state folder: %v, %v", info.Mode(), err)
	}
	w.out.Reset()
	w.run("doctor", "--fix")
	if !strings.Contains(w.out.String(), "did: chmod 700") {
		t.Errorf("--fix does not say what it did:\n%s", w.out.String())
	}
	if info, err := os.Stat(w.state()); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("state folder: %v, %v", info.Mode(), err)
	}
	if code := w.run("doctor", "--dry-run"); code != exitUsage {
		t.Errorf("--dry-run alone: exit code %d", code)
	}
}
