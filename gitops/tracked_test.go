package gitops_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/gitops/gitsync"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

func tracked(o *gitops.StoreOptions) { o.Tracked = true }

// A trackedUser is a person whose branch tracks fold/, and a store in tracked mode.
type trackedUser struct {
	*gitops.Store
	t    *testing.T
	dir  string
	path string // of a memory that is committed, below fold/
	base []byte // what it was committed as
}

// newTracked makes a checkout with one committed memory, and a branch without fold/.
func newTracked(t *testing.T) *trackedUser {
	t.Helper()
	u := &trackedUser{t: t, dir: checkout(t)}
	git(t, u.dir, "branch", "bare")
	id, b := memoryFile("Session timeout", "Thirty minutes.")
	u.path, u.base = id.Path(), b
	write(t, u.file(u.path), string(b))
	write(t, filepath.Join(u.dir, "fold/project.toml"), "[project]\nid = \"proj_1\"\nslug = \"app\"\n")
	git(t, u.dir, "add", "fold")
	git(t, u.dir, "commit", "-qm", "Memories")
	u.Store = openStore(t, u.dir, tracked)
	u.commit()
	return u
}

func (u *trackedUser) file(path string) string {
	return filepath.Join(u.dir, "fold", filepath.FromSlash(path))
}

func (u *trackedUser) git(args ...string) string { return git(u.t, u.dir, args...) }

// commit records in the journal what differs.
func (u *trackedUser) commit() {
	u.t.Helper()
	_, err := u.CommitAll(u.t.Context())
	must(u.t, err)
}

// edit acknowledges a change of the memory, and the journal gets it.
func (u *trackedUser) edit() []byte {
	u.t.Helper()
	now := edited(string(u.base), "Thirty", "Forty")
	_, err := u.Put(u.t.Context(), gitops.Write{Path: u.path, Base: read(u.t, u.file(u.path)), New: now})
	must(u.t, err)
	u.commit()
	return now
}

// add acknowledges a new memory.
func (u *trackedUser) add(title string) (path string) {
	u.t.Helper()
	id, b := memoryFile(title, "x")
	_, err := u.Put(u.t.Context(), gitops.Write{ID: id, New: b})
	must(u.t, err)
	u.commit()
	return id.Path()
}

func (u *trackedUser) reopen() {
	u.t.Helper()
	must(u.t, u.Close())
	u.Store = openStore(u.t, u.dir, tracked)
}

// wantLost looks for lost memories, twice, and expects these.
func (u *trackedUser) wantLost(paths ...string) {
	u.t.Helper()
	slices.Sort(paths)
	for range 2 {
		n, err := u.FindLost(u.t.Context())
		must(u.t, err)
		var got []string
		for _, l := range u.Lost() {
			got = append(got, l.Path)
		}
		if n != len(paths) || strings.Join(got, " ") != strings.Join(paths, " ") {
			u.t.Errorf("%d are lost: %q, want %q\n%s", n, got, paths, u.git("status", "--short"))
		}
	}
}

