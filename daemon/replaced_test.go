package daemon_test

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
)

// shared returns a remote, and a machine whose project pool publishes the memory of
// that id there.
func shared(t *testing.T) (remote, id string) {
	t.Helper()
	p := newProject(t, map[string]string{"main.go": mainGo})
	remote = filepath.Join(realDir(t), "remote.git")
	git(t, p.dir, "clone", "-q", "--bare", p.dir, remote)
	r := p.addMemory(wire.MemoryCreate{Title: "Retry policy", Content: "Retry three zebras."})
	if on, err := p.d.AddRepository(p.ctx(), local(), p.slug, wire.RepositoryCreate{Remote: remote}); err != nil || on.Synced == nil {
		t.Fatalf("sync on = %+v, %v", on, err)
	}
	return remote, r.ID
}

// TestSyncMeetsARename: a sync that was asked for goes on in the checkout that took
// the place of the one it began with, where a round of its own learns meanwhile that
// the remote gives the project another name.
func TestSyncMeetsARename(t *testing.T) {
	t.Parallel()
	remote, id := shared(t)
	m := newMachine(t)
	p := m.add(New(t, map[string]string{"main.go": mainGo}), wire.ProjectCreate{Slug: "elsewhere"})
	late := p.d.LateSync(p.dir)
	on, err := p.d.AddRepository(p.ctx(), local(), p.slug, wire.RepositoryCreate{Remote: remote})
	if err != nil || on.Project != "app" {
		t.Fatalf("sync on = project %s, %v, want it to take over the name app", on.Project, err)
	}
	if reply, err := late(p.ctx()); err != nil || reply.Project != "app" {
		t.Errorf("a sync that was asked for before = project %q, %v", reply.Project, err)
	}
	p.slug = on.Project
	if _, err := p.get(id); err != nil {
		t.Error(err)
	}
}

// TestReplacedByASlowClone: a daemon that comes by while git clones anew, where a
// checkout was, waits for what the clone brings.
func TestReplacedByASlowClone(t *testing.T) {
	t.Parallel()
	remote, id := shared(t)
	var awaits atomic.Int64
	m := newMachineWith(t, t.TempDir(), func(m *machine) {
		m.faults = func(at string) error {
			if at == "await" {
				awaits.Add(1)
			}
			return nil
		}
	})
	dir := filepath.Join(realDir(t), "clone")
	git(t, filepath.Dir(dir), "clone", "-q", remote, dir)
	p := m.add(dir, wire.ProjectCreate{})
	if _, err := p.get(id); err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{dir, filepath.Join(p.dirs().Data, "mirrors")} {
		if err := os.RemoveAll(gone); err != nil {
			t.Fatal(err)
		}
	}
	git(t, filepath.Dir(dir), "init", "-q", dir)
	git(t, dir, "remote", "add", "origin", remote)
	added := make(chan error, 1)
	go func() {
		_, err := p.d.AddProject(p.ctx(), local(), wire.ProjectCreate{Path: dir})
		added <- err
	}()
	p.eventually("the daemon opens it", func() bool { return awaits.Load() > 0 || len(added) > 0 })
	git(t, dir, "fetch", "-q")
	git(t, dir, "checkout", "-q", "main")
	if err := <-added; err != nil {
		t.Fatal(err)
	}
	if _, err := p.get(id); err != nil {
		t.Error(err)
	}
}
