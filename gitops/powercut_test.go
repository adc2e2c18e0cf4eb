package gitops_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/gitops/gitsync"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/disk/powertest"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/testdata/fulltest"
)

// A powerScene is work during which the power is cut. All of it lies below one
// folder: the checkout co, remote.git, which is another machine, and told, which
// is the memory of whoever was answered.
type powerScene struct {
	name    string
	edit    func(*gitops.StoreOptions) // of the store, as it is opened again; nil for nothing
	prepare func(t testing.TB, dir string)
	act     func(t testing.TB, p *powerUser)
	// after sees what there is once the store was opened again; nil for nothing
	// more than that what was acknowledged is there.
	after func(t testing.TB, p *powerUser) []string
	// bears are syncs without which something is lost: what another sync makes up
	// for is not listed.
	bears []missingSync
}

// A missingSync is a seeded fault: a program that is the same but for some syncs.
// One state at least must be found bad.
type missingSync struct {
	name  string
	syncs string // pattern of what powertest.Log.Syncs calls them
	mode  powertest.Mode
}

// A powerUser writes memories and remembers what was acknowledged.
type powerUser struct {
	t   testing.TB
	dir string
	s   *gitops.Store
}

// told is one line of what a powerUser remembers: that it asks for a write, or
// that the write was acknowledged.
type told struct {
	Path  string
	Bytes []byte // nil: deleted
	Acked bool
}

func (p *powerUser) co() string { return filepath.Join(p.dir, "co") }

func (p *powerUser) open(edit func(*gitops.StoreOptions)) {
	p.t.Helper()
	must(p.t, p.tryOpen(edit))
}

func (p *powerUser) tryOpen(edit func(*gitops.StoreOptions)) (err error) {
	co := p.co()
	opt := gitops.StoreOptions{
		Slug: "app", Now: later, Author: ann,
		Repo: &usergit.Repo{WorkTree: co, GitDir: filepath.Join(co, ".git"), CommonDir: filepath.Join(co, ".git"), MainTree: co},
	}
	if edit != nil {
		edit(&opt)
	}
	p.s, err = gitops.OpenStore(p.t.Context(), opt)
	return err
}

