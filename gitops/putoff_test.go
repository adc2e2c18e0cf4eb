package gitops_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A heldMemory is one that the user's git is about to bring another version of.
type heldMemory struct {
	*gitops.Store
	t     *testing.T
	dir   string
	path  string
	file  string
	ahead *atomic.Int64 // of the clock
	opt   func(*gitops.StoreOptions)
}

// holdMemory makes a memory of two commits of the user, or, with begin, one that the
// user's commands have taken a version of away.
func holdMemory(t *testing.T, begin ...[]string) *heldMemory {
	t.Helper()
	h := &heldMemory{t: t, dir: checkout(t), ahead: &atomic.Int64{}}
	h.opt = func(o *gitops.StoreOptions) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(h.ahead.Load())) }
	}
	h.Store = branchStore(t, h.dir, h.opt)
	h.path = remember(t, h.Store, "Held", "- first of all\n\nand\nmuch\nin\nbetween\n\n- last")
	h.file = filepath.Join(h.dir, "fold", h.path)
	git(t, h.dir, "add", "-A")
	git(t, h.dir, "commit", "-qm", "memories")
	write(t, h.file, string(edited(string(read(t, h.file)), "first of all", "second of all")))
	h.ahead.Store(int64(time.Second))
	h.commit()
	for _, args := range begin {
		git(t, h.dir, args...)
	}
	return h
}

func (h *heldMemory) commit() {
	h.t.Helper()
	_, err := h.Commit(h.t.Context(), []string{h.path}, "")
	must(h.t, err)
}

// append is what an agent does.
func (h *heldMemory) append(word string) {
	h.t.Helper()
	have, err := h.Read(h.path)
	must(h.t, err)
	p, err := h.Put(h.t.Context(), gitops.Write{Path: h.path, Base: have, New: append([]byte(strings.TrimSuffix(string(have), "\n")), "\n- then came "+word+"\n"...)})
	must(h.t, err)
	if p.Waits == "" {
		h.t.Error("the file does not wait")
	}
}

func (h *heldMemory) remove() {
	h.t.Helper()
	have, err := h.Read(h.path)
	must(h.t, err)
	_, err = h.Put(h.t.Context(), gitops.Write{Path: h.path, Base: have})
	must(h.t, err)
}

// reopen stops as a crash does, at most.
func (h *heldMemory) reopen(opt func(*gitops.StoreOptions)) {
	h.t.Helper()
	must(h.t, h.Close())
	h.Store = openStore(h.t, h.dir, func(o *gitops.StoreOptions) {
		o.CommitTo = "branch"
		h.opt(o)
		if opt != nil {
			opt(o)
		}
	})
}

// place has git rest, and what was put off written.
func (h *heldMemory) place() {
	h.t.Helper()
	h.ahead.Store(int64(3 * time.Minute))
	waits, err := h.PlacePutOff(h.t.Context())
	must(h.t, err)
	if waits != "" {
		h.t.Errorf("it still waits: %s", waits)
	}
}

// entries counts those of both logs.
func (h *heldMemory) entries() int {
	h.t.Helper()
	must(h.t, h.Close())
	n := 0
	for _, name := range []string{"wal", "putoff"} {
		b, err := os.ReadFile(filepath.Join(h.dir, ".git", "foldwatch", name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			h.t.Fatal(err)
		}
		n += strings.Count(string(b), "\xf0\x1dwr")
	}
	return n
}

func (h *heldMemory) wantWords(text string, words ...string) {
	h.t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			h.t.Errorf("%q is not in %q", w, text)
		}
	}
}

func bisecting() [][]string {
	return [][]string{{"commit", "-qam", "more"}, {"bisect", "start", "HEAD", "HEAD~2"}}
}

