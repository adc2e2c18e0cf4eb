package gitops_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/disk"
)

// TestMergeLosesNothing: what a merge or rebase of the user dropped of a memory
// that one side edited is written again, as a new change (B9). What somebody
// deleted and nobody edited stays deleted.
func TestMergeLosesNothing(t *testing.T) {
	t.Parallel()
	const was, mine, theirs = "Thirty minutes.", "Forty minutes.", "Fifty minutes."
	// Each begins on main, where the memory says mine, beside the branch side; both
	// come from a commit in which it says was.
	for name, tc := range map[string]struct {
		side string // what side makes of it; "" deletes it
		do   func(t *testing.T, a *auditRig)
		want []string // in the memory at the end; none: it is gone
		none bool     // nothing is restored
	}{
		"merge -X ours": {side: theirs, want: []string{mine, theirs}, do: func(t *testing.T, a *auditRig) {
			git(t, a.dir, "merge", "-q", "-X", "ours", "side")
		}},
		"merge -s ours": {side: theirs, want: []string{mine, theirs}, do: func(t *testing.T, a *auditRig) {
			git(t, a.dir, "merge", "-q", "-s", "ours", "side")
		}},
		"conflict resolved by git rm": {want: []string{mine}, do: func(t *testing.T, a *auditRig) {
			failing(t, a.dir, "merge", "side")
			git(t, a.dir, "rm", "-q", a.file)
			git(t, a.dir, "commit", "-qm", "merged")
		}},
		"rebase --skip": {side: theirs, want: []string{mine, theirs}, do: func(t *testing.T, a *auditRig) {
			failing(t, a.dir, "rebase", "side")
			git(t, a.dir, "rebase", "--skip")
		}},
		"pull --rebase, skipped": {side: theirs, want: []string{mine, theirs}, do: func(t *testing.T, a *auditRig) {
			failing(t, a.dir, "pull", "--rebase", ".", "side")
			git(t, a.dir, "rebase", "--skip")
		}},
		"conflict resolved by hand": {side: theirs, want: []string{"Agreed."}, none: true, do: func(t *testing.T, a *auditRig) {
			failing(t, a.dir, "merge", "side")
			write(t, filepath.Join(a.dir, a.file), a.memory("Agreed."))
			git(t, a.dir, "commit", "-qam", "merged")
		}},
		"deleted by a commit of its own": {side: was, none: true, do: func(t *testing.T, a *auditRig) {
			git(t, a.dir, "merge", "-q", "side")
			git(t, a.dir, "rm", "-q", a.file)
			git(t, a.dir, "commit", "-qm", "no longer")
		}},
		"lost by a merge, and then changed": {side: theirs, want: []string{"Later."}, none: true, do: func(t *testing.T, a *auditRig) {
			git(t, a.dir, "merge", "-q", "-X", "ours", "side")
			write(t, filepath.Join(a.dir, a.file), a.memory("Later."))
			git(t, a.dir, "commit", "-qam", "later")
		}},
		"merged without conflict": {side: was, want: []string{mine}, none: true, do: func(t *testing.T, a *auditRig) {
			git(t, a.dir, "merge", "-q", "side")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAuditRig(t, was)
			git(t, a.dir, "checkout", "-q", "-b", "side")
			write(t, filepath.Join(a.dir, "side.go"), "package side\n")
			if tc.side == "" {
				git(t, a.dir, "rm", "-q", a.file)
			} else {
				write(t, filepath.Join(a.dir, a.file), a.memory(tc.side))
			}
			git(t, a.dir, "add", "-A")
			git(t, a.dir, "commit", "-qm", "side")
			git(t, a.dir, "checkout", "-q", "main")
			write(t, filepath.Join(a.dir, a.file), a.memory(mine))
			git(t, a.dir, "commit", "-qam", "mine")
			a.look(t)
			tc.do(t, a)
			head := git(t, a.dir, "rev-parse", "HEAD")
			a.look(t)
			text := atHead(t, a.dir, strings.TrimPrefix(a.file, "fold/"))
			if len(tc.want) == 0 && text != "" {
				t.Errorf("a memory that was deleted is back: %q", text)
			}
			for _, w := range tc.want {
				if !strings.Contains(text, w) {
					t.Errorf("HEAD has %q, want %q in it", text, w)
				}
			}
			if moved := git(t, a.dir, "rev-parse", "HEAD") != head; moved == tc.none {
				t.Errorf("a commit was made: %t, want %t", moved, !tc.none)
			}
			if got := git(t, a.dir, "status", "--porcelain", "--untracked-files=all"); got != "" {
				t.Errorf("status = %q", got)
			}
			head = git(t, a.dir, "rev-parse", "HEAD")
			a.look(t) // and not once more
			must(t, a.s.Close())
			a.s = branchStore(t, a.dir, nil)
			a.look(t)
			if now := git(t, a.dir, "rev-parse", "HEAD"); now != head {
				t.Error("a later look restored something again")
			}
		})
	}
}

