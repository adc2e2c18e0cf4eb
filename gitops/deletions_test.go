package gitops_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/disk"
)

// deletedRig is a checkout whose branch has a memory that is then deleted through the
// API, and not yet on the branch.
type deletedRig struct {
	t    *testing.T
	s    *gitops.Store
	dir  string
	path string
}

func newDeletedRig(t *testing.T, commit bool) *deletedRig {
	dir := checkout(t)
	r := &deletedRig{t: t, dir: dir, s: branchStore(t, dir, nil)}
	remember(t, r.s, "Another", "x")
	onto(t, r.s)
	r.path = remember(t, r.s, "Session timeout", "Thirty minutes.")
	onto(t, r.s)
	write(t, filepath.Join(dir, "late.go"), "package a\n")
	git(t, dir, "add", "late.go")
	git(t, dir, "commit", "-qm", "the user's own") // so that ours waits ten minutes in life
	r.remove(commit)
	return r
}

// mate commits another version of the memory on a new branch, elsewhere.
func (r *deletedRig) mate(branch string) {
	r.t.Helper()
	tree := r.dir + "-w"
	git(r.t, r.dir, "worktree", "add", "-q", "-b", branch, tree)
	f := filepath.Join(tree, "fold", r.path)
	write(r.t, f, strings.Replace(string(read(r.t, f)), "Thirty", "Forty", 1))
	git(r.t, tree, "commit", "-qam", "other")
	git(r.t, r.dir, "worktree", "remove", "--force", tree)
}

func (r *deletedRig) remove(commit bool) {
	r.t.Helper()
	have, err := r.s.Read(r.path)
	must(r.t, err)
	p, err := r.s.Put(r.t.Context(), gitops.Write{Path: r.path, Base: have})
	must(r.t, err)
	if p.Waits != "" {
		r.t.Fatalf("waits: %s", p.Waits)
	}
	if commit {
		_, err = r.s.Commit(r.t.Context(), nil, "")
		must(r.t, err)
	}
}

// look is what the daemon does when it sees changes and git rests.
func (r *deletedRig) look(branch bool) {
	r.t.Helper()
	for range 2 {
		_, err := r.s.CommitAll(r.t.Context())
		must(r.t, err)
		_, err = r.s.PlacePutOff(r.t.Context())
		must(r.t, err)
		if branch {
			_, err := r.s.CommitBranch(r.t.Context())
			must(r.t, err)
		}
	}
}

func (r *deletedRig) check() {
	r.t.Helper()
	b, err := r.s.Read(r.path)
	if !errors.Is(err, fs.ErrNotExist) {
		r.t.Errorf("deleted, and read again: %.40q, %v", b, err)
	}
	if at := atHead(r.t, r.dir, r.path); at != "" && !strings.Contains(at, "deleted: true") {
		r.t.Errorf("HEAD has it live")
	}
}

