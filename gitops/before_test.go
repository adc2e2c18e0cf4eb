package gitops_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops"
)

// cloneOfThree is a fresh store on a clone whose branch has had a memory in three
// versions: no journal has seen the first two. Format is how objects are named.
func cloneOfThree(t *testing.T, format string) *heldMemory {
	t.Helper()
	origin := realDir(t)
	git(t, origin, "init", "-q", "--template=", "--object-format="+format, ".")
	s := branchStore(t, origin, nil)
	path := remember(t, s, "Held", "The first.")
	for _, text := range []string{"The first.", "The second.", "The third."} {
		f := filepath.Join(origin, "fold", path)
		write(t, f, strings.Replace(string(read(t, f)), "The first.", text, 1))
		write(t, f, strings.Replace(string(read(t, f)), "The second.", text, 1))
		git(t, origin, "add", "-A")
		git(t, origin, "commit", "-qm", text)
	}
	must(t, s.Close())
	h := &heldMemory{t: t, dir: filepath.Join(realDir(t), "clone"), path: path}
	git(t, filepath.Dir(h.dir), "clone", "-q", "--template=", origin, h.dir)
	h.file = filepath.Join(h.dir, "fold", path)
	h.ahead = newAhead(time.Hour)
	h.opt = func(o *gitops.StoreOptions) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(h.ahead.Load())) }
	}
	h.Store = branchStore(t, h.dir, h.opt)
	_, err := h.CommitAll(t.Context())
	must(t, err)
	return h
}

// mateBranch makes a branch elsewhere whose memory is another.
func (h *heldMemory) mateBranch(name, text string) {
	h.t.Helper()
	tree := h.dir + "-w"
	git(h.t, h.dir, "worktree", "add", "-q", "-b", name, tree, "main")
	f := filepath.Join(tree, "fold", h.path)
	write(h.t, f, strings.Replace(string(read(h.t, f)), "The third.", text, 1))
	git(h.t, tree, "commit", "-qam", name)
	git(h.t, h.dir, "worktree", "remove", "--force", tree)
}

// TestPutOffDeletionMeetsThePast: a version from before the clone is no edit of a memory
// that was deleted, also if it lies there when the deletion comes to its file; one that
// somebody else made is.
func TestPutOffDeletionMeetsThePast(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, to, mate, format string
		then                   []string
		stays                  bool
	}{
		{"an older commit", "main~2", "The other.", "sha1", nil, false},
		{"an older commit of sha256", "main~2", "The other.", "sha256", nil, false},
		{"a topic from there", "main~2", "The other.", "sha1", []string{"commit", "-q", "--allow-empty", "-m", "topic"}, false},
		{"another's branch", "mate", "The other.", "sha1", nil, true},
		{"another's way back", "mate", "The first.", "sha1", nil, true},
		{"checked out alone", "main", "The other.", "sha1", []string{"checkout", "-q", "main~2", "--", "fold"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := cloneOfThree(t, tc.format)
			h.ahead.Store(int64(2 * time.Second))
			git(t, h.dir, "checkout", "-q", "HEAD~1")
			h.remove() // the second version; main has the third
			h.mateBranch("mate", tc.mate)
			git(t, h.dir, "checkout", "-q", "-B", "here", tc.to)
			if tc.then != nil {
				git(t, h.dir, tc.then...)
			}
			h.reopen(nil)
			h.place()
			b, err := h.Read(h.path)
			if tc.stays && err != nil {
				t.Errorf("the edit is gone: %v", err)
			} else if !tc.stays && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("deleted, and read again: %q, %v", b, err)
			}
		})
	}
}

// TestOwedDeletionMeetsThePast: as TestPutOffDeletionMeetsThePast, where HEAD is set back
// to such a version. Who checks it out alone, beside another one in HEAD, wants it, and
// who goes back to it in a commit has edited the memory.
func TestOwedDeletionMeetsThePast(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		do    [][]string
		stays bool
	}{
		{"set back", [][]string{{"reset", "-q", "--hard", "HEAD~2"}}, false},
		{"no time left", [][]string{{"reset", "-q", "--hard", "HEAD~2"}}, true},
		{"checked out", [][]string{{"checkout", "-q", "HEAD~2", "--", "fold"}}, true},
		{"restored", [][]string{{"restore", "-s", "HEAD~1", "fold"}}, true},
		{"committed", [][]string{{"checkout", "-q", "HEAD~2", "--", "fold"}, {"commit", "-qm", "Back to the first"}}, true},
		{"pulled", [][]string{{"merge", "-q", "--ff-only", "mate"}}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := cloneOfThree(t, "sha1")
			h.mateBranch("mate", "The first.")
			h.remove()
			h.commit()
			if _, err := os.Stat(h.file); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("the file is there: %v", err)
			}
			if tc.name == "no time left" {
				h.SpendPast()
			}
			for _, args := range tc.do {
				git(t, h.dir, args...)
			}
			for range 2 {
				h.commit()
				_, err := h.PlacePutOff(t.Context())
				must(t, err)
			}
			b, err := h.Read(h.path)
			if tc.stays && err != nil {
				t.Errorf("what somebody asked git for is gone: %v", err)
			} else if !tc.stays && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("deleted, and read again: %q, %v", b, err)
			}
		})
	}
}

func newAhead(d time.Duration) *atomic.Int64 {
	n := &atomic.Int64{}
	n.Store(int64(d))
	return n
}
