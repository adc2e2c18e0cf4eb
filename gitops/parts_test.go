package gitops_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
)

// TestACommitEndsWithItsContext: a stop in the middle of a commit of many files
// need not wait for the rest of them, and the next commit takes them all.
func TestACommitEndsWithItsContext(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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

// An enderCtx ends when it is asked for the nth time whether it did.
type enderCtx struct {
	context.Context
	left atomic.Int64
}

func (c *enderCtx) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestAMirrorEndsAnywhere: wherever in a copy of history and descriptions a stop
// comes, the copy ends there, and what it wrote is whole.
func TestAMirrorEndsAnywhere(t *testing.T) {
	t.Parallel()
	dir, mirror := checkout(t), filepath.Join(realDir(t), "mirror.git")
	s := openStore(t, dir, func(opt *gitops.StoreOptions) { opt.Mirror = mirror })
	const files = 12
	var writes []gitops.Write
	for i := range files {
		id, b := memoryFile(fmt.Sprintf("file%d.go", i), "Keeps connections.")
		writes = append(writes, gitops.Write{ID: id, New: b, Described: append(slices.Clip(b), "Pure.\n"...)})
	}
	if n, _, err := s.PutMany(t.Context(), writes); err != nil || n != files {
		t.Fatalf("PutMany = %d, %v", n, err)
	}
	must2(s.CommitAll(t.Context()))(t)
	described := func() bool {
		b, err := exec.CommandContext(t.Context(), "git", "--git-dir="+mirror, "for-each-ref").Output()
		return err == nil && strings.Contains(string(b), "described")
	}
	ended, late := 0, 0
	for n := int64(0); ; n++ {
		must(t, os.RemoveAll(mirror))
		ctx := &enderCtx{Context: t.Context()}
		ctx.left.Store(n)
		err := s.Mirror(ctx)
		if err == nil {
			break
		}
		if ended++; !errors.Is(err, context.Canceled) {
			t.Fatalf("Mirror that ends at look %d = %v, want that it was canceled", n, err)
		}
		if described() {
			t.Errorf("a copy that ended at look %d names its descriptions", n)
		}
		if _, ok := gitops.MirrorHolds(mirror); ok {
			late++ // the journal is whole: it ended among the descriptions
		}
		if ended > 20*files {
			t.Fatal("the copy never ends well")
		}
	}
	if ended < 2*files || late < files {
		t.Errorf("the copy looked at its context %d times, %d of them among %d descriptions", ended, late, files)
	}
	if !described() {
		t.Error("the mirror has no descriptions")
	}
	git(t, dir, "--git-dir="+mirror, "fsck", "--full", "--strict")
}
