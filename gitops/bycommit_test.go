package gitops_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

const aProject = "id = \"proj_1\"\nslug = \"app\"\nname = \"app\"\ncreated_at = 2026-01-02T03:04:05Z\n"

// describe has the daemon make files by itself, and records that.
func describe(t testing.TB, s *gitops.Store, writes ...gitops.Write) {
	t.Helper()
	var ws []gitops.Write
	for _, w := range writes {
		w.ByItself = true
		ws = append(ws, w)
	}
	n, skipped, err := s.PutMany(t.Context(), ws)
	if must(t, err); n != len(ws) || len(skipped) > 0 {
		t.Fatalf("PutMany = %d, %q", n, skipped)
	}
}

// TestMadeByItselfIsNotInTheWay: the project file, and what describes a source file, are
// called the same on every machine. Where the user begins between the moment they were
// made in and their commit, they are in the way of no pull.
func TestMadeByItselfIsNotInTheWay(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"--rebase", "--no-rebase"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			remote := sharedRemote(t)
			a, b := newClone(t, remote), newClone(t, remote)
			id, text := memoryFile("Describes a.go", "one")
			_, other := memoryFile("Describes a.go", "one, as another machine has it")
			project := gitops.Write{Path: fold.ProjectFile, New: []byte(aProject)}
			describe(t, a.s, project, gitops.Write{ID: id, New: other, Described: other})
			onto(t, a.s)
			git(t, a.dir, "push", "-q", "origin", "main")

			must(t, b.s.Close())
			ahead := time.Hour
			b.s = branchStore(t, b.dir, func(o *gitops.StoreOptions) { o.Now = func() time.Time { return time.Now().Add(ahead) } })
			describe(t, b.s, project, gitops.Write{ID: id, New: text, Described: text})
			if got, err := b.s.Read(id.Path()); err != nil || string(got) != string(text) {
				t.Errorf("Read = %q, %v, want what was made", got, err)
			}
			ahead = 0
			git(t, b.dir, "commit", "-q", "--allow-empty", "-m", "mine")
			if got, err := b.s.CommitBranch(t.Context()); err != nil || got.Wait.Reason == "" {
				t.Fatalf("CommitBranch = %+v, %v, want it to wait for the user", got, err)
			}
			if out, err := git2(b.dir, "pull", "-q", how, "--no-edit"); err != nil {
				t.Fatalf("git pull %s: %s", how, out)
			}
			if got := git(t, b.dir, "status", "--porcelain"); got != "" {
				t.Errorf("status = %q", got)
			}
			ahead = time.Hour
			for range 2 { // what was merged settles first
				_, err := b.s.CommitAll(t.Context())
				must(t, err)
				_, err = b.s.CommitBranch(t.Context())
				must(t, err)
			}
			if got := git(t, b.dir, "status", "--porcelain"); got != "" || len(b.s.PutOff()) > 0 {
				t.Errorf("at the end: status %q, put off %d", got, len(b.s.PutOff()))
			}
			if got := atHead(t, b.dir, id.Path()); !strings.Contains(got, "\none") {
				t.Errorf("HEAD has %q", got)
			}
			git(t, b.dir, "fsck", "--strict", "--no-dangling")
		})
	}
}

// TestMadeByItselfComesWithItsCommit: new, changed and removed again, a file of the daemon
// is on disk as HEAD has it, whatever step a crash comes at.
func TestMadeByItselfComesWithItsCommit(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"", "objects", "intent", "locked index", "files", "reference", "index", "log", "stat", "synced"} {
		t.Run("crash at "+step, func(t *testing.T) {
			t.Parallel()
			dir := checkout(t)
			write(t, filepath.Join(dir, "staged.go"), "package s\n")
			git(t, dir, "add", "staged.go")
			before := git(t, dir, "status", "--porcelain")
			s := branchStore(t, dir, nil)
			id, text := memoryFile("Describes a.go", "one")
			_, next := memoryFile("Describes a.go", "two")
			full := filepath.Join(dir, "fold", id.Path())
			var base []byte
			for _, now := range [][]byte{text, next, nil} {
				describe(t, s, gitops.Write{ID: id, Base: base, New: now})
				if had, _ := os.ReadFile(full); string(had) != string(base) {
					t.Fatalf("before the commit there is %q, want %q", had, base)
				}
				if got := git(t, dir, "status", "--porcelain"); got != before {
					t.Fatalf("before the commit: %q", got)
				}
				s.OnBranchStep(func(at string) error {
					if at == step {
						return gitops.ErrCrashed
					}
					return nil
				})
				b, err := s.CommitBranch(t.Context())
				if step != "" && (now != nil || step != "files" && step != "stat") {
					if !errors.Is(err, gitops.ErrCrashed) {
						t.Fatalf("CommitBranch = %+v, %v", b, err)
					}
					must(t, s.Close())
					s = branchStore(t, dir, nil)
					if got := git(t, dir, "status", "--porcelain", "--untracked-files=all"); base == nil && got != before {
						t.Errorf("after the crash: %q", got)
					}
					b, err = s.CommitBranch(t.Context())
				}
				if must(t, err); b.Pending || len(s.PutOff()) > 0 {
					t.Errorf("CommitBranch = %+v, and %d wait", b, len(s.PutOff()))
				}
				if got := git(t, dir, "status", "--porcelain"); got != before {
					t.Errorf("after the commit: %q", got)
				}
				if base, _ = os.ReadFile(full); strings.TrimSpace(string(base)) != atHead(t, dir, id.Path()) || now != nil && string(base) != string(now) {
					t.Errorf("on disk %q, in HEAD %q, want %q", base, atHead(t, dir, id.Path()), now)
				}
				git(t, dir, "update-index", "--really-refresh", "-q")
			}
			if _, gone := fold.Buried(base); !gone {
				t.Errorf("what was removed is %q", base)
			}
			noLocks(t, dir)
			git(t, dir, "fsck", "--strict", "--no-dangling")
		})
	}
}