// An auditRig is a checkout that tracks a memory.
type auditRig struct {
	dir, file string
	s         *gitops.Store
	live      string
}

func newAuditRig(t *testing.T, text string) *auditRig {
	dir := checkout(t)
	a := &auditRig{dir: dir, s: branchStore(t, dir, nil)}
	remember(t, a.s, "Another", "x") // else the folder goes with its last file
	p := remember(t, a.s, "Session timeout", text)
	onto(t, a.s)
	a.file, a.live = "fold/"+p, string(read(t, filepath.Join(dir, "fold", p)))
	return a
}

// memory is the memory with another text.
func (a *auditRig) memory(text string) string {
	return strings.Replace(a.live, "Thirty minutes.", text, 1)
}

// look has what is on disk recorded and committed, as the daemon does an hour on.
func (a *auditRig) look(t *testing.T) {
	t.Helper()
	_, err := a.s.CommitAll(t.Context())
	must(t, err)
	b, err := a.s.CommitBranch(t.Context())
	must(t, err)
	if b.Wait.Waits() || b.Pending {
		t.Fatalf("CommitBranch = %+v", b)
	}
}

// noReference is a disk that does not take the reference of the journal while it is on.
type noReference struct{ on atomic.Bool }

func (n *noReference) Before(op disk.Op, path string, size int) (int, error) {
	if n.on.Load() && strings.Contains(path, "journal") {
		return 0, syscall.ENOSPC
	}
	return size, nil
}

// TestRestoredAndDeletedAgain: what a merge had lost is restored, and the journal does not
// get that. Who deletes it then does not get it once more.
func TestRestoredAndDeletedAgain(t *testing.T) {
	t.Parallel()
	a := newAuditRig(t, "Thirty minutes.")
	must(t, a.s.Close())
	n := &noReference{}
	reopen := func() {
		a.s = branchStore(t, a.dir, func(o *gitops.StoreOptions) { o.Faults = n })
	}
	reopen()
	git(t, a.dir, "checkout", "-q", "-b", "side")
	git(t, a.dir, "rm", "-q", a.file)
	git(t, a.dir, "commit", "-qm", "side")
	git(t, a.dir, "checkout", "-q", "main")
	write(t, filepath.Join(a.dir, a.file), a.memory("Forty minutes."))
	git(t, a.dir, "commit", "-qam", "mine")
	a.look(t)
	failing(t, a.dir, "merge", "side")
	git(t, a.dir, "rm", "-q", a.file)
	git(t, a.dir, "commit", "-qm", "merged")
	_, err := a.s.CommitAll(t.Context())
	must(t, err)
	n.on.Store(true)
	if _, err := a.s.CommitBranch(t.Context()); err == nil {
		t.Fatal("the journal has it")
	}
	n.on.Store(false)
	full, path := filepath.Join(a.dir, a.file), strings.TrimPrefix(a.file, "fold/")
	got, err := a.s.Read(path)
	if err != nil || !strings.Contains(string(got), "Forty") {
		t.Fatalf("restored is %q, %v", got, err)
	}
	if _, err := os.Lstat(full); err == nil {
		t.Error("it lies where git does not know it")
	}
	_, err = a.s.Put(t.Context(), gitops.Write{Path: path, Base: got})
	must(t, err)
	for range 2 {
		a.look(t)
		must(t, a.s.Close())
		reopen()
	}
	if b, err := os.ReadFile(full); err == nil {
		t.Errorf("it came once more: %q", b)
	}
}
