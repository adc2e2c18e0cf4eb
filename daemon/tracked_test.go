package daemon_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// newTracked registers a checkout whose branch tracks fold/ with one memory in it, and
// has a branch clean without. It returns that memory.
func newTracked(t *testing.T, m *machine) (p *project, made wire.WriteReply) {
	t.Helper()
	first := newProject(t, map[string]string{"main.go": mainGo})
	made = first.addMemory(wire.MemoryCreate{Title: "Shared decision", Content: "The emu is fed at nine."})
	first.committed(made.Path)
	first.stop()
	dir := New(t, map[string]string{"main.go": mainGo})
	git(t, dir, "branch", "clean")
	copyTree(t, first.file("fold"), filepath.Join(dir, "fold"))
	must(t, os.Remove(filepath.Join(dir, "fold/.gitignore")))
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "Track fold")
	p = m.add(dir, wire.ProjectCreate{})
	p.settle()
	return p, made
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// inMode changes the mode, as track and untrack do.
func (p *project) inMode(mode string) {
	p.t.Helper()
	_, err := p.d.UpdateProject(p.ctx(), local(), p.slug, wire.ProjectUpdate{Mode: &mode})
	must(p.t, err)
	if st := p.status(); st.Mode != mode {
		p.t.Errorf("the mode is %q, want %q", st.Mode, mode)
	}
}

// TestTrackedIsOfEachWorkTree: where HEAD tracks fold/ the mode is tracked, said once, and
// each linked worktree has the memories of its own branch (git.md T3).
func TestTrackedIsOfEachWorkTree(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p, made := newTracked(t, m)
	if st := p.status(); st.Mode != "tracked" || !p.noticed("foldwatch untrack") || !p.noticed("merge-driver install") {
		t.Errorf("mode %q, notices %q", st.Mode, st.Notices)
	}
	linked := filepath.Join(realDir(t), "worktree")
	git(t, p.dir, "worktree", "add", "-q", "-b", "topic", linked)
	m.add(linked, wire.ProjectCreate{})
	name := p.slugOf(linked)
	r, err := p.d.AddMemory(p.ctx(), local(), name, wire.MemoryCreate{Title: "On topic", Content: "Only there."})
	must(t, err)
	if r.BlockedReason == "" || !strings.Contains(r.BlockedReason, "foldwatch commit") || r.Committed {
		t.Errorf("the write says %+v", r.WriteState)
	}
	if _, err := os.Stat(filepath.Join(linked, "fold", filepath.FromSlash(r.Path))); err != nil {
		t.Error(err)
	}
	if p.exists("fold/" + r.Path) {
		t.Error("the main work tree got it")
	}
	if _, err := p.get(r.ID); !errors.Is(err, fold.ErrNotFound) {
		t.Errorf("the main work tree knows it: %v", err)
	}
	if got, err := p.d.GetMemory(p.ctx(), local(), name, made.ID); err != nil || !got.State.Committed || got.State.Pushed {
		t.Errorf("there %+v, %v", got.State, err)
	}
	// On a branch without memories there are none, and none are made.
	git(t, linked, "add", "-A")
	git(t, linked, "commit", "-q", "-m", "More")
	git(t, linked, "switch", "-q", "clean")
	p.eventually("the switch is seen", func() bool {
		_, err := p.d.GetMemory(p.ctx(), local(), name, made.ID)
		return errors.Is(err, fold.ErrNotFound)
	})
	if _, err := p.d.AddMemory(p.ctx(), local(), name, wire.MemoryCreate{Content: "Not here."}); !errors.Is(err, fold.ErrUnavailable) || fold.Hint(err) == "" {
		t.Errorf("a write on a branch without fold/: %v", err)
	}
	if _, err := os.Stat(filepath.Join(linked, "fold")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("fold/ is there: %v", err)
	}
	if _, err := p.get(made.ID); err != nil {
		t.Errorf("the main work tree lost it: %v", err)
	}
	git(t, p.dir, "commit", "-q", "--allow-empty", "-m", "On")
	p.eventually("what was said of the mode ends with the next commit", func() bool { return !p.noticed("foldwatch untrack") })
}

