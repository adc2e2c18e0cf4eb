package gitops_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops"
)

// TestGuardInBranchModeIsLowered: what a merge took from the branch while the guard was
// up did not vanish, and what was put off is placed.
func TestGuardInBranchModeIsLowered(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	var ahead atomic.Int64
	ahead.Store(int64(time.Hour))
	s := branchStore(t, dir, func(o *gitops.StoreOptions) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	remember(t, s, "Another", "x")
	onto(t, s)
	paths := fill(t, s, 30)
	onto(t, s)
	write(t, filepath.Join(dir, "late.go"), "package a\n")
	git(t, dir, "add", "late.go")
	git(t, dir, "commit", "-qm", "the user's own")
	git(t, dir, "branch", "theirs")
	git(t, dir, "worktree", "add", "-q", dir+"-w", "theirs")
	git(t, dir+"-w", "rm", "-q", "fold/"+paths[3])
	git(t, dir+"-w", "commit", "-qm", "deleted elsewhere")
	git(t, dir, "worktree", "remove", "--force", dir+"-w")
	git(t, dir, "checkout", "-q", "HEAD~2")
	rec, err := s.CommitAll(t.Context())
	must(t, err)
	if !rec.Guarded {
		t.Fatal("most are gone, and the guard is not up")
	}
	git(t, dir, "checkout", "-q", "main")
	ahead.Store(0)
	git(t, dir, "merge", "-q", "--ff-only", "theirs")
	have, err := s.Read(paths[7])
	must(t, err)
	p, err := s.Put(t.Context(), gitops.Write{Path: paths[7], Base: have})
	must(t, err)
	if p.Waits == "" {
		t.Fatal("a deletion right after a switch does not wait")
	}
	ahead.Store(int64(3 * time.Hour))
	for range 2 {
		_, err = s.RestoreVanished(t.Context())
		must(t, err)
		_, err = s.CommitAll(t.Context())
		must(t, err)
		_, err = s.PlacePutOff(t.Context())
		must(t, err)
		_, err = s.CommitBranch(t.Context())
		must(t, err)
	}
	v, err := s.Guard(t.Context())
	must(t, err)
	if v.Guarded {
		t.Errorf("hours later the guard is up: %+v, %d put off", v, len(s.PutOff()))
	}
	for _, p := range []string{paths[3], paths[7]} {
		if _, err := s.Read(p); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", p, err)
		}
	}
}