// TestDeletedStaysDeleted: what ordinary git brings back, before the branch has the
// deletion, is deleted again.
func TestDeletedStaysDeleted(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		do   func(r *deletedRig)
	}{
		{"control: stash popped", func(r *deletedRig) {
			write(r.t, filepath.Join(r.dir, "a.go"), "package a // mine\n")
			git(r.t, r.dir, "stash", "push", "-q")
			r.look(true)
			git(r.t, r.dir, "stash", "pop", "-q")
		}},
		{"control: topic merged", func(r *deletedRig) {
			git(r.t, r.dir, "checkout", "-q", "-b", "topic")
			git(r.t, r.dir, "commit", "-qam", "topic")
			git(r.t, r.dir, "checkout", "-q", "main")
			r.look(true)
			git(r.t, r.dir, "merge", "-q", "--no-ff", "--no-edit", "topic")
		}},
		{"stash that does not fit, given up", func(r *deletedRig) {
			write(r.t, filepath.Join(r.dir, "a.go"), "package a // mine\n")
			git(r.t, r.dir, "stash", "push", "-q")
			write(r.t, filepath.Join(r.dir, "a.go"), "package a // else\n")
			git(r.t, r.dir, "commit", "-qam", "else")
			failing(r.t, r.dir, "stash", "pop", "-q")
			git(r.t, r.dir, "checkout", "-q", "-f", "HEAD", "--", ".")
			git(r.t, r.dir, "reset", "-q")
		}},
		{"stash dropped", func(r *deletedRig) {
			write(r.t, filepath.Join(r.dir, "a.go"), "package a // mine\n")
			git(r.t, r.dir, "stash", "push", "-q")
			git(r.t, r.dir, "stash", "drop", "-q")
		}},
		{"autostash that does not fit", func(r *deletedRig) {
			git(r.t, r.dir, "branch", "up", "HEAD~1")
			git(r.t, r.dir, "worktree", "add", "-q", r.dir+"-up", "up")
			write(r.t, filepath.Join(r.dir+"-up", "a.go"), "package a // theirs\n")
			git(r.t, r.dir+"-up", "commit", "-qam", "theirs")
			write(r.t, filepath.Join(r.dir, "a.go"), "package a // mine\n")
			_, _ = git2(r.dir, "rebase", "-q", "--autostash", "up") // tells what does not fit, and succeeds
			if st := git(r.t, r.dir, "status", "--short"); !strings.Contains(st, "UU a.go") {
				r.t.Fatalf("the autostash fitted: %s", st)
			}
			git(r.t, r.dir, "checkout", "-q", "-f", "HEAD", "--", ".")
			git(r.t, r.dir, "reset", "-q")
			git(r.t, r.dir, "worktree", "remove", "--force", r.dir+"-up")
		}},
		{"to a commit without it and back", func(r *deletedRig) {
			git(r.t, r.dir, "checkout", "-q", "HEAD~2")
			git(r.t, r.dir, "checkout", "-q", "main")
		}},
		{"to a branch with another version and back", func(r *deletedRig) {
			r.mate("topic")
			git(r.t, r.dir, "checkout", "-q", "topic")
			git(r.t, r.dir, "checkout", "-q", "main")
		}},
		{"topic thrown away", func(r *deletedRig) {
			git(r.t, r.dir, "checkout", "-q", "-b", "topic")
			git(r.t, r.dir, "commit", "-qam", "topic")
			git(r.t, r.dir, "checkout", "-q", "main")
			git(r.t, r.dir, "branch", "-q", "-D", "topic")
		}},
		{"reset --hard", func(r *deletedRig) { git(r.t, r.dir, "reset", "-q", "--hard") }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newDeletedRig(t, true)
			tc.do(r)
			r.look(true)
			r.check()
		})
	}
}

// TestDeletedAndBackBeforeItIsInTheJournal: the file is back before the journal has the deletion.
func TestDeletedAndBackBeforeItIsInTheJournal(t *testing.T) {
	t.Parallel()
	r := newDeletedRig(t, false)
	write(t, filepath.Join(r.dir, "a.go"), "package a // mine\n")
	git(t, r.dir, "stash", "push", "-q")
	_, err := r.s.Commit(t.Context(), []string{r.path}, "")
	must(t, err)
	git(t, r.dir, "stash", "drop", "-q")
	r.look(true)
	r.check()
}

// TestDeletedAndBackBeforeItsTombstone: the tombstone lies in the work tree only.
func TestDeletedAndBackBeforeItsTombstone(t *testing.T) {
	t.Parallel()
	r := newDeletedRig(t, true)
	r.s.OnBranchStep(func(step string) error {
		if step == "intent" { // as any git command that refreshes the index
			must(t, os.Chtimes(filepath.Join(r.dir, ".git", "index"), time.Time{}, time.Now().Add(-time.Minute)))
		}
		return nil
	})
	b, err := r.s.CommitBranch(t.Context())
	must(t, err)
	if !b.Wait.Waits() {
		t.Fatal("the branch has it already")
	}
	r.s.OnBranchStep(nil)
	write(t, filepath.Join(r.dir, "a.go"), "package a // mine\n")
	git(t, r.dir, "stash", "push", "-q")
	git(t, r.dir, "stash", "drop", "-q")
	r.look(true)
	r.check()
}

type onWalSync struct {
	armed atomic.Bool
	fn    func()
}

func (o *onWalSync) Before(op disk.Op, path string, size int) (int, error) {
	if path == "wal" && op == disk.OpSync && o.armed.CompareAndSwap(true, false) {
		o.fn()
	}
	return size, nil
}

