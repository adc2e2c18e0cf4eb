package gitops_test

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
)

// TestCommitBranchStartsNoProgram: what a commit has to know it reads itself, once
// git's configuration is known.
func TestCommitBranchStartsNoProgram(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := branchStore(t, dir, nil)
	remember(t, s, "First", "x")
	first := onto(t, s)
	remember(t, s, "Second", "x")
	var n atomic.Int64
	b, err := s.CommitBranch(gitops.WithCounter(t.Context(), &n))
	must(t, err)
	if b.Replaced != first.Oid || n.Load() != 0 {
		t.Errorf("CommitBranch = %+v with %d git programs, want it to replace %s with none", b, n.Load(), first.Oid)
	}
}

// TestCommitBranchBesideMany: with more trees than are kept, those that each commit
// needs are, and those of memories are read from the journal, which has them too.
func TestCommitBranchBesideMany(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]func(s *gitops.Store) int{
		"more than is kept": func(s *gitops.Store) int { s.AgeObjects(); return 1 },
		"in the journal":    (*gitops.Store).ForgetOwnTrees,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := branchStore(t, checkout(t), nil)
			for i := range 3 {
				remember(t, s, fmt.Sprint("Memory ", i), "x")
				var n atomic.Int64
				b, err := s.CommitBranch(gitops.WithCounter(t.Context(), &n))
				must(t, err)
				if b.Oid == "" || i > 0 && n.Load() != 0 {
					t.Errorf("commit %d: CommitBranch = %+v with %d git programs, want none", i, b, n.Load())
				}
				if forget(s) == 0 {
					t.Fatal("nothing to forget")
				}
			}
		})
	}
}

// TestSeenCommitStays: a commit of ours that another reference leads to is not
// replaced, however that reference came to be (B6).
func TestSeenCommitStays(t *testing.T) {
	t.Parallel()
	for name, see := range map[string]func(t *testing.T, dir string){
		"branch":        func(t *testing.T, dir string) { git(t, dir, "branch", "side") },
		"nested branch": func(t *testing.T, dir string) { git(t, dir, "branch", "a/b/c") },
		"moved branch":  func(t *testing.T, dir string) { git(t, dir, "branch", "-f", "old", "main") },
		"packed":        func(t *testing.T, dir string) { git(t, dir, "tag", "x"); git(t, dir, "pack-refs", "--all", "--prune") },
		"stash": func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "a.go"), "package stashed\n")
			git(t, dir, "stash", "-q")
		},
		"linked work tree": func(t *testing.T, dir string) {
			git(t, dir, "worktree", "add", "-q", "--detach", filepath.Join(realDir(t), "wt"))
		},
		"remote-tracking": func(t *testing.T, dir string) { git(t, dir, "update-ref", "refs/remotes/origin/main", "HEAD") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := checkout(t)
			git(t, dir, "branch", "old")
			s := branchStore(t, dir, nil)
			remember(t, s, "First", "x")
			onto(t, s)
			remember(t, s, "Second", "x")
			first := onto(t, s)
			see(t, dir)
			remember(t, s, "Third", "x")
			b := onto(t, s)
			if first.Replaced == "" || b.Replaced != "" || git(t, dir, "rev-parse", "HEAD~") != first.Oid {
				t.Errorf("CommitBranch = %+v after %+v, want it to stand on it", b, first)
			}
			git(t, dir, "fsck", "--strict", "--no-dangling")
		})
	}
}