// TestMadeByItselfWaitsForThePull: what the daemon makes by itself, and a branch that was
// fetched has, too, is not committed beside it: the pull brings it, and is in nobody's
// way.
func TestMadeByItselfWaitsForThePull(t *testing.T) {
	t.Parallel()
	remote := sharedRemote(t)
	a, b := newClone(t, remote), newClone(t, remote)
	id, text := memoryFile("Describes a.go", "one")
	_, other := memoryFile("Describes a.go", "one, as another machine has it")
	describe(t, a.s, gitops.Write{ID: id, New: other, Described: other})
	onto(t, a.s)
	git(t, a.dir, "push", "-q", "origin", "main")

	git(t, b.dir, "fetch", "-q")
	describe(t, b.s, gitops.Write{ID: id, New: text, Described: text})
	if got, err := b.s.CommitBranch(t.Context()); err != nil || got.Oid != "" || !got.Pending {
		t.Errorf("CommitBranch = %+v, %v, want it to wait for the pull", got, err)
	}
	if got := b.s.Follows(id.Path()); got != gitops.FollowsPull {
		t.Errorf("Follows = %d", got)
	}
	if out, err := git2(b.dir, "pull", "-q", "--ff-only"); err != nil {
		t.Fatalf("git pull --ff-only: %s", out)
	}
	for range 2 { // what was merged settles first
		_, err := b.s.CommitAll(t.Context())
		must(t, err)
		_, err = b.s.CommitBranch(t.Context())
		must(t, err)
	}
	if got := git(t, b.dir, "status", "--porcelain"); got != "" || len(b.s.PutOff()) > 0 {
		t.Errorf("at the end: status %q, put off %d", got, len(b.s.PutOff()))
	}
}

// TestPutWhereBranchesCannotBeRead: that it cannot be told what a pull would bring
// refuses nobody's memory.
func TestPutWhereBranchesCannotBeRead(t *testing.T) {
	t.Parallel()
	c := newClone(t, sharedRemote(t))
	head := filepath.Join(c.dir, ".git", "HEAD")
	was := read(t, head)
	id, text := memoryFile("Session timeout", "Thirty minutes.")
	must(t, os.Remove(head))
	_, err := c.s.Put(t.Context(), gitops.Write{ID: id, New: text})
	write(t, head, string(was))
	if must(t, err); string(read(t, filepath.Join(c.dir, "fold", id.Path()))) != string(text) {
		t.Error("the memory is not there")
	}
}

// TestManyMadeByThemselves: more than one commit brings, and others that nobody commits.
func TestManyMadeByThemselves(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := branchStore(t, dir, nil)
	var ws []gitops.Write
	for i := range gitops.ByCommitMost + 10 {
		id, text := memoryFile("Describes "+strings.Repeat("x", i), "one")
		ws = append(ws, gitops.Write{ID: id, New: text})
	}
	describe(t, s, ws...)
	b, err := s.CommitBranch(t.Context())
	must(t, err)
	if b.Count != gitops.ByCommitMost || !b.More || !b.Pending {
		t.Fatalf("CommitBranch = %+v", b)
	}
	if b, err = s.CommitBranch(t.Context()); err != nil || b.Pending || b.More || b.Replaced == "" || b.Count != 10 {
		t.Fatalf("CommitBranch = %+v, %v", b, err)
	}
	most := gitops.ByCommitMost / gitops.WeightSwap // these take longer under git's lock
	ws = ws[:most+4]
	for i := range ws {
		ws[i].Base, ws[i].New = ws[i].New, edited(string(ws[i].New), "one", "two")
	}
	describe(t, s, ws...)
	for _, n := range []int{most, 4} {
		if b, err = s.CommitBranch(t.Context()); err != nil || b.Count != n {
			t.Fatalf("CommitBranch = %+v, %v, want %d changed files", b, err, n)
		}
	}
	s.Hold(true)
	id, text := memoryFile("Nobody commits", "one")
	describe(t, s, gitops.Write{ID: id, New: text})
	if got := read(t, filepath.Join(dir, "fold", id.Path())); string(got) != string(text) {
		t.Errorf("it is %q", got)
	}
}

