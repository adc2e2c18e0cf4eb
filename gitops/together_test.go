package gitops_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
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

// TestPutTogetherKilledAtEveryStep stops it at every step in turn, starts again, and
// expects all of it or nothing. Where the log itself was torn in the middle of its one
// write, which no kill does to a file but a power cut may, the texts may be there
// without the deletion, and never the deletion alone.
func TestPutTogetherKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	stride := 11
	if fulltest.Crash() {
		stride = 1
	}
	none, all, torn := 0, 0, 0
	for at := 1; ; at += stride {
		dir := realDir(t)
		git(t, dir, "init", "-q", "--template=", ".")
		lay := &gitops.Layout{WorkTree: dir, GitDir: filepath.Join(dir, ".git"), CommonDir: filepath.Join(dir, ".git"), MainTree: dir}
		f := &faults{}
		s, err := gitops.OpenStore(t.Context(), gitops.StoreOptions{Layout: lay, Slug: "app", Now: later, Faults: f, Author: ann})
		must(t, err)
		p := putPair(t, s)
		f.set(at, nil)
		_, acked := s.PutTogether(t.Context(), p.writes(), "fold: Merge")
		f.mu.Lock()
		killed, half := f.n >= at, f.n >= at && strings.HasPrefix(f.trace[at-1], "write wal")
		f.n = at + 1 // closing changes nothing either
		f.mu.Unlock()
		_ = s.Close()
		again, err := gitops.OpenStore(t.Context(), gitops.StoreOptions{Layout: lay, Slug: "app", Now: later, Author: ann})
		must(t, err)
		keep, err := again.Read(p.keep.Path())
		must(t, err)
		gone, err := again.Read(p.gone.Path())
		switch {
		case string(keep) == string(p.keepBytes) && string(gone) == string(p.goneBytes):
			none++
		case string(keep) == string(p.merged) && err != nil:
			all++
		case half && string(keep) == string(p.merged) && string(gone) == string(p.goneBytes):
			torn++
		default:
			t.Errorf("killed at %d: the one that stays holds %q, the other one %q", at, keep, gone)
		}
		if acked == nil && string(keep) != string(p.merged) {
			t.Errorf("killed at %d: acknowledged, and not there", at)
		}
		if _, err := again.CommitAll(t.Context()); err != nil {
			t.Errorf("killed at %d: CommitAll = %v", at, err)
		}
		_ = again.Close()
		if !killed {
			t.Logf("TOGETHER n=%d none=%d all=%d torn=%d", none+all+torn, none, all, torn)
			break
		}
	}
	if none == 0 || all == 0 {
		t.Errorf("of the kills %d left nothing and %d all: the test shows little", none, all)
	}
}