// TestPutOff: what an agent changes while git holds another version of a memory is
// acknowledged and read at once, and written when git rests, so that no command of the
// user finds a changed file in its way (git.md B7, I3, F28).
func TestPutOff(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name       string
		begin, end [][]string
		during     string // in the file
	}{
		{"stash", [][]string{{"stash", "push", "-q"}}, [][]string{{"stash", "pop", "-q"}}, "first of all"},
		{"older", [][]string{{"commit", "-qam", "more"}, {"checkout", "-q", "HEAD~1"}}, [][]string{{"checkout", "-q", "main"}}, "first of all"},
		{"bisect", bisecting(), [][]string{{"bisect", "reset"}}, "first of all"},
		{"topic", [][]string{{"checkout", "-qb", "topic"}, {"commit", "-qam", "more"}}, [][]string{{"checkout", "-q", "main"}, {"merge", "-q", "topic"}}, "second of all"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := holdMemory(t, tc.begin...)
			before := string(read(t, h.file))
			h.wantWords(before, tc.during)
			h.append("one")
			h.append("two")
			text, err := h.Read(h.path)
			must(t, err)
			h.wantWords(string(text), "came one", "came two")
			h.commit()
			in, err := h.At(t.Context(), "", h.path)
			must(t, err)
			h.wantWords(string(in), "came one", "came two")
			fresh := remember(t, h.Store, "New", "x")
			if _, err := os.Stat(filepath.Join(h.dir, "fold", fresh)); err != nil {
				t.Errorf("a new memory waits: %v", err)
			}
			h.reopen(nil)
			if waits, err := h.PlacePutOff(t.Context()); err != nil || waits == "" {
				t.Errorf("git rests, says the store: %v", err)
			}
			if got := string(read(t, h.file)); got != before {
				t.Errorf("the file was written meanwhile: %q", got)
			}
			if text, err = h.Read(h.path); err != nil || !strings.Contains(string(text), "came two") {
				t.Errorf("after a restart one reads %q, %v", text, err)
			}
			for _, args := range tc.end {
				git(t, h.dir, args...)
			}
			h.place()
			got := string(read(t, h.file))
			h.wantWords(got, "came one", "came two", "second of all")
			if st := h.Status(); len(st.SetAside) > 0 || strings.Contains(got, "conflict") {
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

// TestPutOffDeletion: a memory that is deleted while git holds another version of it
// does not come back with that; an edit that nobody knew of wins (git.md I9).
func TestPutOffDeletion(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		after string // what a person adds when git rests
		stays bool
	}{{"untouched", "", false}, {"edited", "\n- by a person\n", true}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := holdMemory(t, bisecting()...)
			h.append("one")
			h.remove()
			if _, err := h.Read(h.path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("it is read: %v", err)
			}
			h.commit()
			if in, err := h.At(t.Context(), "", h.path); err == nil {
				t.Errorf("the journal has it: %q", in)
			}
			git(t, h.dir, "bisect", "reset")
			write(t, h.file, string(read(t, h.file))+tc.after)
			h.reopen(nil)
			h.place()
			_, err := os.Stat(h.file)
			if stays := err == nil; stays != tc.stays {
				t.Errorf("the file stays: %v, want %v", stays, tc.stays)
			}
			h.commit()
			if reason, _ := h.Guard(t.Context()); reason.Guarded {
				t.Errorf("the vanish guard is up: %s", reason.Reason)
			}
			if n := h.entries(); n != 0 {
				t.Errorf("%d entries stay in the logs", n)
			}
		})
	}
}