// TestTrackedLost: what git took away before it was committed is found, and only that; it
// comes back, or is forgotten, when the user says so (T4).
func TestTrackedLost(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(u *trackedUser){
		"edited and thrown away": func(u *trackedUser) {
			now := u.edit()
			u.wantLost()
			u.git("checkout", "-q", "--", "fold")
			u.commit()
			u.wantLost(u.path)
			u.reopen()
			u.wantLost(u.path)
			p, err := u.Restore(u.t.Context(), u.path, "", nil)
			must(u.t, err)
			if string(p.Bytes) != string(now) || string(read(u.t, u.file(u.path))) != string(now) {
				u.t.Errorf("restored is %q", p.Bytes)
			}
			u.commit()
			u.wantLost()
			u.git("commit", "-qam", "More")
			u.wantLost()
			u.git("revert", "--no-edit", "HEAD")
			u.commit()
			u.wantLost() // history has it
		},
		"new and cleaned": func(u *trackedUser) {
			path := u.add("Second")
			u.git("clean", "-qfdx", "fold")
			u.commit()
			u.wantLost(path)
			if _, err := u.Read(path); !errors.Is(err, fs.ErrNotExist) {
				u.t.Errorf("it came back by itself: %v", err)
			}
			n, err := u.ForgetLost(u.t.Context())
			must(u.t, err)
			if n != 1 {
				u.t.Errorf("%d are forgotten", n)
			}
			u.reopen()
			u.wantLost()
			if b, _, err := u.History().LastBlob(u.t.Context(), path); err != nil || len(b) == 0 {
				u.t.Errorf("the journal has %q, %v", b, err)
			}
		},
		"reset away": func(u *trackedUser) {
			path := u.add("Second")
			u.git("add", "-A")
			u.wantLost()
			u.git("reset", "-q", "--hard")
			u.commit()
			u.wantLost(path)
		},
		"staged only": func(u *trackedUser) {
			u.edit()
			u.git("add", "-A")
			write(u.t, u.file(u.path), string(u.base)) // as HEAD has it
			u.wantLost()
			u.git("reset", "-q")
			u.wantLost(u.path)
		},
		"stashed": func(u *trackedUser) {
			u.edit()
			path := u.add("Second")
			u.git("stash", "push", "-q", "-u")
			write(u.t, filepath.Join(u.dir, "a.go"), "package b\n")
			u.git("stash", "push", "-q") // now the first is not the newest
			u.commit()
			u.wantLost()
			if _, err := os.Lstat(u.file(path)); err == nil {
				u.t.Error("a stash did not take the new memory: the test shows nothing")
			}
			u.git("stash", "drop", "-q") // the newest, which has none of them
			u.wantLost()
			u.git("stash", "drop", "-q")
			u.wantLost(u.path, path)
		},
		"committed on another branch": func(u *trackedUser) {
			u.git("switch", "-q", "-c", "topic")
			u.edit()
			path := u.add("Second")
			u.git("add", "-A")
			u.git("commit", "-qm", "More")
			u.git("switch", "-q", "main")
			u.commit()
			u.wantLost()
			u.git("switch", "-q", "bare")
			u.commit()
			u.wantLost()
			if _, err := os.Lstat(u.file(path)); err == nil {
				u.t.Error("fold/ was made again")
			}
		},
		"edited by a person since": func(u *trackedUser) {
			u.edit()
			write(u.t, u.file(u.path), strings.Replace(string(u.base), "Thirty", "Fifty", 1))
			u.commit()
			u.wantLost()
			u.git("checkout", "-q", "--", "fold") // theirs to throw away
			u.commit()
			u.wantLost()
		},
		"an older version checked out": func(u *trackedUser) {
			write(u.t, u.file(u.path), strings.Replace(string(u.base), "Thirty", "Twenty", 1))
			u.git("commit", "-qam", "Less")
			u.edit()
			u.git("checkout", "-q", "HEAD~1", "--", "fold")
			u.commit()
			u.wantLost(u.path)
		},
		"the version of another branch checked out": func(u *trackedUser) {
			u.git("switch", "-q", "-c", "topic")
			path := u.add("Second")
			u.git("add", "-A")
			u.git("commit", "-qm", "More")
			first := read(u.t, u.file(path))
			u.git("switch", "-q", "main")
			u.commit()
			u.wantLost()
			_, err := u.Put(u.t.Context(), gitops.Write{Path: path, New: edited(string(first), "x", "y")})
			must(u.t, err)
			u.commit()
			u.git("checkout", "-q", "topic", "--", "fold")
			u.commit()
			u.wantLost(path)
		},
		"moved by a person": func(u *trackedUser) {
			path := u.add("Second")
			must(u.t, os.Rename(u.file(path), u.file("second.md")))
			u.commit()
			u.wantLost()
		},
		"moved and committed by a person at once": func(u *trackedUser) {
			path := u.add("Second")
			must(u.t, os.Rename(u.file(path), u.file("second.md")))
			u.git("add", "-A")
			u.git("commit", "-qm", "Moved")
			u.commit()
			u.wantLost()
		},
		"deleted through the API": func(u *trackedUser) {
			path := u.add("Second")
			_, err := u.Put(u.t.Context(), gitops.Write{Path: path, Base: read(u.t, u.file(path))})
			must(u.t, err)
			u.commit()
			u.wantLost()
		},
		"in the middle of a rebase": func(u *trackedUser) {
			u.edit()
			u.git("stash", "push", "-q")
			u.git("stash", "drop", "-q")
			must(u.t, os.Mkdir(filepath.Join(u.dir, ".git/rebase-merge"), 0o755))
			u.wantLost() // git has not ended
			must(u.t, os.Remove(filepath.Join(u.dir, ".git/rebase-merge")))
			u.wantLost(u.path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			do(newTracked(t))
		})
	}
}

