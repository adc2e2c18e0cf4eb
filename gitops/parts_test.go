package gitops_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
)

// TestACommitEndsWithItsContext: a stop in the middle of a commit of many files
// need not wait for the rest of them, and the next commit takes them all.
func TestACommitEndsWithItsContext(t *testing.T) {
	dir := checkout(t)
	const files, part, stopAt = 300, 100, 150
	for i := range files {
		id, b := memoryFile(fmt.Sprintf("memory %d", i), "x")
		write(t, filepath.Join(dir, "fold", filepath.FromSlash(id.Path())), string(b))
	}
	ctx, cancel := context.WithCancel(t.Context())
	looked := 0
	s := openStore(t, dir, func(opt *gitops.StoreOptions) {
		opt.Check = func(string, []byte) error {
			if looked++; looked == stopAt {
				cancel()
			}
			return nil
		}
	})
	s.LimitCommits(part)
	if _, err := s.CommitAll(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("CommitAll = %v, want that it was canceled", err)
	}
	if looked != stopAt {
		t.Errorf("%d files were looked at, want none after number %d", looked, stopAt)
	}
	if got := journalled(t, dir); got != part {
		t.Errorf("the journal has %d files, want those of the first commit", got)
	}
	r, err := s.CommitAll(t.Context())
	must(t, err)
	if got := journalled(t, dir); got != files || len(r.Written) != files-part || r.Oid != s.Tip() {
		t.Errorf("the journal has %d files of %d; the commit says it wrote %d", got, files, len(r.Written))
	}
	if got, want := strings.TrimSpace(repoGit(t, dir, "rev-list", "--count", "refs/foldwatch/journal")), "3"; got != want {
		t.Errorf("%s commits, want %s", got, want)
	}
	fsck(t, dir)
}

// journalled counts the memories in the journal.
func journalled(t *testing.T, dir string) int {
	t.Helper()
	return strings.Count(repoGit(t, dir, "ls-tree", "-r", "--name-only", "refs/foldwatch/journal"), ".md")
}

// TestAMirrorEndsWithItsContext: a copy that a stop ends is whole as far as it
// came, and the next one finishes it.
func TestAMirrorEndsWithItsContext(t *testing.T) {
	dir, mirror := checkout(t), filepath.Join(realDir(t), "mirror.git")
	s := openStore(t, dir, func(opt *gitops.StoreOptions) { opt.Mirror = mirror })
	fill(t, s, 30)
	_, err := s.Commit(t.Context(), nil, "")
	must(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Mirror(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Mirror = %v, want that it was canceled", err)
	}
	if n, ok := gitops.MirrorHolds(mirror); ok {
		t.Errorf("the mirror names %d files after a copy that ended", n)
	}
	must(t, s.Mirror(t.Context()))
	if n, ok := gitops.MirrorHolds(mirror); n != 30 || !ok {
		t.Errorf("MirrorHolds = %d, %v", n, ok)
	}
	git(t, dir, "--git-dir="+mirror, "fsck", "--full", "--strict")
}