// TestPutOffStays: nothing of what is put off is written in the middle of an
// operation, whatever becomes of the store; and the journal has it once.
func TestPutOffStays(t *testing.T) {
	t.Parallel()
	h := holdMemory(t, bisecting()...)
	before := string(read(t, h.file))
	h.append("one")
	h.commit()
	tip := h.Tip()
	same := func(when string) {
		t.Helper()
		if got := string(read(t, h.file)); got != before {
			t.Errorf("%s: the file was written: %q", when, got)
		}
		_, err := h.CommitAll(t.Context())
		must(t, err)
		h.commit()
		if h.Tip() != tip {
			t.Errorf("%s: it was recorded again: %s", when, repoGit(t, h.dir, "log", "--format=%s", tip+".."+h.Tip()))
		}
	}
	same("at once")
	if n := h.Status().WalEntries; n != 0 {
		t.Errorf("%d entries are kept in the write-ahead log", n)
	}
	must(t, h.OntoBranch(false)) // a bisection that steps behind fold/
	same("beside the branch")
	h.reopen(func(o *gitops.StoreOptions) { o.CommitTo = "sidecar" })
	if _, err := h.PlacePutOff(t.Context()); err != nil {
		t.Error(err)
	}
	same("opened beside the branch")
	h.reopen(nil)
	same("opened")
	git(t, h.dir, "bisect", "reset")
	log := filepath.Join(h.dir, ".git", "foldwatch", "putoff")
	kept := read(t, log)
	h.place()
	text := string(read(t, h.file))
	h.wantWords(text, "came one", "second of all")
	// A crash may come before that is forgotten: it is done once more.
	must(t, h.Close())
	must(t, os.WriteFile(log, kept, 0o600))
	h.reopen(nil)
	if len(h.PutOff()) != 1 {
		t.Fatalf("put off is %v", h.PutOff())
	}
	h.place()
	if got := string(read(t, h.file)); got != text {
		t.Errorf("done again, the file holds %q, was %q", got, text)
	}
}

// TestPutOffKeepsWhatLiesThere: what somebody writes into a file that waits is kept, by
// the journal and in the file.
func TestPutOffKeepsWhatLiesThere(t *testing.T) {
	t.Parallel()
	h := holdMemory(t, bisecting()...)
	h.append("one")
	write(t, h.file, string(edited(string(read(t, h.file)), "- last", "- last, by a person")))
	h.ahead.Store(int64(2 * time.Second)) // a file settles
	h.commit()
	if log := repoGit(t, h.dir, "log", "--oneline", "-S", "by a person", "refs/foldwatch/journal"); log == "" {
		t.Error("the journal does not have what a person wrote")
	}
	git(t, h.dir, "checkout", "-q", "--", "fold")
	git(t, h.dir, "bisect", "reset")
	write(t, h.file, string(edited(string(read(t, h.file)), "- last", "- last, by another")))
	h.place()
	h.wantWords(string(read(t, h.file)), "came one", "by another", "second of all")
}

// TestPutOffDeletionRestored: the version before a deletion that was put off is the one
// that is restored, and no other is lost, whenever the journal gets to it.
func TestPutOffDeletionRestored(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		do   func(h *heldMemory)
	}{
		{"at once", func(*heldMemory) {}},
		{"recorded", (*heldMemory).commit},
		{"told", func(h *heldMemory) { // the journal has what git put there, and E1
			write(h.t, h.file, string(edited(string(read(h.t, h.file)), "- last", "- last of all")))
			h.ahead.Store(int64(2 * time.Second))
			h.commit()
		}},
		{"many", func(h *heldMemory) {
			for range 20 {
				h.append("more")
			}
		}},
		{"placed before it is recorded", func(*heldMemory) {}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := holdMemory(t, bisecting()...)
			h.append("one")
			tc.do(h)
			h.append("two")
			want, err := h.Read(h.path)
			must(t, err)
			h.remove()
			if tc.name != "placed before it is recorded" {
				h.commit()
				h.wantLast(string(want))
				h.reopen(nil)
				h.commit()
			}
			git(t, h.dir, "checkout", "-q", "--", "fold")
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
		})
	}
}

// wantLast checks which version of the memory a restore takes.
func (h *heldMemory) wantLast(want string) {
	h.t.Helper()
	b, _, err := h.LastBlob(h.t.Context(), h.path)
	must(h.t, err)
	if string(b) != want {
		h.t.Errorf("the last version is %q, want %q", b, want)
	}
}

