package gitops_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/testdata/fulltest"
)

// A pair is two memories of which one is to take in the other.
type pair struct {
	keep, gone           fold.ID
	keepBytes, goneBytes []byte
	merged               []byte
}

func putPair(t testing.TB, s *gitops.Store) pair {
	t.Helper()
	var p pair
	p.keep, p.keepBytes = memoryFile("Kept", "Herons stand still.")
	p.gone, p.goneBytes = memoryFile("Gone", "Herons stand still, for hours.")
	_, p.merged = memoryFile("Kept", "Herons stand still.\n\nHerons stand still, for hours.")
	for _, w := range []gitops.Write{{ID: p.keep, New: p.keepBytes}, {ID: p.gone, New: p.goneBytes}} {
		_, err := s.Put(t.Context(), w)
		must(t, err)
	}
	_, err := s.Commit(t.Context(), nil, "")
	must(t, err)
	return p
}

func (p pair) writes() []gitops.Write {
	return []gitops.Write{{ID: p.keep, Base: p.keepBytes, New: p.merged}, {ID: p.gone, Base: p.goneBytes}}
}

// TestPutTogetherIsOneCommitThatUndoTakesBack merges two memories, and takes it back.
func TestPutTogetherIsOneCommitThatUndoTakesBack(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := openStore(t, dir, nil)
	p := putPair(t, s)
	rev, err := s.PutTogether(t.Context(), p.writes(), "fold: Merge")
	must(t, err)
	if got := read(t, filepath.Join(dir, "fold", p.keep.Path())); string(got) != string(p.merged) {
		t.Errorf("the one that stays holds %q", got)
	}
	if _, err := s.Read(p.gone.Path()); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fold.ErrNotFound) {
		t.Errorf("the other one: %v", err)
	}
	log := repoGit(t, dir, "log", "-1", "--format=%H %s", "--name-only", "refs/foldwatch/journal")
	if !strings.HasPrefix(log, rev+" fold: Merge\n") || strings.Count(log, ".md") != 2 {
		t.Errorf("the commit is %q", log)
	}
	if _, err := s.Undo(t.Context(), rev); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[fold.ID][]byte{p.keep: p.keepBytes, p.gone: p.goneBytes} {
		if got, err := s.Read(id.Path()); err != nil || string(got) != string(want) {
			t.Errorf("after the undo %s holds %q, %v", id, got, err)
		}
	}
}

// TestPutTogetherWritesNothingWhereOneChanged: a file that is not what the caller
// saw keeps all of them as they are.
func TestPutTogetherWritesNothingWhereOneChanged(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := openStore(t, dir, nil)
	p := putPair(t, s)
	for _, id := range []fold.ID{p.keep, p.gone} {
		file := filepath.Join(dir, "fold", id.Path())
		was := read(t, file)
		edit := append(read(t, file), "And an egret.\n"...)
		write(t, file, string(edit))
		_, err := s.PutTogether(t.Context(), p.writes(), "fold: Merge")
		ce, ok := errors.AsType[*fold.ConflictError](err)
		if !ok || ce.ID != id || string(ce.Current) != string(edit) {
			t.Errorf("PutTogether = %v", err)
		}
		for _, other := range []fold.ID{p.keep, p.gone} {
			want := map[fold.ID][]byte{p.keep: p.keepBytes, p.gone: p.goneBytes}[other]
			if other == id {
				want = edit
			}
			if got, err := s.Read(other.Path()); err != nil || string(got) != string(want) {
				t.Errorf("%s holds %q, %v", other, got, err)
			}
		}
		write(t, file, string(was))
	}
	if n := s.Status().WalEntries; n != 0 {
		t.Errorf("%d entries are left in the log", n)
	}
}

// An editor saves a file at the first step on it behind the write of the log.
type editor struct {
	mu         sync.Mutex
	path, file string
	text       string
	armed      bool
	saved      bool
}

func (e *editor) Before(op disk.Op, path string, size int) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case op == disk.OpWrite && path == "wal":
		e.armed = e.path != ""
	case e.armed && !e.saved && path == e.path:
		e.saved = true
		return size, os.WriteFile(e.file, []byte(e.text), 0o644)
	}
	return size, nil
}

// TestPutTogetherTakesBackWhatItDid: somebody saves one of the files after the other
// was written. That goes back, and the save stays.
func TestPutTogetherTakesBackWhatItDid(t *testing.T) {
	t.Parallel()
	dir, e := checkout(t), &editor{}
	s := openStore(t, dir, func(o *gitops.StoreOptions) { o.Faults = e })
	p := putPair(t, s)
	e.mu.Lock()
	e.path, e.file, e.text = p.gone.Path(), filepath.Join(dir, "fold", p.gone.Path()), string(p.goneBytes)+"And an egret.\n"
	e.mu.Unlock()
	_, err := s.PutTogether(t.Context(), p.writes(), "fold: Merge")
	ce, ok := errors.AsType[*fold.ConflictError](err)
	if !e.saved || !ok || ce.ID != p.gone || string(ce.Current) != e.text {
		t.Fatalf("saved: %v, PutTogether = %v", e.saved, err)
	}
	for id, want := range map[fold.ID]string{p.keep: string(p.keepBytes), p.gone: e.text} {
		if got, err := s.Read(id.Path()); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v, want %q", id, got, err, want)
		}
	}
	if n := s.Status().WalEntries; n != 0 {
		t.Errorf("%d entries are left in the log", n)
	}
}

