package daemon_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// slugOf is the name under which the checkout at dir is addressed.
func (m *machine) slugOf(dir string) string {
	m.t.Helper()
	slug, err := m.d.ProjectOfPath(m.ctx(), local(), dir)
	if err != nil {
		m.t.Fatalf("project of %s: %v", dir, err)
	}
	return slug
}

// TestPurgeLeavesWhatOthersKeep removes one checkout of a project and purges it,
// while a work tree or a copy of the same project is registered.
func TestPurgeLeavesWhatOthersKeep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		purge string // which checkout
		left  []string
		gone  []string
	}{
		"the worktree": {"worktree", []string{"main/fold/project.toml", "main/.git/foldwatch", "mirror", "copy/fold/project.toml"}, nil},
		"main":         {"main", []string{"main/fold/project.toml", "main/.git/foldwatch", "mirror", "copy/fold/project.toml"}, nil},
		"the copy":     {"copy", []string{"main/fold/project.toml", "main/.git/foldwatch", "mirror"}, []string{"copy/fold", "copy/.git/foldwatch"}},
		"all":          {"", nil, []string{"main/fold", "main/.git/foldwatch", "mirror", "copy/fold", "copy/.git/foldwatch"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := realDir(t)
			main := filepath.Join(base, "main")
			git(t, base, "clone", "-q", New(t, map[string]string{"main.go": mainGo}), main)
			p := newMachine(t).add(main, wire.ProjectCreate{Slug: "app"})
			r := p.addMemory(wire.MemoryCreate{Title: "Kept", Content: "The quokka is fed at nine."})
			p.committed(r.Path)
			p.stop() // which brings the mirror up to date
			copyTree(t, main, filepath.Join(base, "copy"))
			git(t, main, "worktree", "add", "-q", filepath.Join(base, "worktree"), "-b", "feature")
			p.start()
			p.add(filepath.Join(base, "worktree"), wire.ProjectCreate{})
			p.add(filepath.Join(base, "copy"), wire.ProjectCreate{})
			mirrors, err := filepath.Glob(filepath.Join(p.dirs().Data, "mirrors", "*.git"))
			if err != nil || len(mirrors) != 1 {
				t.Fatalf("mirrors %v, %v", mirrors, err)
			}
			slug := "app"
			if c.purge != "" {
				slug = p.slugOf(filepath.Join(base, c.purge))
			}
			in := wire.ProjectRemove{Purge: true}
			if c.purge == "main" || c.purge == "copy" {
				in.Path = filepath.Join(base, c.purge)
			}
			if err := p.d.RemoveProject(p.ctx(), local(), slug, in); err != nil {
				t.Fatal(err)
			}
			is := func(name string) bool {
				path := filepath.Join(base, name)
				if name == "mirror" {
					path = mirrors[0]
				}
				_, err := os.Lstat(path)
				return err == nil
			}
			for _, name := range c.left {
				if !is(name) {
					t.Errorf("%s is gone, although another checkout keeps it", name)
				}
			}
			for _, name := range c.gone {
				if is(name) {
					t.Errorf("%s is left", name)
				}
			}
			if c.purge != "" && c.purge != "main" {
				if _, err := p.get(r.ID); err != nil {
					t.Errorf("the memory of the one that is left: %v", err)
				}
			}
		})
	}
}

// TestManyAddOneCheckout is what an editor with several windows does.
func TestManyAddOneCheckout(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	dir := New(t, map[string]string{"main.go": mainGo})
	other := New(t, map[string]string{"main.go": mainGo})
	var wg sync.WaitGroup
	var created atomic.Int32
	for i := range 8 {
		wg.Go(func() {
			in := wire.ProjectCreate{Path: dir}
			if i%4 == 3 {
				in.Path = other
			}
			added, err := m.d.AddProject(m.ctx(), local(), in)
			if err != nil {
				t.Errorf("add %s: %v", in.Path, err)
			}
			if added.Created {
				created.Add(1)
			}
		})
	}
	wg.Wait()
	if n := created.Load(); n != 2 {
		t.Errorf("%d were created, want 2", n)
	}
	s, err := m.d.Status(m.ctx(), local())
	if err != nil || len(s.Projects) != 2 || s.Projects[0].Slug == s.Projects[1].Slug {
		t.Errorf("projects: %+v, %v", s.Projects, err)
	}
}

