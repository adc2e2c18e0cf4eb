package daemon_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
)

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo})
	st, err := p.d.Pause(p.ctx(), local(), p.slug, wire.Pause{})
	if err != nil || st.State != "paused" || st.Hint == "" {
		t.Fatalf("pause: state %s, hint %q, %v", st.State, st.Hint, err)
	}
	tip := rev(p.status().LastCommit)
	p.write("late.go", "package main\n\n// Numbat digs.\nfunc Numbat() {}\n")
	p.write("fold/late.md", "# Late note\n\nWritten during the pause.\n")
	r := p.addMemory(wire.MemoryCreate{Content: "Acknowledged during the pause."})
	if !strings.Contains(r.BlockedReason, "foldwatch resume") {
		t.Errorf("blocked_reason %q", r.BlockedReason)
	}
	if _, err := p.get(r.ID); err != nil {
		t.Error(err)
	}
	p.restart() // a pause outlives a restart
	p.settle()
	if st := p.status(); st.State != "paused" {
		t.Errorf("state after a restart: %s", st.State)
	}
	if now := rev(p.status().LastCommit); now != tip {
		t.Errorf("committed during the pause: %s, was %q", now, tip)
	}
	if st, err = p.d.Resume(p.ctx(), local(), p.slug); err != nil || st.State == "paused" {
		t.Fatalf("resume: state %s, %v", st.State, err)
	}
	p.eventually("the source is caught up", func() bool { return namesChunk(p, "Numbat") })
	p.eventually("the note is caught up", func() bool { return p.found("written during the pause", "Late note") })
	p.committed("late.md")
	p.committed(r.Path)
	// a change that comes after is followed again
	p.write("later.go", "package main\n\n// Bilby digs too.\nfunc Bilby() {}\n")
	p.eventually("a save is followed", func() bool { return namesChunk(p, "Bilby") })

	// a pause for a while ends by itself
	if st, err = p.d.Pause(p.ctx(), local(), p.slug, wire.Pause{For: "1s"}); err != nil || st.PausedUntil == nil {
		t.Fatalf("pause for: %+v, %v", st, err)
	}
	p.write("fold/timed.md", "# Timed\n\nWritten during a timed pause.\n")
	p.eventually("the pause is over", func() bool { return p.status().State == "ready" })
	p.eventually("and caught up", func() bool { return p.found("written during a timed pause", "Timed") })
	if _, err := p.d.Pause(p.ctx(), local(), p.slug, wire.Pause{For: "soon"}); !errors.Is(err, fold.ErrInvalid) {
		t.Errorf("pause for soon = %v", err)
	}
}

// rev names a commit, "" where there is none.
func rev(r *wire.CommitInfo) string {
	if r == nil {
		return ""
	}
	return r.Rev
}

func TestHistory(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo})
	p.committed("project.toml")
	r := p.addMemory(wire.MemoryCreate{Title: "Retry policy", Content: "Retry three times.", Type: "decision"})
	p.committed(r.Path)
	log, err := p.d.Log(p.ctx(), local(), p.slug, r.ID, 10)
	if err != nil || len(log.Items) != 1 || log.Items[0].Author != "Ada Dev" || !strings.Contains(log.Items[0].Message, "Retry policy") {
		t.Fatalf("log: %+v, %v", log.Items, err)
	}
	begin := log.Items[0].Rev
	text := "Retry five times."
	if _, err := p.d.UpdateMemory(p.ctx(), local(), p.slug, r.ID, wire.MemoryUpdate{Content: &text}); err != nil {
		t.Fatal(err)
	}
	revs := func(n int) func() bool {
		return func() bool {
			log, err := p.d.Log(p.ctx(), local(), p.slug, r.ID, 10)
			return err == nil && len(log.Items) == n
		}
	}
	p.eventually("the update is in the log", revs(2))
	diff, err := p.d.Diff(p.ctx(), local(), p.slug, begin)
	if err != nil || !strings.Contains(diff.Diff, "-Retry three times.") || !strings.Contains(diff.Diff, "+Retry five times.") {
		t.Errorf("diff: %v\n%s", err, diff.Diff)
	}
	if _, err := p.d.DeleteMemory(p.ctx(), local(), p.slug, r.ID, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := p.get(r.ID); !errors.Is(err, fold.ErrNotFound) {
		t.Errorf("get after delete = %v", err)
	}
	p.eventually("the deletion is in the log", revs(3))
	if p.found("retry five times", "Retry policy") {
		t.Error("a deleted memory is found")
	}
	back, err := p.d.Restore(p.ctx(), local(), p.slug, wire.Restore{ID: r.ID})
	if err != nil || !strings.Contains(p.mustGet(back.ID).Content, "five") {
		t.Fatalf("restore: %v", err)
	}
	if _, err := p.d.Restore(p.ctx(), local(), p.slug, wire.Restore{ID: r.ID, At: begin}); err != nil || !strings.Contains(p.mustGet(r.ID).Content, "three") {
		t.Fatalf("restore at %s: %v\n%s", begin, err, p.mustGet(r.ID).Content)
	}
	p.eventually("it is found again", func() bool { return p.found("retry three times", "Retry policy") })
	if _, err := p.d.Restore(p.ctx(), local(), p.slug, wire.Restore{ID: "ffffffffffffffff"}); !errors.Is(err, fold.ErrNotFound) {
		t.Errorf("restore of nothing = %v", err)
	}
	if _, err := p.d.Diff(p.ctx(), local(), p.slug, "no-such-revision"); err == nil {
		t.Error("diff since nothing")
	}
}