// TestPutOffMany: neither does a write of many files get in git's way; one that is to be
// a commit of its own is refused until git rests.
func TestPutOffMany(t *testing.T) {
	t.Parallel()
	h := holdMemory(t, bisecting()...)
	tip := h.Tip()
	before := read(t, h.file)
	fresh := gitops.Write{ID: "00112233445566aa"}
	fresh.New = edited(string(before), strings.TrimSuffix(filepath.Base(h.path), ".md"), string(fresh.ID))
	n, skipped, err := h.PutMany(t.Context(), []gitops.Write{{Path: h.path, Base: before, New: edited(string(before), "- last", "- last of many")}, fresh})
	if err != nil || n != 2 || len(skipped) > 0 {
		t.Errorf("%d were written, %v skipped: %v", n, skipped, err)
	}
	for name, do := range map[string]func() error{
		"archive": func() error {
			have, err := h.Read(h.path)
			must(t, err)
			_, _, _, err = h.PutAs(t.Context(), []gitops.Write{{Path: h.path, Base: have}}, "fold: Archive")
			return err
		},
		"undo": func() error { _, err := h.Undo(t.Context(), tip); return err },
	} {
		if err := do(); !errors.Is(err, fold.ErrUnavailable) || !strings.Contains(err.Error(), "bisect") {
			t.Errorf("%s: %v, want unavailable", name, err)
		}
	}
	if got := read(t, h.file); string(got) != string(before) {
		t.Errorf("the file was written: %q", got)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "fold", fresh.ID.Path())); err != nil {
		t.Errorf("a new memory waits: %v", err)
	}
	git(t, h.dir, "bisect", "reset")
	h.place()
	h.wantWords(string(read(t, h.file)), "last of many", "second of all")
}

// TestPutOffRestored: what is brought back where git has a version of it, or a
// tombstone, is in the way of none of the user's commands.
func TestPutOffRestored(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		begin func(h *heldMemory)
	}{
		{"absent", func(h *heldMemory) {
			git(h.t, h.dir, "commit", "-qam", "more")
			git(h.t, h.dir, "checkout", "-q", "HEAD~2")
		}},
		{"tombstone", func(h *heldMemory) {
			was := read(h.t, h.file)
			tomb, err := fold.Bury("t", h.path, was, time.Now())
			must(h.t, err)
			write(h.t, h.file, string(tomb))
			git(h.t, h.dir, "add", "-A")
			git(h.t, h.dir, "commit", "-qm", "deleted")
			write(h.t, filepath.Join(h.dir, "README"), "more\n")
			git(h.t, h.dir, "add", "-A")
			git(h.t, h.dir, "commit", "-qm", "more")
			git(h.t, h.dir, "checkout", "-q", "HEAD~1")
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := holdMemory(t)
			want := read(t, h.file)
			tc.begin(h)
			before, _ := os.ReadFile(h.file)
			p, err := h.Put(t.Context(), gitops.Write{Path: h.path, New: want})
			must(t, err)
			if p.Waits == "" {
				t.Error("the file does not wait")
			}
			if now, _ := os.ReadFile(h.file); string(now) != string(before) {
				t.Errorf("the file was written: %q", now)
			}
			if got, err := h.Read(h.path); err != nil || string(got) != string(want) {
				t.Errorf("one reads %q, %v", got, err)
			}
			h.reopen(nil)
			h.append("one")
			git(t, h.dir, "checkout", "-q", "main")
			if v, err := h.Guard(t.Context()); err != nil || v.Guarded {
				t.Errorf("the vanish guard is up: %+v, %v", v, err)
			}
			h.place()
			h.wantWords(string(read(t, h.file)), "second of all", "came one")
			if got := string(read(t, h.file)); strings.Count(got, "second of all") != 1 {
				t.Errorf("the file holds %q", got)
			}
		})
	}
}

// TestPutOffLeaves: a store that is left for good writes all, whatever git does, and
// says what it cannot.
func TestPutOffLeaves(t *testing.T) {
	t.Parallel()
	h := holdMemory(t, bisecting()...)
	h.append("one")
	must(t, os.Remove(h.file))
	must(t, os.Mkdir(h.file, 0o755))
	if err := h.PlaceAll(); err == nil {
		t.Error("it is placed over a folder")
	}
	must(t, os.Remove(h.file))
	git(t, h.dir, "checkout", "-q", "--", "fold")
	h.append("two") // put off as ever
	must(t, h.PlaceAll())
	h.wantWords(string(read(t, h.file)), "came one", "came two")
	have, err := h.Read(h.path)
	must(t, err)
	p, err := h.Put(t.Context(), gitops.Write{Path: h.path, Base: have, New: edited(string(have), "came two", "came three")})
	if err != nil || p.Waits != "" {
		t.Errorf("afterwards a write waits for %q: %v", p.Waits, err)
	}
}