// TestModeFollowsHeadOnce: a checkout goes over when HEAD is first seen to track fold/,
// and never again, nor back, by itself.
func TestModeFollowsHeadOnce(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo})
	made := p.addMemory(wire.MemoryCreate{Title: "Shared decision", Content: "The emu is fed at nine."})
	p.committed(made.Path)
	if st := p.status(); st.Mode != "sidecar" {
		t.Errorf("the mode is %q", st.Mode)
	}
	p.git("branch", "before")
	p.git("add", "-f", "fold/"+made.Path, "fold/project.toml")
	p.git("commit", "-q", "-m", "Track fold")
	p.eventually("it goes over", func() bool { return p.status().Mode == "tracked" && p.status().State == "ready" })
	if p.exists("fold/.gitignore") {
		t.Error("fold/ hides itself")
	}
	if !p.noticed("foldwatch untrack") {
		t.Errorf("notices %q", p.status().Notices)
	}
	p.git("switch", "-q", "before")
	p.settle()
	p.restart()
	if st := p.status(); st.Mode != "tracked" {
		t.Errorf("on a branch without fold/ the mode is %q", st.Mode)
	}
	p.git("switch", "-q", "-")
	p.inMode("sidecar")
	p.settle()
	p.restart()
	p.settle()
	if st := p.status(); st.Mode != "sidecar" || !p.exists("fold/.gitignore") {
		t.Errorf("the user wants sidecar mode, and it is %q", st.Mode)
	}
	if _, err := p.get(made.ID); err != nil {
		t.Error(err)
	}
}

// TestTrackAndUntrack: going over removes what hides fold/ and stops the sync, which is
// then refused; the way back restores both, and the journal goes on (git.md T8).
func TestTrackAndUntrack(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo})
	remote := filepath.Join(realDir(t), "remote.git")
	git(t, p.dir, "init", "-q", "--bare", remote)
	made := p.addMemory(wire.MemoryCreate{Title: "Shared decision", Content: "The emu is fed at nine."})
	p.committed(made.Path)
	_, err := p.d.AddRepository(p.ctx(), local(), p.slug, wire.RepositoryCreate{Remote: remote})
	must(t, err)
	if st := p.status(); st.Sync != "on" {
		t.Fatalf("sync is %q", st.Sync)
	}
	writeFile(t, p.file("fold/mine/.gitignore"), "# a person's\n")
	p.inMode("tracked")
	if st := p.status(); st.Sync != "off" || p.exists("fold/.gitignore") || !p.exists("fold/mine/.gitignore") {
		t.Errorf("tracked: sync %q, hidden %v", st.Sync, p.exists("fold/.gitignore"))
	}
	if _, err := p.d.AddRepository(p.ctx(), local(), p.slug, wire.RepositoryCreate{Remote: remote}); !errors.Is(err, fold.ErrInvalid) || !strings.Contains(fold.Hint(err), "untrack") {
		t.Errorf("sync on: %v, hint %q", err, fold.Hint(err))
	}
	second := p.addMemory(wire.MemoryCreate{Title: "Second", Content: "In tracked mode."})
	p.committed(second.Path)
	p.git("add", "fold")
	p.git("commit", "-q", "-m", "Memories")
	p.eventually("HEAD has it", func() bool { return p.mustGet(second.ID).State.Committed })
	if before := git(t, remote, "rev-parse", "foldwatch"); before == "" || p.mustGet(second.ID).State.Pushed {
		t.Error("it counts as pushed")
	}
	p.inMode("sidecar")
	if !p.exists("fold/.gitignore") {
		t.Error("fold/ does not hide itself")
	}
	for _, id := range []string{made.ID, second.ID} {
		if _, err := p.get(id); err != nil {
			t.Error(err)
		}
	}
	if log, err := p.d.Log(p.ctx(), local(), p.slug, second.ID, 10); err != nil || len(log.Items) == 0 {
		t.Errorf("its history is %+v, %v", log, err)
	}
}