// TestTrackedLostAfterACrash: whatever step of a write and its commit a crash comes at,
// what was acknowledged is in its file, or found to be lost once git threw that away.
func TestTrackedLostAfterACrash(t *testing.T) {
	t.Parallel()
	ended := false
	for at := 1; at < 200 && !ended; at++ {
		u := newTracked(t)
		must(t, u.Close())
		f := &faults{}
		f.set(at, nil)
		s, err := gitops.OpenStore(t.Context(), gitops.StoreOptions{Repo: locate(t, u.dir), Slug: "app", Now: later, Tracked: true, Faults: f})
		acked := false
		now := edited(string(u.base), "Thirty", "Forty")
		if err == nil {
			_, err = s.Put(t.Context(), gitops.Write{Path: u.path, Base: u.base, New: now})
			if acked = err == nil; acked {
				_, err = s.Commit(t.Context(), nil, "")
				ended = err == nil
			}
			_ = s.Close() // as good as killed
		}
		u.git("checkout", "-q", "--", "fold")
		u.Store = openStore(t, u.dir, tracked)
		u.commit()
		_, err = u.FindLost(t.Context())
		must(t, err)
		there := string(read(t, u.file(u.path))) == string(now)
		lost := len(u.Lost()) == 1 && string(u.Lost()[0].Bytes) == string(now)
		if acked && !there && !lost {
			t.Errorf("crash at step %d: acknowledged, and nowhere: %q", at, f.trace)
		}
		must(t, u.Close())
	}
	if !ended {
		t.Error("the commit never ended: the test shows nothing")
	}
}

// TestTrackedRefused: what may not enter the journal, and was replaced by a person, is not
// counted as lost: there is nothing to bring back.
func TestTrackedRefused(t *testing.T) {
	t.Parallel()
	u := newTracked(t)
	must(t, u.Close())
	refuse := false
	u.Store = openStore(t, u.dir, func(o *gitops.StoreOptions) {
		tracked(o)
		o.Check = func(_ string, b []byte) error {
			if refuse && strings.Contains(string(b), "Forty") {
				return fmt.Errorf("it says forty: %w", fold.ErrSecret)
			}
			return nil
		}
	})
	_, err := u.Put(t.Context(), gitops.Write{Path: u.path, Base: u.base, New: edited(string(u.base), "Thirty", "Forty")})
	must(t, err)
	refuse = true
	u.commit()
	write(t, u.file(u.path), strings.Replace(string(u.base), "Thirty", "Fifty", 1))
	u.git("commit", "-qam", "Fifty")
	u.commit()
	u.wantLost()
}

// TestTrackedFollowsGit: the journal takes edits and deletions, and what git takes away is
// no deletion; nothing comes back by itself, and without fold/ nothing is written (T3).
func TestTrackedFollowsGit(t *testing.T) {
	t.Parallel()
	u := newTracked(t)
	ctx := t.Context()
	path := u.add("Second")
	u.git("add", "-A")
	u.git("commit", "-qm", "More")
	tip := func(path string) bool {
		b, err := u.History().At(ctx, "", path)
		return err == nil && len(b) > 0
	}
	u.git("switch", "-q", "bare")
	u.commit()
	if !tip(path) || !tip(u.path) {
		t.Error("the journal took a switch for deletions")
	}
	if v, err := u.Guard(ctx); err != nil || v.Guarded {
		t.Errorf("Guard = %+v, %v", v, err)
	}
	if back, err := u.RestoreVanished(ctx); err != nil || len(back) > 0 {
		t.Errorf("RestoreVanished = %v, %v", back, err)
	}
	id, b := memoryFile("Third", "x")
	_, err := u.Put(ctx, gitops.Write{ID: id, New: b})
	if !errors.Is(err, fold.ErrUnavailable) || !strings.Contains(fold.Hint(err), "foldwatch untrack") {
		t.Errorf("a write on a branch without fold/: %v, hint %q", err, fold.Hint(err))
	}
	if _, _, err := u.PutMany(ctx, []gitops.Write{{ID: id, New: b}}); !errors.Is(err, fold.ErrUnavailable) {
		t.Errorf("many writes there: %v", err)
	}
	u.reopen()
	if _, err := os.Lstat(filepath.Join(u.dir, "fold")); err == nil {
		t.Error("fold/ was made")
	}
	u.git("switch", "-q", "main")
	must(t, os.Remove(u.file(path)))
	u.commit()
	if tip(path) {
		t.Error("a deletion in the work tree is not recorded")
	}
	if _, _, err := u.History().LastBlob(ctx, path); err != nil {
		t.Errorf("the journal lost what was deleted: %v", err)
	}
	must(t, os.RemoveAll(filepath.Join(u.dir, "fold"))) // HEAD has it: it may be made again
	if _, err := u.Put(ctx, gitops.Write{ID: id, New: b}); err != nil {
		t.Errorf("a write where HEAD has fold/: %v", err)
	}
	if _, err := os.Lstat(u.file(".gitignore")); err == nil {
		t.Error("fold/ hides itself")
	}
}

