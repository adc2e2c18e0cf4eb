package gitops_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestASaveThatWasCoveredForAMomentIsKept has an editor save just before our
// version is exchanged with the file, and another, which read our version in
// the moment it stood there, save over it: the first one's text is in the
// journal.
func TestASaveThatWasCoveredForAMomentIsKept(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	var f faults
	s := openStore(t, dir, func(o *gitops.StoreOptions) { o.Faults = &f })
	ctx := t.Context()
	id, first := memoryFile("Covered", "Begins here.")
	_, ours := memoryFile("Covered", "Ours.")
	_, theirs := memoryFile("Covered", "Ours, and more by one who saw it.")
	_, err := s.Put(ctx, gitops.Write{ID: id, New: first})
	must(t, err)
	_, err = s.Commit(ctx, []string{id.Path()}, "")
	must(t, err)
	file := filepath.Join(dir, "fold", filepath.FromSlash(id.Path()))
	saved := false
	f.mu.Lock()
	f.match = func(op disk.Op, path string) error {
		if op != disk.OpRename || path != id.Path() || saved {
			return nil
		}
		saved = true
		return os.WriteFile(file, append(slices.Clip(first), "\nSaved by hand.\n"...), 0o644)
	}
	f.mu.Unlock()
	_, err = s.Put(ctx, gitops.Write{ID: id, Base: first, New: ours})
	if !errors.Is(err, fold.ErrConflict) || !saved {
		t.Fatalf("Put = %v, saved %v, want a conflict", err, saved)
	}
	must(t, os.WriteFile(file, theirs, 0o644))
	_, err = s.Commit(ctx, []string{id.Path()}, "")
	must(t, err)
	found := false
	must(t, s.Versions(ctx, id.Path(), func(_ string, b []byte) bool {
		found = found || strings.Contains(string(b), "Saved by hand.")
		return true
	}))
	if !found {
		t.Error("what was saved by hand is nowhere in the journal")
	}
}