// TestTheMirrorBringsItBack is the commonest repair there is: the checkout is
// removed and cloned again.
func TestTheMirrorBringsItBack(t *testing.T) {
	t.Parallel()
	origin := New(t, map[string]string{"main.go": mainGo})
	dir := filepath.Join(realDir(t), "app")
	git(t, origin, "clone", "-q", origin, dir)
	p := newMachine(t).add(dir, wire.ProjectCreate{})
	r := p.addMemory(wire.MemoryCreate{Title: "Kept", Content: "Kept by the mirror."})
	p.committed(r.Path)
	p.stop()
	cloneAnew := func() {
		t.Helper()
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		git(t, origin, "clone", "-q", origin, dir)
	}
	cloneAnew()
	p.start()
	p.eventually("what is registered is back by itself", func() bool { return p.found("kept by the mirror", "Kept") })
	cloneAnew() // while the daemon runs
	if _, err := p.d.AddProject(p.ctx(), local(), wire.ProjectCreate{Path: dir}); err != nil {
		t.Fatal(err)
	}
	if m, err := p.d.GetMemory(p.ctx(), local(), p.slug, r.ID); err != nil || m.Title != "Kept" {
		t.Errorf("after a fresh clone under a daemon that runs: %+v, %v", m, err)
	}
	if err := p.d.RemoveProject(p.ctx(), local(), p.slug, wire.ProjectRemove{}); err != nil {
		t.Fatal(err)
	}
	cloneAnew()
	added, err := p.d.AddProject(p.ctx(), local(), wire.ProjectCreate{Path: dir})
	if err != nil || !strings.Contains(strings.Join(added.Notices, "\n"), "--from-mirror") {
		t.Fatalf("add does not offer the mirror: %v, %v", added.Notices, err)
	}
	// the way that the notice tells
	if _, err := p.d.AddProject(p.ctx(), local(), wire.ProjectCreate{Path: New(t, map[string]string{"x.go": mainGo}), FromMirror: true}); !errors.Is(err, fold.ErrNotFound) {
		t.Errorf("from-mirror of an unknown remote = %v", err)
	}
	if err := p.d.RemoveProject(p.ctx(), local(), added.Project.Slug, wire.ProjectRemove{Purge: true}); err != nil {
		t.Fatal(err)
	}
	q := p.add(dir, wire.ProjectCreate{FromMirror: true})
	if q.slug != p.slug {
		t.Errorf("slug %s, want %s", q.slug, p.slug)
	}
	if !q.found("kept by the mirror", "Kept") {
		t.Error("the memory is not back")
	}
	if log, err := q.d.Log(q.ctx(), local(), q.slug, r.ID, 10); err != nil || len(log.Items) == 0 {
		t.Errorf("its history is not back: %+v, %v", log.Items, err)
	}
}

