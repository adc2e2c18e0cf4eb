package gitops_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
)

func TestSquash(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := openStore(t, dir, nil)
	ctx := t.Context()
	paths := fill(t, s, 3)
	write(t, filepath.Join(dir, "fold/private.md"), "---\nvisibility: local\n---\n# Mine\n")
	write(t, filepath.Join(dir, "fold/public.md"), "# Ours\n")
	_, err := s.CommitAll(ctx)
	must(t, err)
	oid, err := s.Syncer().Squash(ctx)
	must(t, err)
	names := strings.Split(repoGit(t, dir, "ls-tree", "-r", "--name-only", "foldwatch"), "\n")
	if want := append(slices.Clone(paths), "public.md"); !slices.Equal(names, want) {
		t.Errorf("branch holds %q, want %q", names, want)
	}
	if got := repoGit(t, dir, "rev-parse", "foldwatch"); got != oid {
		t.Errorf("branch is at %s, want %s", got, oid)
	}
	if again, err := s.Syncer().Squash(ctx); again != "" || err != nil {
		t.Errorf("second Squash = %q, %v", again, err)
	}
	// What becomes local leaves the branch; deletions get there.
	write(t, filepath.Join(dir, "fold/public.md"), "---\nvisibility: local\n---\n# Mine now\n")
	must(t, os.Remove(filepath.Join(dir, "fold", paths[0])))
	_, err = s.CommitAll(ctx)
	must(t, err)
	_, err = s.Syncer().Squash(ctx)
	must(t, err)
	names = strings.Split(repoGit(t, dir, "ls-tree", "-r", "--name-only", "foldwatch"), "\n")
	if !slices.Equal(names, paths[1:]) {
		t.Errorf("branch holds %q, want %q", names, paths[1:])
	}
	if at, err := s.Syncer().SquashedAt(); err != nil || at.IsZero() {
		t.Errorf("SquashedAt = %v, %v", at, err)
	}
	fsck(t, dir)
}

func TestMirror(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	mirror := filepath.Join(realDir(t), "mirrors/p.git")
	s := openStore(t, dir, func(o *gitops.StoreOptions) { o.Mirror = mirror })
	ctx := t.Context()
	must(t, s.Mirror(ctx)) // nothing yet
	paths := fill(t, s, 20)
	must(t, s.Mirror(ctx))
	id, b := memoryFile("later", "words")
	_, err := s.Put(ctx, gitops.Write{ID: id, New: b})
	must(t, err)
	_, err = s.Commit(ctx, nil, "")
	must(t, err)
	_, err = s.Syncer().Squash(ctx)
	must(t, err)
	must(t, s.Mirror(ctx))
	for _, ref := range []string{"refs/foldwatch/journal", "refs/heads/foldwatch"} {
		if got, want := git(t, dir, "--git-dir="+mirror, "rev-parse", ref), repoGit(t, dir, "rev-parse", ref); got != want {
			t.Errorf("%s of the mirror = %s, want %s", ref, got, want)
		}
	}
	git(t, dir, "--git-dir="+mirror, "fsck", "--full", "--strict")
	tip := s.Tip()
	must(t, s.Close())

	// rm -rf checkout && git clone.
	if n, ok := gitops.MirrorHolds(mirror); n != 21 || !ok {
		t.Errorf("MirrorHolds = %d, %v", n, ok)
	}
	fresh := realDir(t)
	git(t, fresh, "clone", "-q", dir, "co")
	fresh = filepath.Join(fresh, "co")
	s = openStore(t, fresh, nil)
	write(t, filepath.Join(fresh, "fold", paths[0]), "# mine, not the mirror's\n")
	n, err := s.RestoreMirror(ctx, mirror)
	must(t, err)
	if n != 21 || s.Tip() != tip {
		t.Errorf("RestoreMirror = %d, tip %s, want %s", n, s.Tip(), tip)
	}
	if got, err := s.Read(id.Path()); err != nil || string(got) != string(b) {
		t.Errorf("Read = %q, %v", got, err)
	}
	if got, _ := s.Read(paths[0]); string(got) != "# mine, not the mirror's\n" {
		t.Errorf("RestoreMirror wrote over a file: %q", got)
	}
	if log, err := s.History().Log(ctx, id.Path(), 0); err != nil || len(log) != 1 {
		t.Errorf("Log = %+v, %v", log, err)
	}
	if _, err := s.RestoreMirror(ctx, mirror); err == nil {
		t.Error("RestoreMirror over a history of its own")
	}
	fsck(t, fresh)
}