// TestLostMemories: what git took away before it was committed is counted, listed, brought
// back by its id, and forgotten when the user says so; never by itself (git.md T4).
func TestLostMemories(t *testing.T) {
	t.Parallel()
	p, made := newTracked(t, newMachine(t))
	ctx := p.ctx()
	p.committed(made.Path)
	text := "The emu is fed at ten."
	_, err := p.d.UpdateMemory(ctx, local(), p.slug, made.ID, wire.MemoryUpdate{Content: &text})
	must(t, err)
	fresh := p.addMemory(wire.MemoryCreate{Title: "Never committed", Content: "The rhea is fed at noon."})
	p.committed(fresh.Path)
	p.eventually("the journal has the edit", func() bool {
		log, err := p.d.Log(ctx, local(), p.slug, made.ID, 10)
		return err == nil && len(log.Items) > 1
	})
	p.git("checkout", "-q", "--", "fold")
	p.git("clean", "-qfd", "fold")
	p.eventually("status counts them", func() bool { return p.status().Lost == 2 })
	p.eventually("and says what to do", func() bool { return p.noticed("foldwatch restore --lost") })
	p.restart()
	p.eventually("so it does after a restart", func() bool { return p.status().Lost == 2 })
	list, err := p.d.Lost(ctx, local(), p.slug)
	must(t, err)
	var ids []string
	for _, l := range list.Items {
		ids = append(ids, l.ID)
	}
	if len(ids) != 2 || !slices.Contains(ids, made.ID) || !slices.Contains(ids, fresh.ID) {
		t.Fatalf("Lost = %+v", list)
	}
	if m := p.mustGet(made.ID); !strings.Contains(m.Content, "at nine") {
		t.Errorf("it came back by itself: %q", m.Content)
	}
	r, err := p.d.Restore(ctx, local(), p.slug, wire.Restore{ID: fresh.ID})
	if err != nil || r.ID != fresh.ID || !p.exists("fold/"+fresh.Path) {
		t.Errorf("Restore = %+v, %v", r, err)
	}
	p.eventually("one is left", func() bool { return p.status().Lost == 1 })
	n, err := p.d.ForgetLost(ctx, local(), p.slug)
	if err != nil || n.Count != 1 {
		t.Errorf("ForgetLost = %+v, %v", n, err)
	}
	if st := p.status(); st.Lost != 0 {
		t.Errorf("%d are lost still", st.Lost)
	}
	p.settle()
	if m := p.mustGet(fresh.ID); m.Title != "Never committed" {
		t.Errorf("brought back is %+v", m)
	}
}

// TestTrackedMakesNothingUnasked: in tracked mode no file of fold/ changes that nobody has
// written, whatever the settings are (git.md T1).
func TestTrackedMakesNothingUnasked(t *testing.T) {
	t.Parallel()
	m := newMachineWith(t, t.TempDir(), func(m *machine) {
		m.cfg.FileMemories, m.cfg.Evolve, m.cfg.DecayArchive, m.cfg.CommitMemories = "fold", "auto", "daily", true
	})
	p, made := newTracked(t, m)
	p.write("fold/"+made.Path, strings.TrimSuffix(p.read("fold/"+made.Path), "\n")+"\n\n> [!conflict]- Other version 0123456789ab\n> The emu is fed at ten.\n")
	p.write("other.go", "package main\n\n// Feeder feeds.\ntype Feeder struct{}\n")
	p.git("add", "-A")
	p.git("commit", "-q", "-m", "A feeder\n\nSince the emu eats at nine.")
	p.addMemory(wire.MemoryCreate{Content: saidShort, Title: "Session storage", Type: "decision"})
	p.addMemory(wire.MemoryCreate{Content: saidLong, Title: "Session storage", Type: "decision"})
	p.git("add", "-A")
	p.git("commit", "-q", "-m", "Memories")
	p.eventually("a merge is proposed", func() bool { return p.status().Proposals > 0 })
	p.sweep(wire.Reindex{Full: true})
	p.settle()
	if got := p.git("status", "--porcelain", "--untracked-files=all"); got != "" {
		t.Errorf("the daemon made by itself:\n%s", got)
	}
	if !p.found("Feeder", "other.go") {
		t.Error("source files are not found")
	}
}

