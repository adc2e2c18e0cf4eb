package gitops_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// atHead returns a file of the last commit, "" if it has none.
func atHead(t testing.TB, dir, path string) string {
	t.Helper()
	out, err := git2(dir, "show", "HEAD:fold/"+path)
	if err != nil {
		return ""
	}
	return out
}

// TestDeletionLeavesTombstone: a memory that is deleted, by us or by hand, stays in
// the branch as a tombstone that nobody reads, and goes after its time (B8).
func TestDeletionLeavesTombstone(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"through the door", "by hand"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			dir := checkout(t)
			ahead := time.Hour
			s := branchStore(t, dir, func(o *gitops.StoreOptions) { o.Now = func() time.Time { return time.Now().Add(ahead) } })
			p := remember(t, s, "Session timeout", "Thirty minutes.")
			onto(t, s)
			git(t, dir, "tag", "seen")
			live := read(t, filepath.Join(dir, "fold", p))
			if how == "by hand" {
				must(t, os.Remove(filepath.Join(dir, "fold", p)))
				_, err := s.Commit(t.Context(), []string{p}, "")
				must(t, err)
			} else {
				_, err := s.Put(t.Context(), gitops.Write{Path: p, Base: live})
				must(t, err)
				_, err = s.Commit(t.Context(), nil, "")
				must(t, err)
			}
			b := onto(t, s)
			if since, gone := fold.Buried(read(t, filepath.Join(dir, "fold", p))); !gone || time.Since(since) > time.Minute || b.Count != 1 {
				t.Errorf("after the deletion: %+v, %q", b, read(t, filepath.Join(dir, "fold", p)))
			}
			if got := atHead(t, dir, p); !strings.Contains(got, "\ndeleted: true\n") || strings.Contains(got, "Thirty") {
				t.Errorf("HEAD has %q, want a tombstone", got)
			}
			if got := git(t, dir, "log", "-1", "--format=%B"); !strings.Contains(got, "\n\nD ") {
				t.Errorf("message %q, want it to say that the memory went", got)
			}
			if got := git(t, dir, "status", "--porcelain"); got != "" {
				t.Errorf("status = %q", got)
			}
			if _, err := s.Read(p); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Read of a deleted memory = %v", err)
			}
			if last, _, err := s.LastBlob(t.Context(), p); err != nil || string(last) != string(live) {
				t.Errorf("LastBlob = %q, %v, want what was deleted", last, err)
			}
			again, err := s.CommitBranch(t.Context())
			must(t, err)
			if again.Oid != "" || again.Pending {
				t.Errorf("CommitBranch once more = %+v", again)
			}
			ahead += fold.TombstoneAge
			onto(t, s)
			if got := atHead(t, dir, p); got != "" {
				t.Errorf("HEAD has %q after the time of tombstones", got)
			}
			if _, err := os.Lstat(filepath.Join(dir, "fold", p)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the tombstone is still on disk: %v", err)
			}
			git(t, dir, "fsck", "--strict", "--no-dangling")
		})
	}
}

// TestBuriedComesBack: what is deleted can be remembered and restored again, over
// its tombstone.
func TestBuriedComesBack(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := branchStore(t, dir, nil)
	p := remember(t, s, "Session timeout", "Thirty minutes.")
	onto(t, s)
	id, b := memoryFile("Session timeout", "Thirty minutes.")
	bury := func() {
		t.Helper()
		_, err := s.Put(t.Context(), gitops.Write{ID: id, Base: b})
		must(t, err)
		_, err = s.Commit(t.Context(), nil, "")
		must(t, err)
		onto(t, s)
		if !strings.Contains(atHead(t, dir, p), "deleted: true") {
			t.Fatalf("no tombstone: %q", atHead(t, dir, p))
		}
	}
	git(t, dir, "tag", "one")
	bury()
	_, err := s.Put(t.Context(), gitops.Write{ID: id, New: b})
	must(t, err)
	_, err = s.Commit(t.Context(), nil, "")
	must(t, err)
	onto(t, s)
	if got := atHead(t, dir, p); got != strings.TrimSpace(string(b)) {
		t.Errorf("HEAD has %q after it was remembered again", got)
	}
	git(t, dir, "tag", "two")
	bury()
	_, err = s.Restore(t.Context(), p, "", nil)
	must(t, err)
	_, err = s.Commit(t.Context(), nil, "")
	must(t, err)
	onto(t, s)
	if got := atHead(t, dir, p); got != strings.TrimSpace(string(b)) {
		t.Errorf("HEAD has %q after it was restored", got)
	}
}

