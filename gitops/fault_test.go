package gitops_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/testdata/fulltest"
)

// faults fails steps: every one from the at-th on while on (a process that is
// killed does nothing more), or those that match.
type faults struct {
	mu    sync.Mutex
	n     int
	at    int // 0 = never
	match func(op disk.Op, path string) error
	trace []string
}

var errKilled = errors.New("killed")

func (f *faults) Before(op disk.Op, path string, size int) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.match != nil {
		if err := f.match(op, path); err != nil {
			return 0, err
		}
		return size, nil
	}
	f.n++
	f.trace = append(f.trace, string(op)+" "+path)
	if f.at > 0 && f.n >= f.at {
		if f.n == f.at {
			return size / 2, errKilled // in the middle of a write
		}
		return 0, errKilled
	}
	return size, nil
}

func (f *faults) set(at int, match func(disk.Op, string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n, f.at, f.match, f.trace = 0, at, match, nil
}

// TestKillAtEveryStep stops a run of writes and commits at every step in turn,
// starts again, and expects every acknowledged byte (F01, F03, I7).
func TestKillAtEveryStep(t *testing.T) {
	t.Parallel()
	stride := 17
	if fulltest.Crash() {
		stride = 1
	}
	var steps int
	for at := 1; ; at += stride {
		dir := realDir(t)
		git(t, dir, "init", "-q", "--template=", ".")
		lay := &usergit.Repo{WorkTree: dir, GitDir: filepath.Join(dir, ".git"), CommonDir: filepath.Join(dir, ".git"), MainTree: dir}
		f := &faults{}
		s, err := gitops.OpenStore(t.Context(), gitops.StoreOptions{Repo: lay, Slug: "app", Now: later, Faults: f, Author: ann})
		must(t, err)
		f.set(at, nil)
		acked, killed := scenario(t, s)
		steps = at
		f.set(at, nil)
		f.mu.Lock()
		f.n = at + 1 // closing changes nothing either
		f.mu.Unlock()
		_ = s.Close()
		if !killed {
			break
		}
		again, err := gitops.OpenStore(t.Context(), gitops.StoreOptions{Repo: lay, Slug: "app", Now: later, Author: ann})
		must(t, err)
		if _, err := again.CommitAll(t.Context()); err != nil {
			t.Fatalf("killed at %d: CommitAll = %v", at, err)
		}
		for p, want := range acked {
			got, err := again.Read(p) // nothing, if it is deleted
			if err != nil && !errors.Is(err, fs.ErrNotExist) || !oneOf(string(got), want) {
				t.Errorf("killed at %d: %s = %q, %v, want %q", at, p, got, err, want)
			}
			b, err := again.History().At(t.Context(), "", p)
			if err != nil && !errors.Is(err, fold.ErrNotFound) || string(b) != string(got) {
				t.Errorf("killed at %d: journal has %q for %s, %v", at, b, p, err)
			}
		}
		if st := again.Status(); st.WalEntries != 0 || len(st.SetAside) != 0 || st.Guarded {
			t.Errorf("killed at %d: status %+v", at, st)
		}
		if at%2 == 0 {
			fsck(t, dir)
		}
		_ = filepath.WalkDir(filepath.Join(dir, "fold"), func(p string, d fs.DirEntry, _ error) error {
			if disk.IsTemp(p) {
				t.Errorf("killed at %d: left %s", at, p)
			}
			return nil
		})
		must(t, again.Close())
	}
	t.Logf("%d steps", steps)
	if steps < 40 {
		t.Errorf("only %d steps: the faults do not see the writes", steps)
	}
}

func ann() (string, string) { return "Ann", "ann@example.org" }

// oneOf reports whether got is one of the states that want lists, split by |:
// a write that was not acknowledged may or may not be there.
func oneOf(got, want string) bool {
	for w := range strings.SplitSeq(want, "|") {
		if got == w {
			return true
		}
	}
	return false
}

// scenario writes, commits, edits and deletes until a step fails. It returns
// what each path must hold, or may.
func scenario(t testing.TB, s *gitops.Store) (acked map[string]string, killed bool) {
	acked = map[string]string{}
	ctx := t.Context()
	ids := []fold.ID{fold.SlugID("app", "0"), fold.SlugID("app", "1"), fold.SlugID("app", "2")}
	have := map[fold.ID][]byte{}
	step := 0
	put := func(id fold.ID, b []byte) bool {
		_, err := s.Put(ctx, gitops.Write{ID: id, Base: have[id], New: b})
		if err != nil {
			if old, ok := acked[id.Path()]; ok {
				acked[id.Path()] = old + "|" + string(b)
			}
			return false
		}
		have[id] = b
		acked[id.Path()] = string(b)
		return true
	}
	text := func(id fold.ID) []byte {
		step++
		_, b := memoryFile(string(id), fmt.Sprintf("step %d", step))
		return []byte(strings.Replace(string(b), string(fold.SlugID("app", string(id))), string(id), 1))
	}
	commit := func() bool {
		_, err := s.Commit(ctx, nil, "")
		return err == nil
	}
	for _, id := range ids {
		if !put(id, text(id)) {
			return acked, true
		}
	}
	if !commit() || !put(ids[0], text(ids[0])) || !put(ids[1], nil) || !commit() ||
		!put(ids[2], text(ids[2])) || !put(ids[2], text(ids[2])) || !commit() {
		return acked, true
	}
	return acked, false
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	f := &faults{}
	s := openStore(t, dir, func(o *gitops.StoreOptions) { o.Faults = f })
	ctx := t.Context()
	id, v1 := memoryFile("T", "one")
	_, v2 := memoryFile("T", "two")
	_, err := s.Put(ctx, gitops.Write{ID: id, New: v1})
	must(t, err)
	full := func(part string) func(disk.Op, string) error {
		return func(op disk.Op, path string) error {
			if (op == disk.OpWrite || op == disk.OpCreate) && strings.Contains(path, part) {
				return syscall.ENOSPC
			}
			return nil
		}
	}
	// F09: on the memory file, and on the wal.
	for _, part := range []string{id.Path(), "wal"} {
		f.set(0, full(part))
		if _, err := s.Put(ctx, gitops.Write{ID: id, Base: v1, New: v2}); !errors.Is(err, fold.ErrUnavailable) {
			t.Errorf("Put with a full disk at %s = %v", part, err)
		}
		if got, err := s.Read(id.Path()); err != nil || string(got) != string(v1) {
			t.Errorf("Read = %q, %v", got, err)
		}
	}
	// F11: on git objects: nothing moves, and it is tried again.
	f.set(0, full("repo.git/objects"))
	if _, err := s.Commit(ctx, nil, ""); !errors.Is(err, fold.ErrUnavailable) || s.Tip() != "" {
		t.Errorf("Commit with a full disk = %v, tip %q", err, s.Tip())
	}
	f.set(0, full("refs"))
	if _, err := s.Commit(ctx, nil, ""); !errors.Is(err, fold.ErrUnavailable) || s.Tip() != "" {
		t.Errorf("Commit with a full disk = %v, tip %q", err, s.Tip())
	}
	f.set(0, nil)
	if rec, err := s.Commit(ctx, nil, ""); err != nil || rec.Oid == "" {
		t.Errorf("Commit with space again = %+v, %v", rec, err)
	}
	_, err = s.Put(ctx, gitops.Write{ID: id, Base: v1, New: v2})
	must(t, err)
	_, err = s.Commit(ctx, nil, "")
	must(t, err)
	if n := s.Status().WalEntries; n != 0 {
		t.Errorf("wal has %d entries", n)
	}
	fsck(t, dir)
}

// TestFailedSyncIsNotAcknowledged: F12. What a failed sync left in the log must
// not come back at the next start either.
func TestFailedSyncIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	f := &faults{}
	s := openStore(t, dir, func(o *gitops.StoreOptions) { o.Faults = f })
	ctx := t.Context()
	keep, kept := memoryFile("keep", "x")
	_, err := s.Put(ctx, gitops.Write{ID: keep, New: kept})
	must(t, err)
	once := true
	f.set(0, func(op disk.Op, path string) error {
		if op == disk.OpSync && path == "wal" && once {
			once = false
			return syscall.EIO
		}
		return nil
	})
	id, b := memoryFile("lost", "x")
	if _, err := s.Put(ctx, gitops.Write{ID: id, New: b}); !errors.Is(err, fold.ErrUnavailable) {
		t.Fatalf("Put with a failing sync = %v", err)
	}
	if n := s.Status().WalEntries; n != 1 {
		t.Errorf("wal has %d entries, want 1", n)
	}
	must(t, os.Remove(filepath.Join(dir, "fold", keep.Path()))) // the wal must bring it back
	must(t, s.Close())
	s = openStore(t, dir, nil)
	if got, err := s.Read(keep.Path()); err != nil || string(got) != string(kept) {
		t.Errorf("acknowledged memory = %q, %v", got, err)
	}
	if _, err := s.Read(id.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("refused memory is there: %v", err)
	}
}

