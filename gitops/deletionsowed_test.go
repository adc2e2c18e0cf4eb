package gitops_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops"
)

// TestDeletedAndEditedBeforeItIsInTheJournal: while the deletion waits, a person saves another version.
func TestDeletedAndEditedBeforeItIsInTheJournal(t *testing.T) {
	t.Parallel()
	h := holdMemory(t, []string{"checkout", "-q", "-b", "topic"})
	h.remove()
	write(t, h.file, string(edited(string(read(t, h.file)), "- last", "- last, by a person")))
	h.ahead.Store(int64(2 * time.Second))
	h.commit()
	h.place()
	h.commit()
	h.place()
	if _, err := h.Read(h.path); err != nil {
		t.Errorf("the edit is gone: %v", err)
	}
}

// TestDeletedAndRestored: what git brought back is restored through the API before it is taken away.
func TestDeletedAndRestored(t *testing.T) {
	t.Parallel()
	h := holdMemory(t)
	h.ahead.Store(int64(time.Hour))
	h.remove()
	h.commit()
	h.ahead.Store(int64(2 * time.Second))
	write(t, filepath.Join(h.dir, "a.go"), "package a // mine\n")
	git(t, h.dir, "stash", "push", "-q")
	git(t, h.dir, "stash", "drop", "-q")
	git(t, h.dir, "checkout", "-q", "-b", "topic")
	v0 := read(t, h.file)
	h.commit()
	_, err := h.Put(t.Context(), gitops.Write{Path: h.path, New: v0})
	must(t, err)
	h.commit()
	h.place()
	h.commit()
	h.place()
	if _, err := h.Read(h.path); err != nil {
		t.Errorf("what was restored is gone: %v", err)
	}
}

// TestCleanOfWhatTheBranchNeverHad: the branch does not have what git clean takes away:
// no merge did it, and git cannot bring it back, so we do.
func TestCleanOfWhatTheBranchNeverHad(t *testing.T) {
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
	git(t, dir, "clean", "-fdxq")
	rec, err := s.CommitAll(t.Context())
	must(t, err)
	if !rec.Guarded {
		t.Errorf("%d deletions are recorded, and no guard", len(rec.Removed))
	}
	ahead.Store(int64(3 * time.Hour))
	back, err := s.RestoreVanished(t.Context())
	must(t, err)
	if v, err := s.Guard(t.Context()); err != nil || v.Guarded || len(back) != 30 {
		t.Errorf("%d are back, the guard is %+v, %v", len(back), v, err)
	}
	for _, p := range paths {
		if _, err := s.Read(p); err != nil {
			t.Error(err)
		}
	}
}

// TestDeletedAndHalfBack: an empty file, which is still being written, is no edit.
func TestDeletedAndHalfBack(t *testing.T) {
	t.Parallel()
	r := newDeletedRig(t, true)
	f := filepath.Join(r.dir, "fold", r.path)
	write(t, f, "")
	_, err := r.s.Commit(t.Context(), []string{r.path}, "")
	must(t, err)
	must(t, os.Remove(f))
	git(t, r.dir, "checkout", "-q", "HEAD", "--", ".")
	r.look(true)
	r.check()
}

// TestDeletedAndEditedByAMate: a version that the journal has seen on another branch is an edit all the same, where a merge brings it.
func TestDeletedAndEditedByAMate(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	r := &deletedRig{t: t, dir: dir, s: branchStore(t, dir, nil)}
	remember(t, r.s, "Another", "x")
	onto(t, r.s)
	r.path = remember(t, r.s, "Session timeout", "Thirty minutes.")
	onto(t, r.s)
	write(t, filepath.Join(dir, "late.go"), "package a\n")
	git(t, dir, "add", "late.go")
	git(t, dir, "commit", "-qm", "the user's own")
	r.mate("mate")
	git(t, dir, "checkout", "-q", "mate")
	r.look(false)
	git(t, dir, "checkout", "-q", "main")
	r.look(false)
	r.remove(true)
	git(t, dir, "merge", "-q", "mate")
	r.look(true)
	if b, err := r.s.Read(r.path); err != nil || !strings.Contains(string(b), "Forty") {
		t.Errorf("the edit of a mate is gone: %v", err)
	}
}

// TestDeletedAndAwayWhereItDiffers: a visit to a branch with another version is no edit, also if it is looked at there.
func TestDeletedAndAwayWhereItDiffers(t *testing.T) {
	t.Parallel()
	r := newDeletedRig(t, true)
	r.mate("topic")
	git(t, r.dir, "checkout", "-q", "topic")
	r.look(false)
	git(t, r.dir, "checkout", "-q", "main")
	r.look(true)
	r.check()
}

