package gitops_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/testdata/fulltest"
)

// converge syncs until nothing changes, at most three rounds, and expects the
// same bytes everywhere (I6, F32).
func converge(t testing.TB, rs ...*replica) {
	t.Helper()
	for range 3 {
		for _, r := range rs {
			r.commit()
			r.sync()
		}
	}
	want := rs[0].files()
	for i, r := range rs {
		if got := r.sync(); got.Pushed || got.Fetched || len(got.Paths) > 0 {
			t.Errorf("replica %d is not at rest after three rounds: %+v", i, got)
		}
		got := r.files()
		if !maps.Equal(got, want) {
			t.Errorf("replica %d differs from the first:\n%v\nwant\n%v", i, got, want)
		}
		if st := r.syncState(); st.Unpushed != 0 || st.RemoteTip != rs[0].syncState().RemoteTip {
			t.Errorf("replica %d: %+v", i, st)
		}
	}
	fsck(t, rs[0].dir)
}

// linear expects a history of ours on the remote: no merge, nothing the store
// did not make (I5, G12).
func linear(t testing.TB, remote string) {
	t.Helper()
	if out := git(t, remote, "log", "--merges", "--format=%h", "foldwatch"); out != "" {
		t.Errorf("merges on the remote: %s", out)
	}
	for line := range strings.Lines(git(t, remote, "log", "--format=%cn|%(trailers:key=Foldwatch-Commit,separator=,)", "foldwatch")) {
		if strings.TrimSpace(line) != "foldwatch|Foldwatch-Commit: v1" {
			t.Errorf("commit that is not ours: %s", line)
		}
	}
	if out := git(t, remote, "for-each-ref", "--format=%(refname)"); out != "refs/heads/foldwatch" {
		t.Errorf("references of the remote: %s", out)
	}
}

// edited returns a memory file with one text replaced.
func edited(b, old, now string) []byte { return []byte(strings.Replace(b, old, now, 1)) }

func syncConverges(t *testing.T) {
	remote := bareRemote(t)
	rs := []*replica{newReplica(t, remote, nil), newReplica(t, remote, nil), newReplica(t, remote, nil)}
	a, b, c := rs[0], rs[1], rs[2]
	// All three begin alone (no common base): union, never delete.
	shared, text := memoryFile("Shared", "one\ntwo\nthree\nfour\nfive")
	for i, r := range rs {
		id, own := memoryFile(fmt.Sprintf("Own of %d", i), "text")
		r.put(id, own)
	}
	a.put(shared, text)
	_, other := memoryFile("Shared", "one\ntwo\nthree\nfour\nsix")
	b.put(shared, other) // F32: both create the same id
	converge(t, rs...)
	if n := len(c.files()); n != 4 {
		t.Fatalf("%d files, want 4: %v", n, c.files())
	}
	for _, word := range []string{"five", "six"} {
		if !strings.Contains(c.read(shared.Path()), word) {
			t.Errorf("%q is lost:\n%s", word, c.read(shared.Path()))
		}
	}
	// Both edit, at different places and at the same.
	now := a.read(shared.Path())
	a.put(shared, edited(now, "one\n", "one of a\n"))
	b.put(shared, edited(now, "three\n", "three of b\n"))
	converge(t, rs...)
	for _, word := range []string{"one of a", "three of b"} {
		if !strings.Contains(c.read(shared.Path()), word) {
			t.Errorf("%q is lost:\n%s", word, c.read(shared.Path()))
		}
	}
	linear(t, remote)
}