// TestPutOffUnwritable: one file that cannot be written holds up no other, and status
// names it.
func TestPutOffUnwritable(t *testing.T) {
	t.Parallel()
	h := holdMemory(t, bisecting()...)
	h.append("one")
	git(t, h.dir, "checkout", "-q", "--", "fold")
	git(t, h.dir, "bisect", "reset")
	must(t, os.Remove(h.file))
	must(t, os.Symlink("elsewhere.md", h.file))
	h.ahead.Store(int64(3 * time.Minute))
	if _, err := h.PlacePutOff(t.Context()); err == nil {
		t.Error("it is placed over a link")
	}
	if why := h.Status().SetAside[h.path]; !strings.Contains(why, "put off") {
		t.Errorf("status says %q of it", why)
	}
	fresh := gitops.Write{ID: "00112233445566aa", New: []byte("---\nid: \"00112233445566aa\"\ntitle: New\n---\n# New\n")}
	n, skipped, err := h.PutMany(t.Context(), []gitops.Write{{Path: h.path, New: fresh.New}, fresh})
	if err != nil || n != 1 || len(skipped) != 1 {
		t.Errorf("%d were written, %v skipped: %v", n, skipped, err)
	}
	must(t, os.Remove(h.file))
	git(t, h.dir, "checkout", "-q", "--", "fold")
	h.place()
	h.wantWords(string(read(t, h.file)), "came one")
	if why := h.Status().SetAside[h.path]; why != "" {
		t.Errorf("status says %q of it", why)
	}
}

// TestPutOffDescribed: the newest description is the base of the next, also where its
// file waits.
func TestPutOffDescribed(t *testing.T) {
	t.Parallel()
	h := holdMemory(t, bisecting()...)
	have := read(t, h.file)
	text := edited(string(have), "- last", "- described")
	_, err := h.Put(t.Context(), gitops.Write{Path: h.path, Base: have, New: text, Described: text})
	must(t, err)
	if got, err := h.LastDescribed(t.Context(), h.path); err != nil || string(got) != string(text) {
		t.Errorf("it was described as %q, %v", got, err)
	}
	if _, described, err := h.Describer(); err != nil || !described {
		t.Errorf("nothing was described: %v", err)
	}
}

// TestInPassing: a HEAD that is on no branch for long is there to stay.
func TestInPassing(t *testing.T) {
	t.Parallel()
	h := holdMemory(t, []string{"checkout", "-q", "--detach"})
	l, err := gitops.Locate(t.Context(), h.dir)
	must(t, err)
	if !l.InPassing(time.Now()) || l.InPassing(time.Now().Add(time.Hour)) {
		t.Error("a detached HEAD is in passing for other than half an hour")
	}
}

// countedLog counts how often the log of what is put off is written.
type countedLog struct{ n atomic.Int64 }

func (c *countedLog) Before(_ disk.Op, path string, size int) (int, error) {
	if path == "putoff" {
		c.n.Add(1)
	}
	return size, nil
}