// TestTrackedSparse: what a sparse checkout takes out of the work tree is neither deleted
// nor lost, by whichever look it is found; a file that is deleted beside it is (I8).
func TestTrackedSparse(t *testing.T) {
	t.Parallel()
	for name, set := range map[string][]string{
		"cone":         {"sparse-checkout", "set", "--cone", "src"},
		"sparse index": {"sparse-checkout", "set", "--cone", "--sparse-index", "src"},
		"patterns":     {"sparse-checkout", "set", "--no-cone", "/*", "!/fold/*/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newTracked(t)
			ctx := t.Context()
			write(t, filepath.Join(u.dir, "src/a.go"), "package src\n")
			second := u.add("Second")
			u.git("add", "-A")
			u.git("commit", "-qm", "More")
			edited := u.edit()
			u.git("commit", "-qam", "Edited")
			before := u.History()
			want, err := before.At(ctx, "", u.path)
			must(t, err)
			u.git(set...)
			if _, err := os.Lstat(u.file(u.path)); err == nil {
				t.Fatal("git left the memory there: the test shows nothing")
			}
			for range 2 { // by events, and by a scan
				_, err := u.Commit(ctx, []string{u.path, second}, "")
				must(t, err)
				u.commit()
			}
			for _, path := range []string{u.path, second} {
				if b, err := u.History().At(ctx, "", path); err != nil || len(b) == 0 {
					t.Errorf("the journal took %s for deleted: %q, %v", path, b, err)
				}
			}
			u.wantLost()
			u.reopen()
			u.commit()
			u.wantLost()
			u.git("sparse-checkout", "disable")
			u.commit()
			if b, err := u.History().At(ctx, "", u.path); err != nil || string(b) != string(want) || string(b) != string(edited) {
				t.Errorf("the journal has %q, %v, want %q", b, err, want)
			}
			must(t, os.Remove(u.file(second)))
			u.commit()
			if b, err := u.History().At(ctx, "", second); err == nil && len(b) > 0 {
				t.Error("a deletion is not recorded")
			}
		})
	}
}

// TestTrackedReplay: a start finishes what a crash interrupted, and leaves alone what git
// or a person did since.
func TestTrackedReplay(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		do   func(u *trackedUser)
		want string // word in the file after the start
		lost int
	}{
		"written": {func(*trackedUser) {}, "Forty", 0},
		"not written": {func(u *trackedUser) {
			write(u.t, u.file(u.path), string(u.base))
			must(u.t, os.Remove(filepath.Join(u.dir, ".git/foldwatch/placed")))
		}, "Forty", 0},
		"thrown away": {func(u *trackedUser) { u.git("checkout", "-q", "--", "fold") }, "Thirty", 1},
		"stashed":     {func(u *trackedUser) { u.git("stash", "push", "-q") }, "Thirty", 0},
		"committed, and HEAD elsewhere": {func(u *trackedUser) {
			u.git("commit", "-qam", "More")
			u.git("switch", "-q", "--detach", "HEAD~")
		}, "Thirty", 0},
		"HEAD elsewhere, and no marks": {func(u *trackedUser) {
			u.git("checkout", "-q", "--", "fold")
			u.git("commit", "-q", "--allow-empty", "-m", "More")
			must(u.t, os.Remove(filepath.Join(u.dir, ".git/foldwatch/placed")))
		}, "Thirty", 1},
		"edited by a person": {func(u *trackedUser) {
			write(u.t, u.file(u.path), strings.Replace(string(u.base), "Thirty", "Fifty", 1))
		}, "Fifty", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newTracked(t)
			now := edited(string(u.base), "Thirty", "Forty")
			_, err := u.Put(t.Context(), gitops.Write{Path: u.path, Base: u.base, New: now})
			must(t, err)
			must(t, u.Close()) // with the change in the wal alone, as after a crash
			tc.do(u)
			u.Store = openStore(t, u.dir, tracked)
			if got := string(read(t, u.file(u.path))); !strings.Contains(got, tc.want) || strings.Contains(got, "conflict") {
				t.Errorf("the file holds %q, want %s", got, tc.want)
			}
			u.commit()
			n, err := u.FindLost(t.Context())
			if err != nil || n != tc.lost {
				t.Errorf("FindLost = %d, %v, want %d", n, err, tc.lost)
			}
			kept := false
			must(t, u.History().Versions(t.Context(), u.path, func(_ string, b []byte) bool {
				kept = kept || string(b) == string(now)
				return true
			}))
			if !kept {
				t.Error("the journal lacks what was acknowledged")
			}
			if st := u.Status(); st.WalEntries != 0 {
				t.Errorf("%d entries stay in the wal", st.WalEntries)
			}
		})
	}
}