// TestDeletedWhileAStashBegins: git begins after we looked for it: it stashes, and puts back what we removed between.
func TestDeletedWhileAStashBegins(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	o := &onWalSync{}
	r := &deletedRig{t: t, dir: dir, s: branchStore(t, dir, func(so *gitops.StoreOptions) { so.Faults = o })}
	remember(t, r.s, "Another", "x")
	onto(t, r.s)
	r.path = remember(t, r.s, "Session timeout", "Thirty minutes.")
	onto(t, r.s)
	write(t, filepath.Join(dir, "a.go"), "package a // mine\n")
	saved, goOn := filepath.Join(t.TempDir(), "saved"), filepath.Join(t.TempDir(), "go")
	hook := "#!/bin/sh\ncase \"$GIT_INDEX_FILE\" in *stash*) touch " + saved + "; while [ ! -e " + goOn + " ]; do sleep 0.02; done;; esac\n"
	program(t, filepath.Join(dir, ".git/hooks/post-index-change"), hook)
	done := make(chan error, 1)
	o.fn = func() {
		go func() {
			c := exec.Command("git", "stash", "push", "-q")
			c.Dir = dir
			done <- c.Run()
		}()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for late := time.Now().Add(10 * time.Second); time.Now().Before(late); <-tick.C {
			if _, err := os.Stat(saved); err == nil {
				return
			}
		}
		t.Error("the hook was not called")
	}
	have, err := r.s.Read(r.path)
	must(t, err)
	o.armed.Store(true)
	_, err = r.s.Put(t.Context(), gitops.Write{Path: r.path, Base: have})
	must(t, err)
	write(t, goOn, "")
	must(t, <-done)
	must(t, os.Remove(filepath.Join(dir, ".git/hooks/post-index-change")))
	r.look(false)
	git(t, dir, "stash", "pop", "-q")
	r.look(true)
	r.check()
}

// TestDeletedButEdited: a version that nobody knew when it was deleted is an edit, and
// wins (I9); so does who remembers it again.
func TestDeletedButEdited(t *testing.T) {
	t.Parallel()
	r := newDeletedRig(t, true)
	b := strings.Replace(git(t, r.dir, "show", "HEAD:fold/"+r.path), "Thirty", "Fifty", 1)
	write(t, filepath.Join(r.dir, "fold", r.path), b)
	r.look(true)
	if now, err := r.s.Read(r.path); err != nil || !strings.Contains(string(now), "Fifty") {
		t.Errorf("the edit is gone: %.60q, %v", now, err)
	}

	again := newDeletedRig(t, true)
	_, err := again.s.Put(t.Context(), gitops.Write{Path: again.path, New: []byte(git(t, again.dir, "show", "HEAD:fold/"+again.path))})
	must(t, err)
	again.look(true)
	git(t, again.dir, "reset", "-q", "--hard")
	again.look(true)
	if _, err := again.s.Read(again.path); err != nil {
		t.Errorf("what was remembered again is gone: %v", err)
	}
}

// TestDeletedIsOwedAfterARestart: what the branch owes outlives the daemon.
func TestDeletedIsOwedAfterARestart(t *testing.T) {
	t.Parallel()
	r := newDeletedRig(t, true)
	must(t, r.s.Close())
	git(t, r.dir, "reset", "-q", "--hard")
	r.s = branchStore(t, r.dir, nil)
	r.look(true)
	r.check()
	if _, err := os.Stat(filepath.Join(r.dir, ".git/foldwatch/deletions.json")); err != nil {
		t.Error(err)
	}
}

// TestAuditRestoresADeletion: a rebase skips our commit, or a merge takes the other side
// of all: the edit in it is there again, and so is the deletion.
func TestAuditRestoresADeletion(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"rebase --skip", "merge -s ours", "merge -X ours"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			dir := checkout(t)
			r := &deletedRig{t: t, dir: dir, s: branchStore(t, dir, nil)}
			other := remember(t, r.s, "Another", "x is said")
			r.path = remember(t, r.s, "Session timeout", "Thirty minutes.")
			onto(t, r.s)
			git(t, dir, "branch", "side")
			r.remove(true)
			f := filepath.Join(dir, "fold", other)
			text := string(read(t, f))
			_, err := r.s.Put(t.Context(), gitops.Write{Path: other, Base: []byte(text), New: edited(text, "x is said", "y is said")})
			must(t, err)
			_, err = r.s.Commit(t.Context(), nil, "")
			must(t, err)
			onto(t, r.s)
			r.check()
			git(t, dir, "worktree", "add", "-q", dir+"-w", "side")
			write(t, filepath.Join(dir+"-w", "fold", other), strings.Replace(text, "x is said", "z is said", 1))
			git(t, dir+"-w", "commit", "-qam", "side")
			git(t, dir, "worktree", "remove", "--force", dir+"-w")
			switch how {
			case "rebase --skip":
				failing(t, dir, "rebase", "side")
				git(t, dir, "rebase", "--skip")
			default:
				git(t, dir, "checkout", "-q", "-b", "mine")
				git(t, dir, "checkout", "-q", "-B", "main", "side")
				r.look(false)
				git(t, dir, append(strings.Fields(how), "--no-edit", "mine")...)
			}
			r.look(true)
			r.look(true)
			b := read(t, f)
			if !strings.Contains(string(b), "y is said") {
				t.Errorf("the edit is gone: %s", b)
			}
			r.check()
		})
	}
}
