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
	"github.com/foldwatch/foldwatch/testdata/fulltest"
)

// putNow writes at once, and nothing commits that: it is in the wal.
func (h *heldMemory) putNow(edit func(string) []byte) {
	h.t.Helper()
	have, err := h.Read(h.path)
	must(h.t, err)
	p, err := h.Put(h.t.Context(), gitops.Write{Path: h.path, Base: have, New: edit(string(have))})
	must(h.t, err)
	if p.Waits != "" {
		h.t.Errorf("the file waits: %s", p.Waits)
	}
}

func adding(word string) func(string) []byte {
	return func(b string) []byte { return []byte(strings.TrimSuffix(b, "\n") + "\n- then came " + word + "\n") }
}

// TestReplayWaits: what was acknowledged and never committed is not written at a start
// in the middle of an operation of the user, is read at once, and is written when git
// rests (git.md B7, F28).
func TestReplayWaits(t *testing.T) {
	t.Parallel()
	commit := []string{"commit", "-qam", "more"}
	type scene struct {
		name       string
		begin, end [][]string
		touched    bool // the file was written before the crash, and the user committed it
	}
	for _, tc := range fulltest.Some(2, []scene{
		{"bisect", bisecting(), [][]string{{"bisect", "reset"}}, true},
		{"bisect, not written", bisecting(), [][]string{{"bisect", "reset"}}, false},
		{"older", [][]string{commit, {"checkout", "-q", "HEAD~1"}}, [][]string{{"checkout", "-q", "main"}}, true},
		{"stash", [][]string{{"stash", "push", "-q"}}, [][]string{{"stash", "pop", "-q"}}, true},
		{"rebase", [][]string{commit, {"-c", "sequence.editor=sed -i.bak s/^pick/edit/", "rebase", "-qi", "HEAD~1"}}, [][]string{{"rebase", "--abort"}}, false},
		{"switched", [][]string{{"checkout", "-qb", "topic"}, commit, {"checkout", "-q", "main"}}, [][]string{{"merge", "-q", "topic"}}, true},
		{"fold gone", [][]string{commit, {"checkout", "-q", "HEAD~2"}}, [][]string{{"checkout", "-q", "main"}}, true},
	}) {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := holdMemory(t)
			before := read(t, h.file)
			h.putNow(adding("one"))
			h.putNow(adding("two"))
			if !tc.touched {
				write(t, h.file, string(before))
			}
			must(t, h.Close())
			for _, args := range tc.begin {
				git(t, h.dir, args...)
			}
			during, derr := os.ReadFile(h.file)
			same := func(when string) {
				t.Helper()
				if got, err := os.ReadFile(h.file); string(got) != string(during) || (err == nil) != (derr == nil) {
					t.Errorf("%s: the file was written: %q, %v", when, got, err)
				}
				text, err := h.Read(h.path)
				if err != nil {
					t.Fatalf("%s: %v", when, err)
				}
				h.wantWords(string(text), "second of all", "came one", "came two")
			}
			var told []string
			reopen := func() {
				h.reopen(func(o *gitops.StoreOptions) { o.Changed = func(paths []string) { told = append(told, paths...) } })
			}
			reopen()
			same("at once")
			if len(told) != 1 || told[0] != h.path {
				t.Errorf("told of %v", told)
			}
			reopen() // and nothing was committed in between
			same("opened again")
			h.append("three")
			reopen()
			same("changed and opened again")
			if waits, err := h.PlacePutOff(t.Context()); err != nil || waits == "" {
				t.Errorf("git rests, says the store: %v", err)
			}
			same("looked at")
			for _, args := range tc.end {
				git(t, h.dir, args...)
			}
			_, err := h.Guard(t.Context()) // it is back
			must(t, err)
			h.place()
			got := string(read(t, h.file))
			h.wantWords(got, "second of all", "came one", "came two", "came three")
			if st := h.Status(); len(st.SetAside) > 0 || strings.Contains(got, "conflict") || strings.Count(got, "came one") != 1 {
				t.Errorf("status %+v, the file %q", st, got)
			}
			_, err = h.CommitAll(t.Context())
			must(t, err)
			if n := h.entries(); n != 0 {
				t.Errorf("%d entries stay in the logs", n)
			}
			fsck(t, h.dir)
		})
	}
}

// TestReplayWaitsForAll: neither a deletion nor a change of a file that was put off
// later is replayed into an operation of the user; a new memory is made.
func TestReplayWaitsForAll(t *testing.T) {
	t.Parallel()
	h := holdMemory(t)
	before := string(read(t, h.file))
	h.putNow(adding("one"))
	git(t, h.dir, "commit", "-qam", "more")
	git(t, h.dir, "bisect", "start", "HEAD", "HEAD~2")
	must(t, os.WriteFile(h.file, adding("one")(before), 0o600)) // as the store left it
	h.append("two")                                             // on what the write-ahead log holds
	git(t, h.dir, "checkout", "-q", "--", "fold")
	during := string(read(t, h.file))
	id, fresh := memoryFile("Fresh", "text")
	_, err := h.Put(t.Context(), gitops.Write{ID: id, New: fresh})
	must(t, err)
	freshFile := filepath.Join(h.dir, "fold", id.Path())
	must(t, os.Remove(freshFile))
	h.reopen(nil)
	if got := string(read(t, h.file)); got != during {
		t.Errorf("the file was written: %q", got)
	}
	if _, err := os.Stat(freshFile); err != nil {
		t.Errorf("a new memory waits: %v", err)
	}
	git(t, h.dir, "bisect", "reset")
	write(t, h.file, during)
	h.place()
	got := string(read(t, h.file))
	h.wantWords(got, "came one", "came two")
	if strings.Contains(got, "conflict") {
		t.Errorf("the file holds %q", got)
	}
}

// TestReplayDeletionWaits: a deletion that was acknowledged does not take the file away
// in the middle of an operation, and the memory is gone for readers.
func TestReplayDeletionWaits(t *testing.T) {
	t.Parallel()
	h := holdMemory(t)
	want := read(t, h.file)
	git(t, h.dir, "commit", "-qam", "more")
	h.remove()
	must(t, h.Close())
	write(t, h.file, string(want)) // the crash came first
	git(t, h.dir, "bisect", "start", "HEAD", "HEAD~2")
	during := string(read(t, h.file))
	h.reopen(nil)
	if got := string(read(t, h.file)); got != during {
		t.Errorf("the file was written: %q", got)
	}
	if _, err := h.Read(h.path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is read: %v", err)
	}
	git(t, h.dir, "bisect", "reset")
	h.place()
	if _, err := os.Stat(h.file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is back: %v", err)
	}
	h.commit()
	h.wantLast(string(want))
	if n := h.entries(); n != 0 {
		t.Errorf("%d entries stay in the logs", n)
	}
}

// TestReplayBesideTheBranch: where nothing goes onto a branch all is written at once,
// whatever git is at.
func TestReplayBesideTheBranch(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	opt := func(o *gitops.StoreOptions) { o.Now = func() time.Time { return time.Now().Add(time.Second) } }
	s := openStore(t, dir, opt)
	id, b := memoryFile("Kept", "text")
	_, err := s.Put(t.Context(), gitops.Write{ID: id, New: b})
	must(t, err)
	must(t, s.Close())
	file := filepath.Join(dir, "fold", id.Path())
	must(t, os.Remove(file))
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "more")
	git(t, dir, "bisect", "start", "HEAD", "HEAD~1")
	openStore(t, dir, opt)
	if got := string(read(t, file)); got != string(b) {
		t.Errorf("the file holds %q", got)
	}
}