// TestTrackedInHistory: committed is what HEAD has, pushed what the remote's branch has.
func TestTrackedInHistory(t *testing.T) {
	t.Parallel()
	u := newTracked(t)
	want := func(b []byte, committed, pushed bool) {
		t.Helper()
		c, p, err := u.InUserHistory(t.Context(), u.path, b)
		if err != nil || c != committed || p != pushed {
			t.Errorf("InUserHistory = %v, %v, %v, want %v, %v", c, p, err, committed, pushed)
		}
	}
	want(u.base, true, false)
	remote := filepath.Join(t.TempDir(), "remote.git")
	u.git("init", "-q", "--bare", remote)
	u.git("remote", "add", "origin", remote)
	u.git("push", "-q", "-u", "origin", "main")
	want(u.base, true, true)
	now := u.edit()
	want(now, false, false)
	u.git("commit", "-qam", "More")
	want(now, true, false)
	want(u.base, false, false)
	u.git("push", "-q")
	want(now, true, true)
	u.git("pack-refs", "--all")
	want(now, true, true)
	u.git("switch", "-q", "bare")
	want(now, false, false)
}

// TestTrackedWorkTrees: in tracked mode each work tree has its own fold/, wal and
// journal, under one lock; in sidecar mode they share those of the main one.
func TestTrackedWorkTrees(t *testing.T) {
	t.Parallel()
	u := newTracked(t)
	ctx := t.Context()
	linked := filepath.Join(realDir(t), "linked")
	u.git("worktree", "add", "-q", "-b", "topic", linked)
	l := locate(t, linked)
	if _, err := gitops.OpenStore(ctx, gitops.StoreOptions{Repo: l, Slug: "app", Tracked: true}); err == nil {
		t.Error("two processes keep one repository")
	} else if _, held := errors.AsType[*disk.LockedError](err); !held {
		t.Errorf("the second store: %v", err)
	}
	s := openStore(t, linked, func(o *gitops.StoreOptions) { o.Tracked, o.Locked = true, true })
	id, b := memoryFile("In the linked one", "x")
	_, err := s.Put(ctx, gitops.Write{ID: id, New: b})
	must(t, err)
	_, err = s.CommitAll(ctx)
	must(t, err)
	if string(read(t, filepath.Join(linked, "fold", id.Path()))) != string(b) {
		t.Error("it is not in the linked work tree")
	}
	if _, err := u.Read(id.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the main work tree has it, too: %v", err)
	}
	if _, _, err := u.History().LastBlob(ctx, id.Path()); !errors.Is(err, fold.ErrNotFound) {
		t.Errorf("so has its journal: %v", err)
	}
	must(t, errors.Join(s.Close(), u.Close()))
	s = openStore(t, linked, nil)
	if b, err := s.Read(u.path); err != nil || string(b) != string(u.base) {
		t.Errorf("in sidecar mode the linked work tree reads %q, %v", b, err)
	}
}