// TestPutOffBatch: many files get what was put off with one change of the log.
func TestPutOffBatch(t *testing.T) {
	t.Parallel()
	h := holdMemory(t)
	before := string(read(t, h.file))
	var paths []string
	for i := range 12 {
		paths = append(paths, remember(t, h.Store, fmt.Sprintf("Many %d", i), "text"))
	}
	git(t, h.dir, "add", "-A")
	git(t, h.dir, "commit", "-qm", "many")
	git(t, h.dir, "checkout", "-q", "--detach")
	log := &countedLog{}
	h.reopen(func(o *gitops.StoreOptions) { o.Faults = log })
	for _, p := range paths {
		have, err := h.Read(p)
		must(t, err)
		_, err = h.Put(t.Context(), gitops.Write{Path: p, Base: have, New: append(have, "\n- more\n"...)})
		must(t, err)
	}
	if n := len(h.PutOff()); n != len(paths) {
		t.Fatalf("%d are put off, want %d", n, len(paths))
	}
	git(t, h.dir, "checkout", "-q", "main")
	log.n.Store(0)
	h.place()
	if n := log.n.Load(); n != 1 {
		t.Errorf("the log was written in %d steps, want 1", n)
	}
	for _, p := range paths {
		h.wantWords(string(read(t, filepath.Join(h.dir, "fold", p))), "- more")
	}
	if got := string(read(t, h.file)); got != before || len(h.PutOff()) > 0 {
		t.Errorf("another file holds %q, and %v waits", got, h.PutOff())
	}
}

// TestPutOffTakenIn: neither is what comes by sync written in the middle of an
// operation; it is read at once.
func TestPutOffTakenIn(t *testing.T) {
	t.Parallel()
	h := holdMemory(t)
	git(t, h.dir, "commit", "-qam", "more")
	opt := gitops.SyncOptions{Remote: bareRemote(t), Local: true, Publish: true}
	sync := func(s *gitops.Store) {
		t.Helper()
		_, err := s.Sync(t.Context(), opt)
		must(t, err)
	}
	sync(h.Store)
	other := newReplica(t, opt.Remote, nil)
	sync(other.s)
	have := other.read(h.path)
	_, err := other.s.Put(t.Context(), gitops.Write{Path: h.path, Base: []byte(have), New: adding("one")(have)})
	must(t, err)
	other.commit()
	sync(other.s)
	git(t, h.dir, "bisect", "start", "HEAD", "HEAD~2")
	before := string(read(t, h.file))
	sync(h.Store)
	if got := string(read(t, h.file)); got != before {
		t.Errorf("the file was written: %q", got)
	}
	text, err := h.Read(h.path)
	must(t, err)
	h.wantWords(string(text), "came one")
	git(t, h.dir, "bisect", "reset")
	h.place()
	h.wantWords(string(read(t, h.file)), "second of all", "came one")
}

// TestPutOffWhereTheBranchIsAhead: a change of a memory that the last commit does not
// have yet, and the branch that it follows has, makes no file that is in the way of the
// user's next pull.
func TestPutOffWhereTheBranchIsAhead(t *testing.T) {
	t.Parallel()
	h := holdMemory(t)
	git(t, h.dir, "commit", "-qam", "second")
	git(t, h.dir, "branch", "upstream")
	git(t, h.dir, "checkout", "-q", "-b", "topic", "HEAD~2")
	git(t, h.dir, "branch", "-q", "--set-upstream-to=upstream")
	git(t, h.dir, "branch", "-q", "-D", "main")
	write(t, filepath.Join(h.dir, "fold", "Note.md"), "Another.\n")
	git(t, h.dir, "add", "-f", "fold/Note.md")
	git(t, h.dir, "commit", "-qm", "note")
	git(t, h.dir, "merge", "-q", "--no-edit", "upstream") // the change is made there
	h.append("a word")
	h.commit()
	git(t, h.dir, "reset", "-q", "--hard", "HEAD~1") // and that is given up
	look := func(later time.Duration) (waits string) {
		h.ahead.Store(int64(later))
		waits, err := h.PlacePutOff(t.Context())
		must(t, err)
		h.commit()
		return waits
	}
	for _, later := range []time.Duration{5 * time.Minute, 50 * time.Minute} {
		if waits := look(later); !strings.Contains(waits, "git pull") {
			t.Errorf("waits %q", waits)
		}
	}
	if _, err := os.Stat(h.file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file lies in the way: %v", err)
	}
	git(t, h.dir, "pull", "-q", "--rebase", ".", "upstream")
	if waits := look(100 * time.Minute); waits != "" {
		t.Errorf("it still waits: %s", waits)
	}
	if b := string(read(t, h.file)); !strings.Contains(b, "a word") {
		t.Errorf("the change is not in the file: %s", b)
	}
}