func (p *powerUser) say(lines ...told) {
	p.t.Helper()
	f, err := os.OpenFile(filepath.Join(p.dir, "told", "log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	must(p.t, err)
	defer f.Close()
	for _, l := range lines {
		b, err := json.Marshal(l)
		must(p.t, err)
		_, err = f.Write(append(b, '\n'))
		must(p.t, err)
	}
}

// put writes a memory whose body is given; nil deletes it.
func (p *powerUser) put(title string, body *string) {
	p.t.Helper()
	id, b := fold.SlugID("app", title), []byte(nil)
	if body != nil {
		id, b = memoryFile(title, *body)
	}
	have, err := p.s.Read(id.Path())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.t.Fatal(err)
	}
	p.say(told{Path: id.Path(), Bytes: b})
	_, err = p.s.Put(p.t.Context(), gitops.Write{ID: id, Base: have, New: b})
	must(p.t, err)
	p.say(told{Path: id.Path(), Bytes: b, Acked: true})
}

func (p *powerUser) commit() {
	p.t.Helper()
	must2(p.s.Commit(p.t.Context(), nil, ""))(p.t)
}

func (p *powerUser) syncOptions() gitsync.SyncOptions {
	return gitsync.SyncOptions{
		Remote: filepath.Join(p.dir, "remote.git"), Local: true, Publish: true, Rand: func() float64 { return 0 },
		Step: func(step string) error {
			if os.Getenv("FOLDWATCH_TEST_POWER_KILL") != step {
				return nil
			}
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			return err
		},
	}
}

// ledger returns, by path, the states a file may be in: what was acknowledged
// last, and what was asked for since.
func (p *powerUser) ledger() map[string][][]byte {
	p.t.Helper()
	f, err := os.Open(filepath.Join(p.dir, "told", "log"))
	must(p.t, err)
	defer f.Close()
	out := map[string][][]byte{}
	for in := bufio.NewScanner(f); in.Scan(); {
		var l told
		must(p.t, json.Unmarshal(in.Bytes(), &l))
		switch {
		case l.Acked:
			out[l.Path] = [][]byte{l.Bytes}
		case out[l.Path] == nil:
			out[l.Path] = [][]byte{nil, l.Bytes}
		default:
			out[l.Path] = append(out[l.Path], l.Bytes)
		}
	}
	return out
}

// restart opens the store as the next start does, and returns what is lost or
// left behind.
func (p *powerUser) restart(edit func(*gitops.StoreOptions)) (bad []string) {
	p.t.Helper()
	fault := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	if err := p.tryOpen(edit); err != nil {
		return []string{err.Error()}
	}
	ctx := p.t.Context()
	if _, err := p.s.CommitAll(ctx); err != nil {
		fault("CommitAll = %v", err)
	}
	for path, may := range p.ledger() {
		got, err := p.s.Read(path)
		if errors.Is(err, fs.ErrNotExist) {
			got, err = nil, nil
		}
		if err != nil || !slices.ContainsFunc(may, func(b []byte) bool { return holds(got, b) }) {
			fault("%s = %q, %v, want one of %q", path, got, err, may)
		}
		in, err := p.s.History().At(ctx, "", path)
		if buried := fold.MarkedDeleted(in); buried {
			in = nil
		}
		if err != nil && !errors.Is(err, fold.ErrNotFound) || string(in) != string(got) {
			fault("journal has %q for %s, %v, want %q", in, path, err, got)
		}
	}
	if st := p.s.Status(); st.WalEntries != 0 || len(st.SetAside) != 0 || st.Guarded {
		fault("status %+v", st)
	}
	return append(bad, p.leftovers()...)
}

// holds reports whether a file has what was written to it: the same bytes, or, since
// others may have written too, every line that is marked as ours.
func holds(got, wrote []byte) bool {
	if string(got) == string(wrote) {
		return true
	}
	ours := 0
	for line := range strings.Lines(string(wrote)) {
		if strings.Contains(line, "of mine") {
			ours++
			if !strings.Contains(string(got), line) {
				return false
			}
		}
	}
	return ours > 0
}

// leftovers returns stale locks and temporary files. What a crash leaves of an
// object in the user's own repository has the name that git prunes.
func (p *powerUser) leftovers() (bad []string) {
	_ = filepath.WalkDir(p.co(), func(name string, d fs.DirEntry, _ error) error {
		name = strings.TrimPrefix(name, p.co())
		base := filepath.Base(name)
		own := strings.HasPrefix(name, "/.git/foldwatch/") && !strings.HasPrefix(name, "/.git/foldwatch/upstream.git/") // which the next sync sweeps
		if disk.IsTemp(name) || strings.HasSuffix(base, ".lock") || own && (strings.Contains(base, "tmp") || strings.HasPrefix(base, "branch.")) {
			bad = append(bad, "left "+name)
		}
		return nil
	})
	return bad
}

// fsckAt runs git fsck and returns what it finds.
func (p *powerUser) fsckAt(gitDir string) (bad []string) {
	cmd := exec.CommandContext(p.t.Context(), "git", "--git-dir="+gitDir, "fsck", "--full", "--strict", "--no-dangling", "--no-progress")
	cmd.Dir = p.dir
	out, err := cmd.CombinedOutput()
	text := strings.ReplaceAll(string(out), "notice: HEAD points to an unborn branch (foldwatch)\n", "")
	text = strings.ReplaceAll(text, "notice: HEAD points to an unborn branch (main)\n", "")
	if text = strings.ReplaceAll(text, "notice: No default references\n", ""); err != nil || strings.TrimSpace(text) != "" {
		bad = append(bad, fmt.Sprintf("git fsck of %s: %v %s", strings.TrimPrefix(gitDir, p.dir), err, text))
	}
	return bad
}

// examine returns what is wrong with the state that lies in p.dir.
func (sc *powerScene) examine(t testing.TB, dir string) (bad []string) {
	t.Helper()
	p := &powerUser{t: t, dir: dir}
	hangUp(t, filepath.Join(dir, "remote.git"))
	edit := sc.edit
	if sc.name == "mirror" {
		edit = func(o *gitops.StoreOptions) { o.Mirror = filepath.Join(dir, "mirror.git") }
	}
	bad = p.restart(edit)
	if p.s == nil {
		return bad
	}
	if sc.after != nil {
		bad = append(bad, sc.after(t, p)...)
	}
	if err := p.s.Close(); err != nil {
		bad = append(bad, fmt.Sprintf("Close = %v", err))
	}
	return append(bad, p.fsckAt(filepath.Join(p.co(), ".git/foldwatch/repo.git"))...)
}

// hangUp does what the other machine does when the connection ends: git there
// removes its locks.
func hangUp(t testing.TB, remote string) {
	t.Helper()
	_ = filepath.WalkDir(remote, func(name string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".lock") {
			must(t, os.Remove(name))
		}
		return nil
	})
}

// TestPowerCutChild is the process that the power is cut under.
func TestPowerCutChild(t *testing.T) {
	dir, name := os.Getenv("FOLDWATCH_TEST_POWER_DIR"), os.Getenv("FOLDWATCH_TEST_POWER_SCENE")
	if dir == "" {
		t.Skip("runs in a process of its own, started by TestPowerCut")
	}
	for _, sc := range append(powerScenes(), powerScenesDeep()...) {
		if sc.name == name {
			sc.act(t, &powerUser{t: t, dir: dir})
		}
	}
}

