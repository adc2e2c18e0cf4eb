package daemon_test

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
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
			git(t, base, "clone", "-q", newCheckout(t, map[string]string{"main.go": mainGo}), main)
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
	dir := newCheckout(t, map[string]string{"main.go": mainGo})
	other := newCheckout(t, map[string]string{"main.go": mainGo})
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