// TestGitIsNeverWritten: in either mode no byte changes outside fold/ and the daemon's own
// folder: refs, index, config and stash are the user's (threats.md 1.4, git.md I2, I4).
func TestGitIsNeverWritten(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"sidecar", "tracked"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			var p *project
			if mode == "tracked" {
				p, _ = newTracked(t, newMachine(t))
			} else {
				p = newProject(t, map[string]string{"main.go": mainGo})
			}
			remote := filepath.Join(realDir(t), "remote.git")
			p.git("init", "-q", "--bare", remote)
			p.git("remote", "add", "origin", remote)
			p.git("push", "-q", "-u", "origin", "HEAD")
			p.write("main.go", mainGo+"\n// stashed\n")
			p.git("stash", "push", "-q")
			p.write("staged.go", "package main\n")
			p.git("add", "staged.go")
			p.write("main.go", mainGo+"\n// edited\n")
			p.git("status") // refreshes the index, as the user's commands do
			p.settle()
			before := p.outside()
			p.tour(remote, mode)
			after := p.outside()
			for name, was := range before {
				if after[name] != was {
					t.Errorf("%s changed", name)
				}
			}
			for name := range after {
				if _, ok := before[name]; !ok {
					t.Errorf("%s is new", name)
				}
			}
		})
	}
}

// tour uses what the daemon does with memories and history.
func (p *project) tour(remote, mode string) {
	p.t.Helper()
	ctx, text := p.ctx(), "Fed at ten."
	a := p.addMemory(wire.MemoryCreate{Title: "Tour", Content: "Fed at nine."})
	b := p.addMemory(wire.MemoryCreate{Title: "Tour's end", Content: "Fed at noon."})
	_, err := p.d.AddLink(ctx, local(), p.slug, a.ID, wire.LinkCreate{TargetID: b.ID})
	must(p.t, err)
	p.committed(a.Path)
	_, err = p.d.UpdateMemory(ctx, local(), p.slug, a.ID, wire.MemoryUpdate{Content: &text})
	must(p.t, err)
	_, err = p.d.DeleteMemory(ctx, local(), p.slug, b.ID, "")
	must(p.t, err)
	_, err = p.d.Restore(ctx, local(), p.slug, wire.Restore{ID: b.ID})
	must(p.t, err)
	_, err = p.d.Lost(ctx, local(), p.slug)
	must(p.t, err)
	_, err = p.d.Pause(ctx, local(), p.slug, wire.Pause{})
	must(p.t, err)
	_, err = p.d.Resume(ctx, local(), p.slug)
	must(p.t, err)
	_, err = p.d.AddRepository(ctx, local(), p.slug, wire.RepositoryCreate{Remote: remote})
	if (err != nil) != (mode == "tracked") {
		p.t.Errorf("sync on: %v", err)
	}
	p.sweep(wire.Reindex{Full: true})
	p.settle()
	p.restart()
	p.settle()
	other := map[string]string{"sidecar": "tracked", "tracked": "sidecar"}[mode]
	p.inMode(other)
	p.settle()
	p.inMode(mode)
	p.settle()
}

// outside returns every file of the checkout with its bytes and mode, without fold/ and
// the daemon's own folder in .git.
func (p *project) outside() map[string]string {
	p.t.Helper()
	out := map[string]string{}
	must(p.t, filepath.WalkDir(p.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(p.dir, path)
		switch rel = filepath.ToSlash(rel); {
		case rel == "fold", rel == ".git/foldwatch":
			return fs.SkipDir
		case e.IsDir():
			out[rel] = "folder"
			return nil
		}
		fi, err := e.Info()
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		out[rel] = fmt.Sprintf("%v %v %x", fi.Mode(), fi.ModTime().Format(time.RFC3339Nano), b)
		return err
	}))
	return out
}