// TestOneThatCannotBeWritten: a file whose folder takes none is set aside, and what else
// waits is committed (G7), however the system says it.
func TestOneThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, op := range []disk.Op{disk.OpMkdir, disk.OpRename} {
		t.Run(string(op), func(t *testing.T) {
			t.Parallel()
			dir := checkout(t)
			bad, badText := memoryFile("Describes a.go", "one")
			good, goodText := memoryFile("Describes b.go", "one")
			f := &faults{}
			s := branchStore(t, dir, func(o *gitops.StoreOptions) { o.Faults = f })
			describe(t, s, gitops.Write{ID: bad, New: badText}, gitops.Write{ID: good, New: goodText})
			f.set(0, func(is disk.Op, path string) error {
				if is == op && strings.HasPrefix(bad.Path(), path) && len(path) > 1 {
					return fs.ErrPermission
				}
				return nil
			})
			b, err := s.CommitBranch(t.Context())
			if must(t, err); b.Oid != "" || !b.Pending || b.Wait.After > time.Second {
				t.Fatalf("CommitBranch = %+v, want the next one to go on soon", b)
			}
			b, err = s.CommitBranch(t.Context())
			if must(t, err); b.Count != 1 || !b.Pending {
				t.Fatalf("CommitBranch = %+v, want the file that can be written", b)
			}
			if got := git(t, dir, "status", "--porcelain"); got != "" || atHead(t, dir, good.Path()) == "" {
				t.Errorf("status = %q", got)
			}
			if len(s.PutOff()) != 1 {
				t.Errorf("%d wait", len(s.PutOff()))
			}
		})
	}
}

// TestRemovedWhileItWaitsForItsCommit: a file that somebody deletes while the daemon has
// something new for it is deleted. Of many at once nothing is (G8).
func TestRemovedWhileItWaitsForItsCommit(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 12} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			dir := checkout(t)
			s := branchStore(t, dir, nil)
			var first, second []gitops.Write
			for i := range n {
				id, one := memoryFile("Describes "+strconv.Itoa(i), "one")
				_, two := memoryFile("Describes "+strconv.Itoa(i), "two")
				first = append(first, gitops.Write{ID: id, New: one, Described: one})
				second = append(second, gitops.Write{ID: id, Base: one, New: two, Described: two})
			}
			remember(t, s, "Stays", "As it is.")
			describe(t, s, first...)
			onto(t, s)
			describe(t, s, second...)
			path := first[0].ID.Path()
			for _, w := range first {
				must(t, os.Remove(filepath.Join(dir, "fold", w.ID.Path())))
			}
			_, err := s.CommitBranch(t.Context())
			must(t, err)
			got, err := s.CommitAll(t.Context())
			must(t, err)
			if got.Guarded != (n > 1) || len(s.PutOff()) > 0 {
				t.Fatalf("CommitAll = %+v, and %d wait", got, len(s.PutOff()))
			}
			if n > 1 {
				if b, _, err := s.LastBlob(t.Context(), path); err != nil || string(b) != string(second[0].New) {
					t.Errorf("the journal has %q, %v", b, err)
				}
				return
			}
			_, err = s.CommitBranch(t.Context())
			must(t, err)
			if _, err := s.Read(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Read: %v, want that it is gone", err)
			}
			if _, gone := fold.Buried([]byte(atHead(t, dir, path))); !gone {
				t.Errorf("HEAD has %q", atHead(t, dir, path))
			}
			if status := git(t, dir, "status", "--porcelain"); status != "" {
				t.Errorf("status = %q", status)
			}
		})
	}
}

// TestManyAfterTheDaemon: what is written over a file that waits for its commit, by a
// batch of changes that nobody waits for, waits with it.
func TestManyAfterTheDaemon(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := branchStore(t, dir, nil)
	id, one := memoryFile("Describes a.go", "one")
	_, two := memoryFile("Describes a.go", "two")
	describe(t, s, gitops.Write{ID: id, New: one})
	_, _, err := s.PutMany(t.Context(), []gitops.Write{{ID: id, Base: one, New: two}})
	must(t, err)
	if got := git(t, dir, "status", "--porcelain"); got != "" {
		t.Errorf("before the commit: %q", got)
	}
	onto(t, s)
	if got := read(t, filepath.Join(dir, "fold", id.Path())); string(got) != string(two) {
		t.Errorf("it is %q", got)
	}
}