// syncDeletions: F33 and I9. A deletion is not resurrected by who did not
// know of it, and an edit beats it.
func syncDeletions(t *testing.T) {
	remote := bareRemote(t)
	a, b := newReplica(t, remote, nil), newReplica(t, remote, nil)
	gone, goneText := memoryFile("Gone", "x")
	kept, keptText := memoryFile("Kept", "x")
	a.put(gone, goneText)
	a.put(kept, keptText)
	converge(t, a, b)
	a.put(gone, nil)
	a.put(kept, nil)
	a.sync()
	b.put(kept, edited(string(keptText), "x\n", "edited meanwhile\n"))
	for i := range 3 { // b is away for long, and works
		id, text := memoryFile(fmt.Sprintf("Away %d", i), "x")
		b.put(id, text)
	}
	converge(t, a, b)
	// The same, where the edit is published before the deletion.
	b.put(kept, edited(b.read(kept.Path()), "edited meanwhile\n", "edited meanwhile, twice\n"))
	b.sync()
	a.put(kept, nil)
	converge(t, a, b)
	if got := a.read(kept.Path()); !strings.Contains(got, "twice") {
		t.Errorf("the published edit did not beat the deletion: %q", got)
	}
	if got := a.read(gone.Path()); got != "" {
		t.Errorf("the deleted memory is back: %q", got)
	}
	if got := a.read(kept.Path()); !strings.Contains(got, "edited meanwhile") {
		t.Errorf("the edit did not beat the deletion: %q", got)
	}
	linear(t, remote)
}

// syncRandom lets replicas edit, delete and sync at random, and looks for
// every token that was ever acknowledged: live, or in somebody's journal (I1).
func syncRandom(t *testing.T) {
	remote := bareRemote(t)
	rng := rand.New(rand.NewPCG(3, 5))
	rs := []*replica{newReplica(t, remote, nil), newReplica(t, remote, nil), newReplica(t, remote, nil)}
	var ids []fold.ID
	var tokens []string
	for step := range 32 {
		r := rs[rng.IntN(len(rs))]
		token := fmt.Sprintf("token%04d", step)
		switch k := rng.IntN(10); {
		case k < 2 || len(ids) == 0:
			id, text := memoryFile(fmt.Sprintf("Memory %d", step), "first\n\n"+token+"\n\nlast")
			ids = append(ids, id)
			r.put(id, text)
			tokens = append(tokens, token)
		case k < 3:
			if id := ids[rng.IntN(len(ids))]; r.read(id.Path()) != "" {
				r.put(id, nil)
			}
		case k < 6:
			id := ids[rng.IntN(len(ids))]
			if have := r.read(id.Path()); have != "" {
				at := []string{"first\n", "last\n"}[rng.IntN(2)]
				r.put(id, edited(have, at, at+token+"\n"))
				tokens = append(tokens, token)
			}
		default:
			r.opt.Publish = rng.IntN(3) > 0
			r.sync()
			r.opt.Publish = true
		}
	}
	converge(t, rs...)
	linear(t, remote)
	for _, token := range tokens {
		if !anywhere(t, rs, token) {
			t.Errorf("%s is nowhere", token)
		}
	}
}

// anywhere reports whether any replica has a text, in a file or in its journal.
func anywhere(t testing.TB, rs []*replica, text string) bool {
	t.Helper()
	for _, r := range rs {
		for _, b := range r.files() {
			if strings.Contains(b, text) {
				return true
			}
		}
	}
	for _, r := range rs {
		if repoGit(t, r.dir, "log", "--format=%h", "-1", "-S"+text, "refs/foldwatch/journal") != "" {
			return true
		}
	}
	return false
}