// TestReplay compares the replay of random wals over random disks with the
// rule: disk = new → done; disk = base → write; else both survive.
func TestReplay(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	wal := filepath.Join(dir, ".git/foldwatch/wal")
	rng := rand.New(rand.NewPCG(1, 2))
	version := func(id fold.ID, token string) []byte {
		_, b := memoryFile(string(id), "line\n\n"+token)
		return []byte(strings.Replace(string(b), string(fold.SlugID("app", string(id))), string(id), 1))
	}
	l := locate(t, dir)
	for round := range 12 {
		// Write without committing, so that the wal holds all.
		s, err := gitops.OpenStore(t.Context(), gitops.StoreOptions{Repo: l, Slug: "app", Now: later, Author: ann})
		must(t, err)
		type state struct {
			base, last []byte
			tokens     []string
		}
		states := map[fold.ID]*state{}
		for i := range 3 {
			id := fold.SlugID("app", fmt.Sprint(round, "/", i))
			st := &state{}
			states[id] = st
			for k := range 1 + rng.IntN(3) {
				token := fmt.Sprintf("token-%d-%d-%d", round, i, k)
				b := version(id, token)
				_, err := s.Put(t.Context(), gitops.Write{ID: id, Base: st.last, New: b})
				must(t, err)
				st.base, st.last = st.last, b
				st.tokens = []string{token}
			}
		}
		must(t, s.Close())
		log, err := os.ReadFile(wal)
		must(t, err)
		if rng.IntN(3) == 0 { // a torn tail
			must(t, os.WriteFile(wal, append(log, log[len(log)-200:]...), 0o600))
		}
		for id, st := range states {
			file := filepath.Join(dir, "fold", id.Path())
			switch rng.IntN(4) {
			case 0: // the crash came before the file
				if st.base == nil {
					must(t, os.Remove(file))
				} else {
					must(t, os.WriteFile(file, st.base, 0o644))
				}
			case 1: // an editor changed it afterwards
				token := "edit-" + string(id)
				edited := strings.Replace(string(st.last), "line\n", "line "+token+"\n", 1)
				must(t, os.WriteFile(file, []byte(edited), 0o644))
				st.tokens = append(st.tokens, token)
			}
		}
		s, err = gitops.OpenStore(t.Context(), gitops.StoreOptions{Repo: l, Slug: "app", Now: later, Author: ann})
		must(t, err)
		for id, st := range states {
			got, err := s.Read(id.Path())
			must(t, err)
			for _, token := range st.tokens {
				if !strings.Contains(string(got), token) {
					t.Fatalf("round %d: %s lost %s:\n%s", round, id, token, got)
				}
			}
			if len(st.tokens) == 1 && string(got) != string(st.last) {
				t.Errorf("round %d: %s = %q, want %q", round, id, got, st.last)
			}
		}
		if round%2 == 0 { // else the next round replays these too
			_, err = s.CommitAll(t.Context())
			must(t, err)
		}
		must(t, s.Close())
	}
	fsck(t, dir)
}