// TestRemoveOfATrackedCheckout: what the user's branch has stays, and so does what the
// other work trees of the repository keep.
func TestRemoveOfATrackedCheckout(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p, made := newTracked(t, m)
	linked := filepath.Join(realDir(t), "worktree")
	git(t, p.dir, "worktree", "add", "-q", "-b", "topic", linked)
	m.add(linked, wire.ProjectCreate{})
	l, err := usergit.Locate(p.ctx(), linked)
	must(t, err)
	name := p.slugOf(linked)
	must(t, p.d.RemoveProject(p.ctx(), local(), p.slug, wire.ProjectRemove{Path: p.dir, Purge: true}))
	if !p.exists("fold/" + made.Path) {
		t.Error("a memory of the branch was deleted")
	}
	if _, err := p.d.AddMemory(p.ctx(), local(), name, wire.MemoryCreate{Content: "Still kept."}); err != nil {
		t.Errorf("the linked work tree: %v", err)
	}
	must(t, p.d.RemoveProject(p.ctx(), local(), p.slug, wire.ProjectRemove{Purge: true}))
	if _, err := os.Stat(l.InMode(true).StateDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its own folder is there: %v", err)
	}
}

// TestUntrackAwaitsTheWorkTrees: in sidecar mode all work trees have the fold/ of the main
// one, so that what another has not committed, or what is lost, is not given up unasked.
func TestUntrackAwaitsTheWorkTrees(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p, _ := newTracked(t, m)
	linked := filepath.Join(realDir(t), "worktree")
	git(t, p.dir, "worktree", "add", "-q", "-b", "topic", linked)
	m.add(linked, wire.ProjectCreate{})
	made, err := p.d.AddMemory(p.ctx(), local(), p.slugOf(linked), wire.MemoryCreate{Title: "On topic", Content: "Only there."})
	must(t, err)
	sidecar := "sidecar"
	refused := func(why string) {
		t.Helper()
		_, err := p.d.UpdateProject(p.ctx(), local(), p.slug, wire.ProjectUpdate{Mode: &sidecar})
		if !errors.Is(err, fold.ErrConflict) || !strings.Contains(fmt.Sprint(err), why) || p.status().Mode != "tracked" {
			t.Errorf("untrack: %v; the mode is %s", err, p.status().Mode)
		}
	}
	refused(linked + " are not committed")
	git(t, linked, "add", "fold")
	git(t, linked, "commit", "-q", "-m", "Keep it")
	lost := p.addMemory(wire.MemoryCreate{Title: "Taken away", Content: "By git clean."})
	git(t, p.dir, "clean", "-fdq", "fold")
	refused("are lost")
	if _, err := p.d.Restore(p.ctx(), local(), p.slug, wire.Restore{ID: lost.ID}); err != nil {
		t.Error(err)
	}
	p.inMode(sidecar)
	if _, err := os.Stat(filepath.Join(linked, "fold", filepath.FromSlash(made.Path))); err != nil {
		t.Error(err)
	}
	if !p.found("git clean", "Taken away") {
		t.Error("what was restored is not found")
	}
}

// TestFoldIsMovedAway: a folder that is renamed tells of none of its files. In sidecar mode
// that is for the vanish guard, in tracked mode the memories are not there any more.
func TestFoldIsMovedAway(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"sidecar", "tracked"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, map[string]string{"main.go": mainGo})
			made := p.addMemory(wire.MemoryCreate{Title: "Moved with its folder", Content: "The ibis moves."})
			p.committed(made.Path)
			if mode == "tracked" {
				p.inMode(mode)
				p.git("add", "fold")
				p.git("commit", "-q", "-m", "Keep memories")
			}
			there := func() bool { return p.found("ibis moves", "Moved with its folder") }
			p.eventually("the memory is found", there)
			away := filepath.Join(realDir(t), "away")
			must(t, os.Rename(p.file("fold"), away))
			if mode == "tracked" {
				p.eventually("it is not found any more", func() bool { return !there() })
			} else {
				p.eventually("the guard is up", func() bool { return p.noticed("fold/ is missing") })
				if !there() {
					t.Error("a memory that may come back was taken out of the index")
				}
			}
			must(t, os.Rename(away, p.file("fold")))
			p.eventually("the memory is back", func() bool { return there() && !p.noticed("fold/ is missing") })
		})
	}
}