// syncStopsAtEveryStep: F04, I7. A sync that ends after any of its steps is
// finished by the next one, with no commit twice and nothing lost.
func syncStopsAtEveryStep(t *testing.T) {
	for _, stop := range fulltest.Some(4, []string{"ask", "fetch", "merge", "push", "pushed", "files", "journal", "refs"}) {
		t.Run(stop, func(t *testing.T) {
			t.Parallel()
			remote := bareRemote(t)
			a, b := newReplica(t, remote, nil), newReplica(t, remote, nil)
			shared, text := memoryFile("Shared", "one\ntwo\nthree\nfour\nfive")
			gone, goneText := memoryFile("Gone", "x")
			a.put(shared, text)
			a.put(gone, goneText)
			converge(t, a, b)
			a.put(shared, edited(string(text), "one\n", "one of a\n"))
			a.put(gone, nil)
			a.sync()
			b.put(shared, edited(string(text), "five\n", "five of b\n"))
			extra, extraText := memoryFile("Extra", "x")
			b.put(extra, extraText)
			commits := git(t, remote, "rev-list", "--count", "foldwatch")
			killed := errors.New("killed")
			at := b.opt
			seen := false
			at.Step = func(step string) error {
				if step == stop {
					seen = true
					return killed
				}
				return nil
			}
			for range 2 { // the second finds what the first left
				if _, err := b.s.Syncer().Sync(t.Context(), at); !errors.Is(err, killed) && seen {
					t.Logf("Sync = %v", err)
				}
			}
			if !seen {
				t.Fatalf("no step %q", stop)
			}
			// A process that is killed does not close its store.
			lay := locate(t, b.dir)
			must(t, b.s.Close())
			s, err := gitops.OpenStore(t.Context(), gitops.StoreOptions{Repo: lay, Slug: "app", Now: later})
			must(t, err)
			t.Cleanup(func() { _ = s.Close() })
			b.s = s
			b.commit()
			b.sync()
			if got, want := git(t, remote, "rev-list", "--count", "foldwatch"), plusOne(commits); got != want {
				t.Errorf("%s commits on the remote, want %s", got, want)
			}
			converge(t, a, b)
			got := a.read(shared.Path())
			if !strings.Contains(got, "one of a") || !strings.Contains(got, "five of b") || strings.Count(got, "of a") != 1 {
				t.Errorf("Shared = %q", got)
			}
			if a.read(gone.Path()) != "" || a.read(extra.Path()) == "" {
				t.Errorf("files are %v", a.files())
			}
			linear(t, remote)
			_ = filepath.WalkDir(filepath.Join(b.dir, ".git/foldwatch"), func(p string, d os.DirEntry, _ error) error {
				if strings.HasSuffix(p, ".lock") || strings.Contains(p, "tmp_") {
					t.Errorf("left %s", p)
				}
				return nil
			})
		})
	}
}

// syncKilledAnywhere: I7. What is written by a sync stops at any write, as
// it does when the process is killed, and the next run goes on from there.
func syncKilledAnywhere(t *testing.T) {
	stride := fulltest.Pick(97, 61)
	if fulltest.Crash() {
		stride = 1
	}
	for at := 1; ; at += stride {
		remote := bareRemote(t)
		f := &faults{}
		a, b := newReplica(t, remote, nil), newReplica(t, remote, func(o *gitops.StoreOptions) { o.Faults = f })
		shared, text := memoryFile("Shared", "one\ntwo\nthree\nfour\nfive")
		gone, goneText := memoryFile("Gone", "x")
		a.put(shared, text)
		a.put(gone, goneText)
		a.sync()
		b.sync()
		a.put(shared, edited(string(text), "one\n", "one of a\n"))
		a.put(gone, nil)
		a.sync()
		own, ownText := memoryFile("Own", "x")
		b.put(own, ownText)
		b.put(shared, edited(string(text), "five\n", "five of b\n"))
		f.set(at, nil)
		_, err := b.s.Syncer().Sync(t.Context(), b.opt)
		f.mu.Lock()
		killed := f.n >= at
		f.n, f.at = at, at // closing changes nothing either
		f.mu.Unlock()
		if killed && err == nil {
			t.Errorf("killed at %d and told nothing", at)
		}
		_ = b.s.Close()
		b.s = openStore(t, b.dir, nil)
		converge(t, b, a)
		got := a.read(shared.Path())
		if !strings.Contains(got, "one of a") || !strings.Contains(got, "five of b") || strings.Count(got, "of a")+strings.Count(got, "of b") != 2 ||
			a.read(gone.Path()) != "" || a.read(own.Path()) == "" {
			t.Fatalf("killed at %d: %v", at, a.files())
		}
		linear(t, remote)
		if !killed {
			t.Logf("%d steps", at)
			if at < 40 {
				t.Errorf("only %d steps: the faults do not see the writes", at)
			}
			return
		}
	}
}

func plusOne(n string) string {
	var k int
	_, _ = fmt.Sscan(n, &k)
	return fmt.Sprint(k + 1)
}