// TestUntrack: the sidecar takes over what the work tree has and the journal knows; what
// git took away in tracked mode does not come back.
func TestUntrack(t *testing.T) {
	t.Parallel()
	u := newTracked(t)
	ctx := t.Context()
	gone := u.add("Deleted by others")
	u.git("add", "-A")
	u.git("commit", "-qm", "More")
	u.git("rm", "-q", "fold/"+gone)
	u.git("commit", "-qm", "Less")
	u.commit()
	mine := u.add("Not committed")
	must(t, u.Close())
	s := openStore(t, u.dir, nil)
	if string(read(t, u.file(".gitignore"))) != gitops.IgnoreText {
		t.Error("fold/ does not hide itself")
	}
	_, err := s.CommitAll(ctx)
	must(t, err)
	if v, err := s.Guard(ctx); err != nil || v.Guarded {
		t.Errorf("Guard = %+v, %v", v, err)
	}
	for path, want := range map[string]bool{u.path: true, mine: true, gone: false} {
		if _, err := s.History().At(ctx, "", path); (err == nil) != want {
			t.Errorf("the journal has %s: %v", path, err)
		}
	}
	if _, _, err := s.History().LastBlob(ctx, gone); err != nil {
		t.Errorf("history lost what was deleted: %v", err)
	}
	must(t, s.Close())
	openStore(t, u.dir, tracked)
	if _, err := os.Lstat(u.file(".gitignore")); err == nil {
		t.Error("tracked again, fold/ hides itself")
	}
	write(t, u.file(".gitignore"), gitops.IgnoreText+"mine\n")
}

// TestUntrackOnAnOldBranch: memories that the branch checked out never had are not taken
// for deleted.
func TestUntrackOnAnOldBranch(t *testing.T) {
	t.Parallel()
	u := newTracked(t)
	u.git("branch", "old")
	var many []string
	for i := range 20 {
		many = append(many, u.add(fmt.Sprintf("Later %d", i)))
	}
	u.git("add", "-A")
	u.git("commit", "-qm", "Many")
	u.git("switch", "-q", "old")
	u.commit()
	must(t, u.Close())
	s := openStore(t, u.dir, nil)
	v, err := s.Guard(t.Context())
	if err != nil || !v.Guarded || len(v.Missing) != len(many) {
		t.Errorf("Guard = %+v, %v", v, err)
	}
	for _, path := range many {
		if _, err := s.History().At(t.Context(), "", path); err != nil {
			t.Errorf("the journal has lost %s: %v", path, err)
		}
	}
}

// TestTrackedDamagedList: a damaged list of what is not committed keeps nobody out.
func TestTrackedDamagedList(t *testing.T) {
	t.Parallel()
	u := newTracked(t)
	u.add("Not committed")
	must(t, u.Close())
	list := filepath.Join(u.dir, ".git/foldwatch/pending.json")
	must(t, os.WriteFile(list, []byte("{torn"), 0o600))
	u.reopen()
	if _, err := os.Lstat(list + ".damaged"); err != nil {
		t.Error(err)
	}
}

// TestTrackedAnew: what was deleted in sidecar mode is not lost in tracked mode again.
func TestTrackedAnew(t *testing.T) {
	t.Parallel()
	u := newTracked(t)
	path := u.add("Second")
	must(t, u.Close())
	s := openStore(t, u.dir, nil)
	_, err := s.Put(t.Context(), gitops.Write{Path: path, Base: read(t, u.file(path))})
	must(t, err)
	_, err = s.CommitAll(t.Context())
	must(t, err)
	must(t, s.Close())
	u.Store = openStore(t, u.dir, tracked)
	u.commit()
	u.wantLost()
}

