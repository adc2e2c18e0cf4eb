package gitops_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestFreshCloneHasNothingToPush: what a clone brought, and the journal has not read yet,
// is not taken for deleted; what is deleted then is.
func TestFreshCloneHasNothingToPush(t *testing.T) {
	t.Parallel()
	remote := sharedRemote(t)
	a := newClone(t, remote)
	describe(t, a.s, gitops.Write{Path: fold.ProjectFile, New: []byte(aProject)})
	p := a.remember("First", "x")
	a.remember("Second", "y")
	if did := a.sync(); !did.Pushed || did.Sent != 2 {
		t.Errorf("sync = %+v, want two memories sent: the project file is none", did)
	}
	b := newClone(t, remote)
	unpushed := func(want int) {
		t.Helper()
		if did := b.sync(); did.Merged > 0 {
			t.Errorf("sync = %+v", did)
		}
		st, err := b.s.BranchState(t.Context())
		if must(t, err); st.Unpushed != want || !st.Pulled || !st.Level {
			t.Errorf("state = %+v, want %d unpushed", st, want)
		}
	}
	unpushed(0)
	_, err := b.s.CommitAll(t.Context())
	must(t, err)
	unpushed(0)
	_, err = b.s.Put(t.Context(), gitops.Write{Path: p, Base: read(t, filepath.Join(b.dir, "fold", p))})
	must(t, err)
	_, err = b.s.Commit(t.Context(), nil, "")
	must(t, err)
	unpushed(1)
}

// TestStateFollowsPullAndPush: that the user has pulled, or pushed, is seen before the
// next sync.
func TestStateFollowsPullAndPush(t *testing.T) {
	t.Parallel()
	remote := sharedRemote(t)
	a, b := newClone(t, remote), newClone(t, remote)
	a.remember("First", "x")
	write(t, filepath.Join(a.dir, "a.go"), "package a // more\n")
	git(t, a.dir, "commit", "-qam", "source")
	git(t, a.dir, "push", "-q")
	b.waits("the remote has commits that change more than fold/")
	want := func(when string, theirs int, pulled, level bool) {
		t.Helper()
		st, err := b.s.BranchState(t.Context())
		if must(t, err); len(st.Theirs) != theirs || st.Pulled != pulled || st.Level != level {
			t.Errorf("%s: %+v, want %d of theirs, pulled %t, level %t", when, st, theirs, pulled, level)
		}
	}
	want("before", 1, false, false)
	git(t, b.dir, "pull", "-q")
	want("pulled", 0, true, true)
	git(t, b.dir, "commit", "-q", "--allow-empty", "-m", "mine")
	want("committed", 0, true, false)
	git(t, b.dir, "push", "-q")
	want("pushed", 0, true, true)
}

// TestNewestOnBranch: the newest commit of memories that git can show.
func TestNewestOnBranch(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := branchStore(t, dir, nil)
	if _, ok, err := s.NewestOnBranch(t.Context()); err != nil || ok {
		t.Errorf("before the first: %t, %v", ok, err)
	}
	remember(t, s, "First", "x")
	at := onto(t, s)
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "mine")
	rev, ok, err := s.NewestOnBranch(t.Context())
	must(t, err)
	if !ok || rev.Oid != at.Oid || !strings.HasPrefix(rev.Subject, "fold: ") || rev.Time.IsZero() {
		t.Errorf("NewestOnBranch = %+v, %t, want %s", rev, ok, at.Oid)
	}
	git(t, dir, "show", rev.Oid)
}