// TestNewMemoryThatABranchHas: a memory that an agent adds under a name that a fetched
// branch has, too, waits for the pull that brings it.
func TestNewMemoryThatABranchHas(t *testing.T) {
	t.Parallel()
	remote := sharedRemote(t)
	a, b := newClone(t, remote), newClone(t, remote)
	a.remember("Session timeout", "Thirty minutes.")
	git(t, a.dir, "push", "-q", "origin", "main")
	git(t, b.dir, "fetch", "-q")
	id, text := memoryFile("Session timeout", "Forty minutes.")
	p, err := b.s.Put(t.Context(), gitops.Write{ID: id, New: text})
	if must(t, err); p.Waits == "" {
		t.Error("it does not wait")
	}
	if out, err := git2(b.dir, "merge", "-q", "@{upstream}"); err != nil {
		t.Fatalf("git merge: %s", out)
	}
	waits, err := b.s.PlacePutOff(t.Context())
	if must(t, err); waits != "" {
		t.Errorf("it still waits: %s", waits)
	}
	if got := string(read(t, filepath.Join(b.dir, "fold", id.Path()))); !strings.Contains(got, "Thirty") || !strings.Contains(got, "Forty") {
		t.Errorf("merged is %q", got)
	}
}

// TestEditedWhileItWaitsForItsCommit: where nobody commits, on another branch, a person's
// edit of a memory that the daemon has something new for is found, and neither is lost.
// What that branch holds of it stays as it is.
func TestEditedWhileItWaitsForItsCommit(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := branchStore(t, dir, func(o *gitops.StoreOptions) { o.Now = func() time.Time { return time.Now().Add(time.Hour) } })
	id, one := memoryFile("Describes a.go", "one")
	_, two := memoryFile("Describes a.go", "two")
	describe(t, s, gitops.Write{ID: id, New: one, Described: one})
	onto(t, s)
	git(t, dir, "switch", "-q", "-c", "feature")
	full := filepath.Join(dir, "fold", id.Path())
	place := func() {
		t.Helper()
		_, err := s.CommitAll(t.Context())
		must(t, err)
		if waits, err := s.PlacePutOff(t.Context()); err != nil || waits != "" {
			t.Fatalf("PlacePutOff = %q, %v", waits, err)
		}
	}
	_, theirs := memoryFile("Describes a.go", "as this branch has it")
	describe(t, s, gitops.Write{ID: id, Base: one, New: two, Described: two})
	write(t, full, string(theirs))
	git(t, dir, "commit", "-qam", "theirs")
	for range 2 {
		place()
		if got := read(t, full); string(got) != string(theirs) || len(s.PutOff()) != 1 {
			t.Fatalf("what the branch has became %q, and %d wait", got, len(s.PutOff()))
		}
	}
	write(t, full, string(theirs)+"\nA person's words.\n")
	place()
	got, err := s.Read(id.Path())
	if must(t, err); !strings.Contains(string(got), "A person's words.") || len(s.PutOff()) > 0 {
		t.Errorf("Read = %q, and %d wait", got, len(s.PutOff()))
	}
}

// TestRestartWhileAMergeIsStaged: a file that a merge of the user has brought, and that
// no commit has yet, is not taken for one that came for a commit of ours.
func TestRestartWhileAMergeIsStaged(t *testing.T) {
	t.Parallel()
	for _, how := range [][]string{{"--no-commit", "--no-ff"}, {"--squash"}} {
		t.Run(how[0], func(t *testing.T) {
			t.Parallel()
			dir := checkout(t)
			s := branchStore(t, dir, nil)
			id, text := memoryFile("Describes a.go", "one")
			git(t, dir, "switch", "-q", "-c", "other")
			write(t, filepath.Join(dir, "fold", id.Path()), string(text))
			git(t, dir, "add", "-A")
			git(t, dir, "commit", "-qm", "theirs")
			git(t, dir, "switch", "-q", "main")
			describe(t, s, gitops.Write{ID: id, New: text, Described: text})
			git(t, dir, append([]string{"merge", "-q", "other"}, how...)...)
			before := git(t, dir, "status", "--porcelain")
			must(t, s.Close())
			branchStore(t, dir, nil)
			if got := git(t, dir, "status", "--porcelain"); got != before {
				t.Errorf("after the restart: %q, want %q", got, before)
			}
		})
	}
}