// TestReplayAfterCommit: the crash came between journal and cut, and an editor
// has taken words out since. They must not come back.
func TestReplayAfterCommit(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s, err := gitops.OpenStore(t.Context(), gitops.StoreOptions{Repo: locate(t, dir), Slug: "app", Now: later})
	must(t, err)
	id, b := memoryFile("T", "keep\n\ntaken out")
	_, err = s.Put(t.Context(), gitops.Write{ID: id, New: b})
	must(t, err)
	wal := filepath.Join(dir, ".git/foldwatch/wal")
	log, err := os.ReadFile(wal)
	must(t, err)
	_, err = s.Commit(t.Context(), nil, "")
	must(t, err)
	must(t, s.Close())
	must(t, os.WriteFile(wal, log, 0o600))
	edited := strings.Replace(string(b), "\n\ntaken out", "", 1)
	write(t, filepath.Join(dir, "fold", id.Path()), edited)
	s = openStore(t, dir, nil)
	if got, err := s.Read(id.Path()); err != nil || string(got) != edited {
		t.Errorf("Read = %q, %v, want %q", got, err, edited)
	}
	_, err = s.CommitAll(t.Context())
	must(t, err)
	if n := s.Status().WalEntries; n != 0 {
		t.Errorf("wal has %d entries", n)
	}
}