// TestStateForgotten is design.md 3: losing state.db costs logins and counters,
// never a memory.
func TestStateForgotten(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo})
	r := p.addMemory(wire.MemoryCreate{Content: "Not in the database."})
	p.committed(r.Path)
	p.stop()
	state := filepath.Join(p.dirs().State, "state.db")
	if err := os.WriteFile(state, []byte(strings.Repeat("damaged ", 4096)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, ext := range []string{"-wal", "-shm"} {
		os.Remove(state + ext)
	}
	p.start()
	s, err := p.d.Status(p.ctx(), local())
	if err != nil || !strings.Contains(strings.Join(s.Notices, "\n"), "foldwatch add") || len(s.Projects) != 0 {
		t.Fatalf("status: %v, %d projects, %v", s.Notices, len(s.Projects), err)
	}
	q := p.add(p.dir, wire.ProjectCreate{})
	if q.slug != p.slug {
		t.Errorf("slug %s, want %s", q.slug, p.slug)
	}
	if _, err := q.get(r.ID); err != nil {
		t.Error(err)
	}
}

func TestProjectRulesAreFollowed(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo, "extern/lib/lib.go": "package lib\n\n// Dingo howls.\nfunc Dingo() {}\n", ".env": "TOKEN=dingo\n"})
	if !namesChunk(p, "Dingo") || p.found("TOKEN dingo", ".env") {
		t.Fatal("what is indexed at first is not what should be")
	}
	toml := p.read("fold/project.toml")
	p.write("fold/project.toml", strings.Replace(toml, "exclude = []", "exclude = [\"extern/**\"]", 1))
	p.eventually("the excluded file leaves", func() bool { return !namesChunk(p, "Dingo") })
	p.write("fold/project.toml", strings.Replace(toml, "exclude = []", "exclude = [", 1))
	p.eventually("a broken project file is said", func() bool { return strings.Contains(strings.Join(p.status().Notices, "\n"), "project.toml") })
	p.eventually("the committer has looked at it", func() bool {
		why, err := p.d.SetAside(p.ctx(), p.slug, "project.toml")
		return err == nil && why != ""
	})
	if n := strings.Count(strings.Join(p.status().Notices, "\n"), "project.toml is not"); n != 1 {
		t.Errorf("it is said %d times: %q", n, p.status().Notices)
	}
	if namesChunk(p, "Dingo") {
		t.Error("the last good rules are not in force")
	}
	p.write("fold/project.toml", toml+"\nlisten = \"0.0.0.0:80\"\n[provider]\nurl = \"http://example.invalid\"\n")
	p.eventually("what has no effect is said, with its line", func() bool {
		return strings.Contains(strings.Join(p.status().Notices, "\n"), "line")
	})
	p.eventually("the file is back", func() bool { return namesChunk(p, "Dingo") })
}

// TestStopDuringWork is F64: a stop in the middle of a first index ends soon,
// and the next start completes it.
func TestStopDuringWork(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	dir := New(t, sampleTree())
	added, err := m.d.AddProject(m.ctx(), local(), wire.ProjectCreate{Path: dir, Slug: "app"})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	m.stop()
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("the stop took %v, want at most 5 s", took)
	}
	m.start()
	p := &project{machine: m, dir: dir, slug: added.Project.Slug}
	p.settle()
	if s := p.status(); s.Files.Indexed != len(sampleTree()) || s.ProblemCount != 0 {
		t.Errorf("%d files indexed, problems %v", s.Files.Indexed, s.Problems)
	}
	if !p.exists(p.described("zoo/emu/emu.go")) {
		t.Error("not described")
	}
}

// TestACheckoutIsRunOnce: one that is added while the daemon begins to run is among
// those that are there, and one that comes.
func TestACheckoutIsRunOnce(t *testing.T) {
	t.Parallel()
	m := &machine{t: t, home: t.TempDir(), clock: &testClock{}, log: &logBuffer{}, cfg: conf.Default()}
	d, err := daemon.Open(context.Background(), m.options())
	if err != nil {
		t.Fatal(err)
	}
	m.d = d
	dir := New(t, map[string]string{"main.go": mainGo})
	added := make(chan error, 1)
	go func() {
		_, err := d.AddProject(m.ctx(), local(), wire.ProjectCreate{Path: dir, Slug: "app"})
		added <- err
	}()
	m.eventually("it is to be started", func() bool { return d.Starting() == 1 })
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	m.end = func() {
		cancel()
		if err := errors.Join(<-ended, d.Close()); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(m.stop)
	if err := <-added; err != nil {
		t.Fatal(err)
	}
	p := &project{machine: m, dir: dir, slug: "app"}
	p.settle()
	if d.Starting() != 0 || !p.found("main", "main.go") {
		t.Errorf("%d are to be started", d.Starting())
	}
}