// TestTombstonesInSidecar: beside the branch a deletion is a file that is not
// there; what is left of branch mode goes, and is never published.
func TestTombstonesInSidecar(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := branchStore(t, dir, nil)
	p := remember(t, s, "Session timeout", "Thirty minutes.")
	q := remember(t, s, "Second", "x")
	onto(t, s)
	_, err := s.Squash(t.Context(), later())
	must(t, err)
	_, err = s.Put(t.Context(), gitops.Write{Path: p, Base: read(t, filepath.Join(dir, "fold", p))})
	must(t, err)
	_, err = s.Commit(t.Context(), nil, "")
	must(t, err)
	onto(t, s)
	_, err = s.Squash(t.Context(), later())
	must(t, err)
	sidecar := filepath.Join(dir, ".git/foldwatch/repo.git")
	if got := git(t, sidecar, "ls-tree", "-r", "--name-only", "foldwatch"); strings.Contains(got, p) || !strings.Contains(got, q) {
		t.Errorf("published are %q, want no tombstone", got)
	}
	must(t, s.OntoBranch(false))
	if _, err := os.Lstat(filepath.Join(dir, "fold", p)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the tombstone is still on disk: %v", err)
	}
	if got := git(t, sidecar, "ls-tree", "-r", "--name-only", "refs/foldwatch/journal"); strings.Contains(got, p) {
		t.Errorf("the journal has %q, want no tombstone", got)
	}
}

// TestEditMeetsTombstone: where one side deleted and the other edited, git asks the
// merge driver, and the edit wins; where the other has only an old copy, the
// deletion stays (I9).
func TestEditMeetsTombstone(t *testing.T) {
	t.Parallel()
	for _, edited := range []bool{true, false} {
		dir := checkout(t)
		s := branchStore(t, dir, nil)
		p := remember(t, s, "Session timeout", "Thirty minutes.")
		onto(t, s)
		file := filepath.Join(dir, "fold", p)
		live := read(t, file)
		git(t, dir, "branch", "side")
		_, err := s.Put(t.Context(), gitops.Write{Path: p, Base: live})
		must(t, err)
		_, err = s.Commit(t.Context(), nil, "")
		must(t, err)
		onto(t, s)
		git(t, dir, "checkout", "-q", "side")
		if edited {
			write(t, file, strings.Replace(string(live), "Thirty", "Forty", 1))
		}
		write(t, filepath.Join(dir, "b.go"), "package b\n")
		git(t, dir, "add", "-A")
		git(t, dir, "commit", "-qm", "mine")
		git(t, dir, "checkout", "-q", "main")
		// Without a driver git stops at the conflict; it asked for both versions.
		_, err = git2(dir, "merge", "-q", "side")
		if (err != nil) != edited {
			t.Errorf("edited %t: git merge = %v", edited, err)
		}
		if !edited {
			if got := atHead(t, dir, p); !strings.Contains(got, "deleted: true") {
				t.Errorf("an old copy brought back %q", got)
			}
			continue
		}
		stage := func(n string) []byte {
			cmd := git(t, dir, "cat-file", "blob", ":"+n+":fold/"+p)
			return []byte(cmd + "\n")
		}
		r, err := fold.MergeAt(stage("1"), stage("2"), stage("3"), fold.MergeOptions{Path: p})
		if err != nil || !strings.Contains(string(r.Bytes), "Forty") {
			t.Errorf("what the driver makes of it = %q, %v, want the edit", r.Bytes, err)
		}
	}
}

// TestTombstoneWaits: where a stash has another version of a memory that is deleted, its
// tombstone is in the way of no pop, and the edit that comes with that wins.
func TestTombstoneWaits(t *testing.T) {
	t.Parallel()
	h := holdMemory(t)
	git(t, h.dir, "commit", "-qam", "more")
	write(t, h.file, string(edited(string(read(t, h.file)), "- last", "- last of all")))
	git(t, h.dir, "stash", "push", "-q")
	must(t, os.Remove(h.file))
	h.ahead.Store(int64(15 * time.Minute)) // nobody amends, and the stash is young
	h.commit()
	for range 2 {
		b, err := h.CommitBranch(t.Context())
		must(t, err)
		if b.Oid != "" || !b.Pending {
			t.Errorf("CommitBranch = %+v, want it to wait", b)
		}
		if _, err := os.Lstat(h.file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the tombstone is written: %v", err)
		}
		if _, err := h.Read(h.path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("it is read: %v", err)
		}
	}
	git(t, h.dir, "stash", "pop", "-q")
	waits, err := h.PlacePutOff(t.Context())
	if err != nil || waits != "" {
		t.Errorf("it waits: %q, %v", waits, err)
	}
	h.wantWords(string(read(t, h.file)), "last of all", "second of all")
	if st := h.Status(); len(st.SetAside) > 0 {
		t.Errorf("status %+v", st)
	}
}

// TestTombstoneStays: a checkout whose commits go beside the branch from now on keeps
// its tombstones until git rests.
func TestTombstoneStays(t *testing.T) {
	t.Parallel()
	h := holdMemory(t)
	git(t, h.dir, "commit", "-qam", "more")
	h.ahead.Store(int64(time.Hour))
	h.remove()
	h.commit()
	onto(t, h.Store)
	tomb := string(read(t, h.file))
	git(t, h.dir, "bisect", "start", "HEAD", "HEAD~1")
	must(t, h.OntoBranch(false))
	if got := string(read(t, h.file)); got != tomb {
		t.Errorf("the file holds %q, want the tombstone", got)
	}
	if _, err := h.Read(h.path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is read: %v", err)
	}
	git(t, h.dir, "bisect", "reset")
	h.place()
	if _, err := os.Lstat(h.file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the tombstone is still there: %v", err)
	}
}