// powerDir returns a folder for states, in memory where there is such a place:
// they are many, and what they are written to is not what is tested.
func powerDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "foldwatch-power-") //nolint:usetesting // elsewhere than TempDir
	if err != nil {
		return realDir(t)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// stage makes what the scene begins with.
func (sc *powerScene) stage(t testing.TB, dir string) {
	t.Helper()
	must(t, os.Mkdir(filepath.Join(dir, "told"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "told", "log"), nil, 0o644))
	sc.prepare(t, dir)
}

// child is the process that plays the scene.
func (sc *powerScene) child(dir string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^TestPowerCutChild$", "-test.v")
	cmd.Env = append(os.Environ(), "FOLDWATCH_TEST_POWER_DIR="+dir, "FOLDWATCH_TEST_POWER_SCENE="+sc.name)
	return cmd
}

// record has the scene played, and returns what it did to the disk.
func (sc *powerScene) record(t testing.TB, dir string) *powertest.Log {
	t.Helper()
	sc.stage(t, dir)
	cmd := sc.child(dir)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	log, err := powertest.Record(cmd, dir)
	if errors.Is(err, powertest.ErrNoTracer) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	log.Elsewhere("told", "remote.git")
	return log
}

// cut examines at most n states, until that many faults are found or time is up,
// and returns what is wrong.
func (sc *powerScene) cut(t testing.TB, dir string, log *powertest.Log, mode powertest.Mode, n, faults int, until time.Time) (tried int, bad []string) {
	t.Helper()
	for st := range log.States(mode, 4, 7) {
		if tried >= n || len(bad) >= faults || time.Now().After(until) {
			break
		}
		tried++
		must(t, st.WriteTo(dir))
		for _, fault := range sc.examine(t, dir) {
			bad = append(bad, st.Name+": "+fault)
		}
	}
	return tried, bad
}

// TestPowerCut cuts the power at every call of a journal commit, a push, an apply
// and more: what was not synced by then is gone, or some of it. Nothing that was
// acknowledged is lost, no lock stays, and git finds nothing wrong (F06, F07, F08,
// I7).
func TestPowerCut(t *testing.T) {
	t.Parallel()
	n, limit := fulltest.Pick(4, 12), time.Minute
	scenes := powerScenes()
	if fulltest.Crash() {
		n, limit = 1200, 4*time.Minute // most of the states
		scenes = append(scenes, powerScenesDeep()...)
	}
	for _, sc := range scenes {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			dir, began := powerDir(t), time.Now()
			log := sc.record(t, dir)
			recorded := time.Since(began)
			for _, mode := range []powertest.Mode{powertest.Journaled, powertest.Loose} {
				began := time.Now()
				tried, bad := sc.cut(t, dir, log, mode, n, 100, began.Add(limit))
				for _, b := range bad[:min(len(bad), 10)] {
					t.Error(b)
				}
				t.Logf("power cut of %s, %s: calls=%d n=%d bad=%d secs=%.1f (recorded in %.1f)", sc.name, mode, log.Len(), tried, len(bad), time.Since(began).Seconds(), recorded.Seconds())
			}
			for _, m := range fulltest.Some(1, sc.bears) {
				without, left := log.Without(func(what string) bool { return regexp.MustCompile(m.syncs).MatchString(what) })
				tried, bad := sc.cut(t, dir, without, m.mode, 200, 1, time.Now().Add(time.Minute))
				if len(bad) == 0 {
					t.Errorf("a program that does not sync %s (%d times) is not found out in %d states", m.name, left, tried)
					continue
				}
				t.Logf("without syncs of %s (%d), %s, found at n=%d: %.300s", m.name, left, m.mode, tried, bad[0])
			}
		})
	}
}

// TestSyncProcessKilled: kill -9 of a process at each step of a sync, and while its
// git program goes on without it. The next start finds nothing lost, no lock, and
// publishes what is left, once (F04, I7).
func TestSyncProcessKilled(t *testing.T) {
	t.Parallel()
	i := slices.IndexFunc(powerScenes(), func(sc powerScene) bool { return sc.name == "sync" })
	sc := powerScenes()[i]
	real, err := exec.LookPath("git")
	must(t, err)
	for _, step := range []string{"ask", "fetch", "merge", "push", "pushed", "files", "journal", "refs", "git fetch", "git push"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			dir := powerDir(t)
			sc.stage(t, dir)
			cmd := sc.child(dir)
			cmd.Env = append(cmd.Env, "FOLDWATCH_TEST_POWER_KILL="+step)
			orphan, ended := strings.CutPrefix(step, "git ")
			done := filepath.Join(dir, "done")
			if ended {
				if _, err := exec.LookPath("sh"); err != nil {
					t.Skip(err)
				}
				bin := filepath.Join(dir, "bin")
				program(t, filepath.Join(bin, "git"), fmt.Sprintf("#!/bin/sh\ncase \" $* \" in *\" %s --\"*)\n\tkill -9 $PPID\n\t%s \"$@\"\n\techo >%s\n\texit;;\nesac\nexec %s \"$@\"\n", orphan, real, done, real))
				cmd.Env = append(cmd.Env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			}
			out, err := cmd.CombinedOutput()
			if ee, ok := errors.AsType[*exec.ExitError](err); !ok || ee.ExitCode() != -1 {
				t.Fatalf("the child ended with %v, not killed:\n%s", err, out)
			}
			for until := time.Now().Add(20 * time.Second); ended; runtime.Gosched() {
				if _, err := os.Stat(done); err == nil {
					break
				}
				if time.Now().After(until) {
					t.Fatal("git does not end")
				}
			}
			for _, fault := range sc.examine(t, dir) {
				t.Error(fault)
			}
		})
	}
}
