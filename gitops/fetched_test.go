package gitops_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestTakeFetched: a clone has the memories of its remote on a branch it fetched.
// They are taken from there, history and all, with nothing asked of the remote and
// nothing published; a sync that the user turns on later goes on from there.
func TestTakeFetched(t *testing.T) {
	t.Parallel()
	remote := bareRemote(t)
	a := newReplica(t, remote, nil)
	kept, text := memoryFile("Kept", "one\ntwo\nthree")
	gone, goneText := memoryFile("Gone", "x")
	a.put(kept, text)
	a.put(gone, goneText)
	a.sync()
	a.put(kept, edited(string(text), "two", "TWO"))
	a.sync()

	dir := filepath.Join(realDir(t), "clone")
	git(t, remote, "clone", "-q", "--template=", "--no-checkout", remote, dir)
	must(t, os.Rename(remote, remote+".away")) // whoever asks it is found out
	before := gitState(t, dir)
	b := &replica{t: t, dir: dir, s: openStore(t, dir, nil), opt: a.opt}
	got, err := b.s.Syncer().TakeFetched(t.Context())
	must(t, err)
	if got.From != "origin/foldwatch" || len(got.Paths) != 2 || len(got.Aside) > 0 {
		t.Errorf("TakeFetched = %+v", got)
	}
	if have, want := b.files(), a.files(); len(have) != len(want) || have[kept.Path()] != want[kept.Path()] {
		t.Errorf("files %v, want %v", have, want)
	}
	if now := gitState(t, dir); now != before {
		t.Errorf("the user's repository was changed:\n%s\nwas\n%s", now, before)
	}
	if lines, _ := b.logOf(kept.Path()); len(lines) != 2 { // as it came, and what was before
		t.Errorf("its history is %q", lines)
	}
	if _, err := b.s.Syncer().TakeFetched(t.Context()); !errors.Is(err, fold.ErrConflict) {
		t.Errorf("TakeFetched again = %v", err)
	}
	fsck(t, dir)

	// What is deleted now stays deleted: the branch that was taken is the base.
	b.put(gone, nil)
	must(t, os.Rename(remote+".away", remote))
	other, otherText := memoryFile("Other", "x")
	a.put(other, otherText)
	a.sync()
	b.sync()
	converge(t, b, a)
	if a.read(gone.Path()) != "" || b.read(other.Path()) == "" {
		t.Errorf("after a sync: %v", a.files())
	}
	linear(t, remote)
}

// gitState tells all of a repository that a user would miss.
func gitState(t testing.TB, dir string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "find", ".git", "-path", ".git/foldwatch", "-prune", "-o", "-type", "f", "-print")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Skip(err)
	}
	return string(out) + git(t, dir, "for-each-ref") + git(t, dir, "config", "--list", "--local")
}

// TestTakeFetchedInterrupted: what a crash leaves of it is there after the next
// start, or taken again; nothing that was taken is taken for deleted.
func TestTakeFetchedInterrupted(t *testing.T) {
	t.Parallel()
	remote := bareRemote(t)
	a := newReplica(t, remote, nil)
	for _, title := range []string{"One", "Two", "Three"} {
		id, text := memoryFile(title, "x")
		a.put(id, text)
	}
	a.sync()
	for at := 1; ; at += 13 {
		dir := filepath.Join(realDir(t), "clone")
		git(t, remote, "clone", "-q", "--template=", "--no-checkout", remote, dir)
		f := &faults{}
		s := must2(gitops.OpenStore(t.Context(), gitops.StoreOptions{Repo: locate(t, dir), Slug: "app", Now: later, Faults: f}))(t)
		f.set(at, nil)
		_, err := s.Syncer().TakeFetched(t.Context())
		f.mu.Lock()
		killed := f.n >= at
		f.n, f.at = at, at // closing changes nothing either
		f.mu.Unlock()
		_ = s.Close()
		if killed && err == nil {
			t.Errorf("killed at %d and told nothing", at)
		}
		b := &replica{t: t, dir: dir, s: openStore(t, dir, nil), opt: a.opt}
		if b.s.Tip() == "" || b.s.Syncer().TakingFetched() {
			if _, err := b.s.Syncer().TakeFetched(t.Context()); err != nil {
				t.Errorf("killed at %d: TakeFetched = %v", at, err)
			}
		}
		if b.s.Syncer().TakingFetched() {
			t.Errorf("killed at %d: it does not end", at)
		}
		must2(b.s.CommitAll(t.Context()))(t)
		for path, want := range a.files() {
			if got := b.read(path); got != want {
				t.Errorf("killed at %d: %s = %q", at, path, got)
			}
		}
		fsck(t, dir)
		b.sync()
		if n := git(t, remote, "rev-list", "--count", "foldwatch"); n != "1" {
			t.Errorf("killed at %d: %s commits on the remote", at, n)
		}
		if !killed {
			t.Logf("%d steps", at)
			return
		}
	}
}

// TestTakeFetchedOfStrangers: what may not enter by a sync does not enter this way.
func TestTakeFetchedOfStrangers(t *testing.T) {
	t.Parallel()
	remote := bareRemote(t)
	a := newReplica(t, remote, nil)
	id, text := memoryFile("Good", "x")
	a.put(id, text)
	a.sync()
	work := filepath.Join(realDir(t), "work")
	git(t, remote, "clone", "-q", "-b", "foldwatch", remote, work)
	write(t, filepath.Join(work, "evil.sh"), "rm -rf /\n")
	write(t, filepath.Join(work, "0/0/000000000000000f.md"), "<<<<<<< ours\n")
	must(t, os.Symlink("/etc/passwd", filepath.Join(work, "link.md")))
	git(t, work, "add", "-A")
	git(t, work, "commit", "-qm", "mine")
	git(t, work, "push", "-q")
	dir := filepath.Join(realDir(t), "clone")
	git(t, remote, "clone", "-q", "--no-checkout", remote, dir)
	b := &replica{t: t, dir: dir, s: openStore(t, dir, nil)}
	got, err := b.s.Syncer().TakeFetched(t.Context())
	must(t, err)
	if len(got.Paths) != 1 || got.Paths[0] != id.Path() {
		t.Errorf("TakeFetched = %+v", got)
	}
	for path := range b.files() {
		if path != id.Path() {
			t.Errorf("%s came in", path)
		}
	}
	if len(got.Aside) == 0 || !strings.Contains(got.Aside[0].Path, "000000000000000f") {
		t.Errorf("aside %v", got.Aside)
	}
	// A clone without such a branch has nothing to take.
	empty := openStore(t, beside(t), nil)
	if got, err := empty.Syncer().TakeFetched(t.Context()); err != nil || len(got.Paths) > 0 || got.From != "" {
		t.Errorf("TakeFetched of none = %+v, %v", got, err)
	}
}