func TestRepack(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := openStore(t, dir, nil)
	ctx := t.Context()
	paths := fill(t, s, 30)
	before := s.Status().Loose
	if did, err := s.RepackAbove(ctx, before, 10); did || err != nil {
		t.Errorf("Repack below the limit = %v, %v", did, err)
	}
	if did, err := s.RepackAbove(ctx, before-1, 10); !did || err != nil {
		t.Errorf("Repack of %d = %v, %v", before, did, err)
	}
	if left := s.Status().Loose; before == 0 || left != 0 {
		t.Errorf("%d loose objects, %d after Repack", before, left)
	}
	id, b := memoryFile("after the repack", "x")
	_, err := s.Put(ctx, gitops.Write{ID: id, New: b})
	must(t, err)
	_, err = s.Commit(ctx, nil, "")
	must(t, err)
	if did, err := s.RepackAbove(ctx, 0, 1); !did || err != nil {
		t.Errorf("Repack into one pack = %v, %v", did, err)
	}
	if packs, _ := filepath.Glob(filepath.Join(dir, ".git/foldwatch/repo.git/objects/pack/*.pack")); len(packs) != 1 {
		t.Errorf("%d packs, want 1", len(packs))
	}
	for _, p := range paths {
		if _, err := s.History().At(ctx, "", p); err != nil {
			t.Fatal(err)
		}
	}
	// The user's gc must not disturb us either (F38).
	repoGit(t, dir, "repack", "-a", "-d", "-q")
	for _, p := range paths {
		if _, err := s.History().At(ctx, "", p); err != nil {
			t.Fatal(err)
		}
	}
	fsck(t, dir)
}

// TestCopiesShareAMirror: two copies of a project have one mirror. A clone in the
// place of either gets what that one had and nothing of the other's; a clone in a new
// place gets what was written last.
func TestCopiesShareAMirror(t *testing.T) {
	t.Parallel()
	mirror := filepath.Join(realDir(t), "mirrors/p.git")
	both := func(o *gitops.StoreOptions) { o.Mirror = mirror }
	var rs []*replica
	var want []map[string]string
	for i := range 2 {
		r := newReplica(t, bareRemote(t), both)
		id, b := memoryFile(fmt.Sprintf("Of copy %d", i), "x")
		r.put(id, b)
		rs = append(rs, r)
	}
	shared, text := memoryFile("Shared", "one")
	var wg sync.WaitGroup
	for _, r := range rs {
		r.put(shared, text)
	}
	for _, r := range rs { // at one time: neither is in the other's way
		wg.Go(func() {
			if err := r.s.Mirror(t.Context()); err != nil {
				t.Errorf("Mirror = %v", err)
			}
		})
	}
	wg.Wait()
	rs[1].put(shared, edited(string(text), "one", "two"))
	must(t, rs[1].s.Mirror(t.Context()))
	for _, r := range rs {
		want = append(want, r.files())
	}
	anew := func(dir string) *replica {
		git(t, realDir(t), "init", "-q", "--template=", dir)
		r := &replica{t: t, dir: dir, s: openStore(t, dir, both)}
		must2(r.s.RestoreMirror(t.Context(), mirror))(t)
		fsck(t, dir)
		return r
	}
	for i, r := range rs {
		must(t, r.s.Close())
		must(t, os.RemoveAll(filepath.Join(r.dir, ".git")))
		must(t, os.RemoveAll(filepath.Join(r.dir, "fold")))
		if got := anew(r.dir).files(); !maps.Equal(got, want[i]) {
			t.Errorf("copy %d has %v, want %v", i, got, want[i])
		}
	}
	if got := anew(realDir(t)).files(); !maps.Equal(got, want[1]) {
		t.Errorf("a new copy has %v, want %v", got, want[1])
	}
	must(t, gitops.ForgetCopy(mirror, locate(t, rs[0].dir)))
	must(t, os.RemoveAll(filepath.Join(rs[0].dir, ".git")))
	must(t, os.RemoveAll(filepath.Join(rs[0].dir, "fold")))
	if got := anew(rs[0].dir).files(); !maps.Equal(got, want[1]) {
		t.Errorf("a forgotten copy has %v, want %v", got, want[1])
	}
}