// snapshots copies a folder before each step, as a kill at that step leaves it: the
// process does nothing more, also nothing to take back what it did.
type snapshots struct {
	t     *testing.T
	mu    sync.Mutex
	on    bool
	from  string
	at    []string // a folder for each step, "" for none
	steps []string
}

func (s *snapshots) Before(op disk.Op, path string, size int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.on {
		s.take(string(op) + " " + path)
	}
	return size, nil
}

// take copies before every step where all are asked for, else before some, the one
// after the write of the log and the last.
func (s *snapshots) take(step string) {
	to := ""
	if n := len(s.steps); fulltest.Crash() || n%10 == 0 || step == acknowledged || n > 0 && strings.HasPrefix(s.steps[n-1], "write wal") {
		to = filepath.Join(realDir(s.t), "co")
		if err := os.CopyFS(to, os.DirFS(s.from)); err != nil {
			s.t.Error(err)
		}
	}
	s.at, s.steps = append(s.at, to), append(s.steps, step)
}

// acknowledged is the step behind the last.
const acknowledged = "acknowledged"

// TestPutTogetherKilledAtEveryStep starts again from what a kill at each step leaves,
// and expects all of it or nothing. Where the log itself was torn, which no kill does
// to a file but a power cut may, the texts may be there without the deletion, and never
// the deletion alone.
func TestPutTogetherKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	layout := func(dir string) *usergit.Repo {
		return &usergit.Repo{WorkTree: dir, GitDir: filepath.Join(dir, ".git"), CommonDir: filepath.Join(dir, ".git"), MainTree: dir}
	}
	snaps := &snapshots{t: t, from: realDir(t)}
	git(t, snaps.from, "init", "-q", "--template=", ".")
	s, err := gitops.OpenStore(t.Context(), gitops.StoreOptions{Repo: layout(snaps.from), Slug: "app", Now: later, Faults: snaps, Author: ann})
	must(t, err)
	p := putPair(t, s)
	snaps.on = true
	_, err = s.PutTogether(t.Context(), p.writes(), "fold: Merge")
	must(t, err)
	snaps.mu.Lock()
	snaps.take(acknowledged)
	snaps.on = false
	snaps.mu.Unlock()
	must(t, s.Close())

	restart := func(dir string) (keep, gone []byte) {
		again, err := gitops.OpenStore(t.Context(), gitops.StoreOptions{Repo: layout(dir), Slug: "app", Now: later, Author: ann})
		must(t, err)
		defer again.Close()
		if _, err := again.CommitAll(t.Context()); err != nil {
			t.Errorf("CommitAll = %v", err)
		}
		keep, err = again.Read(p.keep.Path())
		must(t, err)
		gone, _ = again.Read(p.gone.Path()) // nothing, if it is deleted
		return keep, gone
	}
	none, all, torn := 0, 0, 0
	last := len(snaps.at) - 1
	for i := range snaps.at {
		written := i > 0 && strings.HasPrefix(snaps.steps[i-1], "write wal") // and not synced yet
		if snaps.at[i] == "" {
			continue
		}
		if written {
			log := filepath.Join(snaps.at[i], ".git", "foldwatch", "wal")
			whole := read(t, log)
			cut := filepath.Join(realDir(t), "co")
			must(t, os.CopyFS(cut, os.DirFS(snaps.at[i])))
			must(t, os.Truncate(filepath.Join(cut, ".git", "foldwatch", "wal"), int64(len(whole)-5)))
			if keep, gone := restart(cut); string(keep) == string(p.merged) && string(gone) == string(p.goneBytes) {
				torn++
			} else if string(keep) != string(p.keepBytes) || string(gone) != string(p.goneBytes) {
				t.Errorf("with a torn log: the one that stays holds %q, the other one %q", keep, gone)
			}
		}
		keep, gone := restart(snaps.at[i])
		switch {
		case string(keep) == string(p.keepBytes) && string(gone) == string(p.goneBytes) && i != last:
			none++
		case string(keep) == string(p.merged) && gone == nil:
			all++
		default:
			t.Errorf("killed before step %d, %s: the one that stays holds %q, the other one %q", i, snaps.steps[i], keep, gone)
		}
	}
	t.Logf("TOGETHER steps=%d n=%d none=%d all=%d torn=%d", len(snaps.at), none+all+torn, none, all, torn)
	if none == 0 || all == 0 || torn == 0 {
		t.Errorf("none=%d all=%d torn=%d: the test shows little", none, all, torn)
	}
}