func TestWorkTreesShareOneFolder(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo})
	dir := filepath.Join(realDir(t), "worktree")
	p.git("worktree", "add", "-q", dir, "-b", "feature")
	_, err := p.d.AddProject(p.ctx(), local(), wire.ProjectCreate{Path: dir, FoldDir: "notes"})
	if !errors.Is(err, fold.ErrConflict) || !strings.Contains(err.Error(), "share one folder") || !strings.Contains(fold.Hint(err), "--fold-dir") {
		t.Errorf("another folder in a work tree: %v, hint %q", err, fold.Hint(err))
	}
	if q := p.add(dir, wire.ProjectCreate{FoldDir: "fold"}); q.slug != p.slug {
		t.Errorf("slug %s, want %s", q.slug, p.slug)
	}
}

// TestUpdateWhileItIsRead is for the race detector.
func TestUpdateWhileItIsRead(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 5 {
			name, mode := fmt.Sprintf("Name %d", i), []string{"fold", "local"}[i%2]
			if _, err := p.d.UpdateProject(p.ctx(), local(), p.slug, wire.ProjectUpdate{Name: &name, FileMemories: &mode}); err != nil {
				t.Errorf("update: %v", err)
			}
		}
	})
	for range 50 {
		p.status()
		if _, err := p.d.Project(p.ctx(), local(), p.slug); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	if now, err := p.d.Project(p.ctx(), local(), p.slug); err != nil || now.Name != "Name 4" {
		t.Errorf("name %q, %v", now.Name, err)
	}
	p.restart()
	if now, err := p.d.Project(p.ctx(), local(), p.slug); err != nil || now.Name != "Name 4" {
		t.Errorf("after a restart: name %q, %v", now.Name, err)
	}
}

// TestACopyKeepsItsOwnMemories is cp -r, then add: what is written in one must
// not land in the other, also when only one of them is there.
func TestACopyKeepsItsOwnMemories(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo})
	p.committed("project.toml")
	dir := filepath.Join(realDir(t), "copy")
	p.stop()
	copyTree(t, p.dir, dir)
	p.start()
	if name := p.slugOf(p.dir); name != p.slug {
		t.Errorf("the only one is called %s, want %s", name, p.slug)
	}
	q := p.add(dir, wire.ProjectCreate{})
	write := func(dir string) string {
		r, err := p.d.AddMemory(p.ctx(), local(), p.slugOf(dir), wire.MemoryCreate{Content: "Written in " + dir})
		if err != nil {
			t.Fatalf("add in %s: %v", dir, err)
		}
		return "fold/" + r.Path
	}
	if path := write(p.dir); !p.exists(path) {
		t.Error("a memory of the first is not there")
	}
	q.dir = dir
	if path := write(dir); !q.exists(path) || p.exists(path) {
		t.Error("a memory of the copy is not in the copy")
	}
	name := p.slugOf(dir)
	p.stop()
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	p.start()
	_, err := p.d.AddMemory(p.ctx(), local(), name, wire.MemoryCreate{Content: "For the copy that is away."})
	if err == nil {
		t.Error("a write for a copy that is away was taken by another")
	}
}

// TestTheProjectFileIsMadeAfterACrash: a crash between the registration and the
// first opening leaves a checkout without its project file.
func TestTheProjectFileIsMadeAfterACrash(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.add(New(t, map[string]string{"main.go": mainGo}), wire.ProjectCreate{Slug: "app"})
	m.stop()
	for _, path := range []string{p.file("fold"), p.file(".git/foldwatch"), filepath.Join(m.dirs().Data, "mirrors")} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	m.start()
	p.eventually("the project file is there", func() bool { return p.exists("fold/project.toml") })
	if text := p.read("fold/project.toml"); !strings.Contains(text, `slug = "app"`) {
		t.Errorf("project.toml = %s", text)
	}
}

// TestABrokenProjectFileIsNotForeign shows that a slip in project.toml is not
// answered with the advice to start a second folder of memories.
func TestABrokenProjectFileIsNotForeign(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo})
	dir := New(t, map[string]string{"main.go": mainGo, "fold/project.toml": "[indexing]\nexclude = \"oops\n"})
	_, err := p.d.AddProject(p.ctx(), local(), wire.ProjectCreate{Path: dir})
	if !errors.Is(err, fold.ErrInvalid) || !strings.Contains(err.Error(), "project.toml:2") || !strings.HasPrefix(fold.Hint(err), "mend that line") {
		t.Errorf("a broken project file: %v, hint %q", err, fold.Hint(err))
	}
}