// TestDeletedAndAMergeGivenUp: conflict markers are no edit, and the merge is given up.
func TestDeletedAndAMergeGivenUp(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	r := &deletedRig{t: t, dir: dir, s: branchStore(t, dir, nil)}
	remember(t, r.s, "Another", "x")
	onto(t, r.s)
	r.path = remember(t, r.s, "Session timeout", "Thirty minutes.")
	onto(t, r.s)
	r.mate("mate")
	f := filepath.Join(dir, "fold", r.path)
	write(t, f, strings.Replace(string(read(t, f)), "Thirty", "Fifty", 1))
	git(t, dir, "commit", "-qam", "mine")
	r.look(false)
	r.remove(true)
	failing(t, dir, "merge", "-q", "mate")
	_, err := r.s.CommitAll(t.Context())
	must(t, err)
	git(t, dir, "merge", "--abort")
	r.look(true)
	r.check()
}

// TestDeletedAndRevertedLater: once the branch has the deletion a revert is what the user wants, whatever else is set aside.
func TestDeletedAndRevertedLater(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	r := &deletedRig{t: t, dir: dir, s: branchStore(t, dir, nil)}
	other := remember(t, r.s, "Another", "x")
	r.path = remember(t, r.s, "Session timeout", "Thirty minutes.")
	onto(t, r.s)
	f := filepath.Join(dir, "fold", other)
	write(t, f, string(read(t, f))+"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n")
	git(t, dir, "commit", "-qam", "conflict markers committed")
	r.look(true)
	r.remove(true)
	r.look(true)
	r.check()
	git(t, dir, "revert", "--no-edit", "HEAD")
	r.look(true)
	if _, err := r.s.Read(r.path); err != nil {
		t.Errorf("a deliberate revert is undone: %v", err)
	}
}

// TestNothingOnTheBranchYet: the guard stays up where the branch never had what is gone.
func TestNothingOnTheBranchYet(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := branchStore(t, dir, nil)
	fill(t, s, 30)
	must(t, os.RemoveAll(filepath.Join(dir, "fold")))
	rec, err := s.CommitAll(t.Context())
	must(t, err)
	if !rec.Guarded {
		t.Error("fold/ is gone, and the guard is not up")
	}
	remember(t, s, "Another", "x")
	for range 2 {
		_, err := s.Guard(t.Context())
		must(t, err)
		rec, err = s.CommitAll(t.Context())
		must(t, err)
		if len(rec.Removed) > 0 {
			t.Errorf("rm -rf fold is recorded as %d deletions", len(rec.Removed))
		}
	}
}

// TestDeletionsOfAnotherForm: what cannot be understood of the list blocks nothing.
func TestDeletionsOfAnotherForm(t *testing.T) {
	t.Parallel()
	r := newDeletedRig(t, true)
	must(t, r.s.Close())
	f := filepath.Join(r.dir, ".git/foldwatch/deletions.json")
	write(t, f, `{"`+r.path+`":{"rev":"1111111111111111111111111111111111111111"}}`)
	git(t, r.dir, "reset", "-q", "--hard")
	r.s = branchStore(t, r.dir, nil)
	id, b := memoryFile("Third", "y")
	_, err := r.s.Put(t.Context(), gitops.Write{ID: id, New: b})
	must(t, err)
	if _, err = r.s.CommitAll(t.Context()); err != nil {
		t.Errorf("%v", err)
	}
}

// TestDeletedAndAwayWithoutFold: a visit to a branch without fold/ settles nothing.
func TestDeletedAndAwayWithoutFold(t *testing.T) {
	t.Parallel()
	r := newDeletedRig(t, true)
	git(t, r.dir, "checkout", "-q", "-b", "old", "HEAD~2")
	must(t, r.s.OntoBranch(false))
	git(t, r.dir, "checkout", "-q", "main")
	must(t, r.s.OntoBranch(true))
	r.look(true)
	r.check()
}

// TestDeletedAndRestoredBesideAStash: as TestDeletedAndRestored, on the same branch.
func TestDeletedAndRestoredBesideAStash(t *testing.T) {
	t.Parallel()
	h := holdMemory(t)
	git(t, h.dir, "commit", "-qam", "second")
	v := read(t, h.file)
	h.ahead.Store(int64(time.Hour))
	h.remove()
	h.commit()
	h.ahead.Store(int64(2 * time.Second))
	write(t, filepath.Join(h.dir, "a.go"), "package a // mine\n")
	git(t, h.dir, "stash", "push", "-q") // the stash brings it back
	h.commit()
	_, err := h.Put(t.Context(), gitops.Write{Path: h.path, New: v}) // restore
	must(t, err)
	h.commit()
	git(t, h.dir, "stash", "drop", "-q")
	h.place()
	h.commit()
	h.ahead.Store(int64(3 * time.Minute))
	h.commit()
	h.place()
	if b, err := h.Read(h.path); err != nil || !strings.Contains(string(b), "last") {
		t.Errorf("%v", err)
	}
}
