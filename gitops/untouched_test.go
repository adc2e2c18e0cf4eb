package gitops_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNothingElseIsWritten: I2 and I4. Not a byte and not a time stamp changes
// outside fold/ and .git/foldwatch.
func TestNothingElseIsWritten(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	write(t, filepath.Join(dir, "a.go"), "package a // edited\n")
	git(t, dir, "add", "a.go")
	git(t, dir, "commit", "-qm", "second")
	write(t, filepath.Join(dir, "staged.go"), "package s\n")
	git(t, dir, "add", "staged.go")
	before := snapshot(t, dir)
	status := git(t, dir, "--no-optional-locks", "status", "--porcelain")

	s := openStore(t, dir, nil)
	ctx := t.Context()
	paths := fill(t, s, 3)
	_, err := s.CommitAll(ctx)
	must(t, err)
	_, err = s.Syncer().Squash(ctx)
	must(t, err)
	_, err = s.Guard(ctx)
	must(t, err)
	_, err = s.Restore(ctx, paths[0], s.Tip(), nil)
	must(t, err)
	if got := git(t, dir, "--no-optional-locks", "status", "--porcelain"); got != status {
		t.Errorf("git status = %q, was %q", got, status)
	}
	must(t, s.Close())
	must(t, os.RemoveAll(filepath.Join(dir, ".git/foldwatch")))
	unchanged(t, before, snapshot(t, dir))
}
