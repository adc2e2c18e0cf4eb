package daemon_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
)

// TestWorkTreesOfABranchThatTracksFold: the folder lies in the main work tree,
// so its branch decides for all of them, whichever is opened first, and also
// after it has changed.
func TestWorkTreesOfABranchThatTracksFold(t *testing.T) {
	t.Parallel()
	first := newProject(t, map[string]string{"main.go": mainGo})
	r := first.addMemory(wire.MemoryCreate{Title: "Shared decision", Content: "The emu is fed at nine."})
	first.committed(r.Path)
	first.stop()
	dir := newCheckout(t, map[string]string{"main.go": mainGo})
	git(t, dir, "branch", "clean")
	git(t, dir, "branch", "feature")
	copyTree(t, first.file("fold"), filepath.Join(dir, "fold"))
	git(t, dir, "add", "-A", "-f")
	git(t, dir, "commit", "-q", "-m", "Track fold")
	linked := filepath.Join(realDir(t), "worktree")
	git(t, dir, "worktree", "add", "-q", linked, "feature")
	m := newMachine(t)
	p := m.add(dir, wire.ProjectCreate{})
	m.add(linked, wire.ProjectCreate{})
	name := p.slugOf(linked)
	onto := func(want string) func() bool {
		return func() bool {
			for _, name := range []string{p.slug + "@", name} {
				if st, err := p.d.ProjectStatus(p.ctx(), local(), name); err != nil || st.Mode != want {
					return false
				}
			}
			return true
		}
	}
	p.eventually("both commit onto the branch", onto("tracked"))
	r, err := p.d.AddMemory(p.ctx(), local(), name, wire.MemoryCreate{Content: "Yes."})
	if err != nil || !p.exists("fold/"+strings.TrimPrefix(r.Path, "fold/")) {
		t.Errorf("a write from a work tree: %v", err)
	}
	git(t, dir, "checkout", "-q", "clean")
	p.eventually("both commit beside the branch", onto("sidecar"))
	for _, name := range []string{p.slug + "@", name} {
		if _, err := p.d.AddMemory(p.ctx(), local(), name, wire.MemoryCreate{Content: "Yes, for " + name}); err != nil {
			t.Errorf("a write from %s: %v", name, err)
		}
	}
}
