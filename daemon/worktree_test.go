package daemon_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
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
	_, err := p.d.AddMemory(p.ctx(), local(), name, wire.MemoryCreate{Content: "No."})
	if !errors.Is(err, fold.ErrUnavailable) || fold.Hint(err) == "" {
		t.Errorf("a write from a work tree: %v, hint %q", err, fold.Hint(err))
	}
	git(t, dir, "checkout", "-q", "clean")
	for _, name := range []string{p.slug + "@", name} {
		p.eventually("writing is possible again to "+name, func() bool {
			_, err := p.d.AddMemory(p.ctx(), local(), name, wire.MemoryCreate{Content: "Yes, for " + name})
			return err == nil
		})
	}
}