// TestTrackedLeavesGitAlone: in tracked mode, too, not a byte changes outside fold/ and
// .git/foldwatch (I2, I4).
func TestTrackedLeavesGitAlone(t *testing.T) {
	t.Parallel()
	u := newTracked(t)
	ctx := t.Context()
	write(t, filepath.Join(u.dir, "a.go"), "package a // stashed\n")
	u.git("stash", "push", "-q")
	write(t, filepath.Join(u.dir, "staged.go"), "package s\n")
	u.git("add", "staged.go")
	before := snapshot(t, u.dir)
	u.edit()
	path := u.add("Second")
	_, _, err := u.PutMany(ctx, []gitops.Write{{Path: path, Base: read(t, u.file(path)), New: nil}})
	must(t, err)
	must(t, os.WriteFile(u.file(u.path), u.base, 0o644)) // as if git had thrown it away
	u.commit()
	u.wantLostWithoutGit(u.path)
	_, err = u.Restore(ctx, u.path, "", nil)
	must(t, err)
	if _, _, err := u.InUserHistory(ctx, u.path, u.base); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"Sync":        second(u.Syncer().Sync(ctx, gitsync.SyncOptions{Remote: u.dir, Local: true})),
		"RemoteTip":   second(u.Syncer().RemoteTip(ctx, gitsync.SyncOptions{Remote: u.dir, Local: true})),
		"Squash":      second(u.Syncer().Squash(ctx)),
		"TakeFetched": second(u.Syncer().TakeFetched(ctx)),
	} {
		if !errors.Is(err, fold.ErrConflict) {
			t.Errorf("%s in tracked mode: %v", name, err)
		}
	}
	_, err = locate(t, u.dir).MergesMemories(ctx, "fold")
	must(t, err)
	u.reopen()
	_, err = u.ForgetLost(ctx)
	must(t, err)
	unchanged(t, before, snapshot(t, u.dir))
}

func second[T any](_ T, err error) error { return err }

// wantLostWithoutGit is wantLost that runs no git itself, which may refresh the index.
func (u *trackedUser) wantLostWithoutGit(path string) {
	u.t.Helper()
	if n, err := u.FindLost(u.t.Context()); err != nil || n != 1 || u.Lost()[0].Path != path {
		u.t.Errorf("FindLost = %d, %v, %v", n, err, fmt.Sprint(u.Lost()))
	}
}

// TestTrackedTemporaryFilesAreNotSeen: at no step of a write does git see more in fold/
// than the memory: a `git add fold` of that moment would commit it.
func TestTrackedTemporaryFilesAreNotSeen(t *testing.T) {
	t.Parallel()
	u := newTracked(t)
	must(t, u.Close())
	f := &faults{}
	s := openStore(t, u.dir, func(o *gitops.StoreOptions) { o.Tracked, o.Faults = true, f })
	steps := 0
	f.set(0, func(disk.Op, string) error {
		steps++
		for line := range strings.Lines(u.git("status", "--porcelain", "-uall", "fold")) {
			if strings.Contains(line, ".fw-") {
				t.Errorf("git sees %s", line)
			}
		}
		return nil
	})
	now := edited(string(u.base), "Thirty", "Forty")
	_, err := s.Put(t.Context(), gitops.Write{Path: u.path, Base: u.base, New: now})
	must(t, err)
	_, err = s.Put(t.Context(), gitops.Write{Path: u.path, Base: now})
	must(t, err)
	f.set(0, nil)
	if steps < 8 {
		t.Errorf("looked %d times", steps)
	}
}

// A commit and a switch in the middle of the look for lost memories: what was seen before
// and after is of two commits, and decides nothing.
func TestTrackedHeadMovesMeanwhile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the git that moves HEAD here is a shell script")
	}
	u := newTracked(t)
	path := u.add("Rate limits")
	u.git("add", "fold")
	must(t, os.Remove(u.file(path)))
	real, err := exec.LookPath("git")
	must(t, err)
	bin := t.TempDir()
	moved := filepath.Join(bin, "moved")
	script := fmt.Sprintf(`#!/bin/sh
%[1]q "$@" || exit
case " $* " in *" rev-list "*)
	[ -e %[2]q ] && exit
	touch %[2]q
	cd %[3]q && unset GIT_DIR GIT_WORK_TREE GIT_COMMON_DIR GIT_INDEX_FILE
	%[1]q commit -qm Limits >&2 && %[1]q switch -qf bare >&2
esac
`, real, moved, u.dir)
	must(t, os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755))
	path0 := os.Getenv("PATH")
	t.Setenv("PATH", bin+string(os.PathListSeparator)+path0)
	n, err := u.FindLost(t.Context())
	t.Setenv("PATH", path0)
	if _, serr := os.Stat(moved); serr != nil {
		t.Fatal("HEAD did not move meanwhile")
	}
	if err != nil || n != 0 {
		t.Errorf("FindLost = %d, %v; want 0: it is committed on main", n, err)
	}
	if n, err := u.FindLost(t.Context()); err != nil || n != 0 || len(u.Lost()) > 0 {
		t.Errorf("the next look: %d, %v", n, err)
	}
}
