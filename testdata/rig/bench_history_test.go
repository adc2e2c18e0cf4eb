//go:build accept

package rig

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A filledStore is a store of its own, with memories in it.
type filledStore struct {
	*gitops.Store

	t   *testing.T
	dir string
	n   int // memories written one by one
}

// newFilledStore makes a store of n memories, all in its journal.
func newFilledStore(t *testing.T, m *machine, n int) *filledStore {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "history")
	m.write(filepath.Join(dir, "README.md"), "# Notes\n")
	m.committed(dir, "first")
	if _, err := generateFold(filepath.Join(dir, "fold"), "notes", n); err != nil {
		t.Fatal(err)
	}
	l, err := usergit.Locate(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := gitops.OpenStore(t.Context(), gitops.StoreOptions{Repo: l, Slug: "notes", Author: func() (string, string) { return "Ann", "ann@example.org" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	// Files younger than 300 ms are not taken in: the last of few may be.
	settled := eventually(time.Minute, 100*time.Millisecond, func() bool {
		r, err := s.CommitAll(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(r.Unsettled) == 0
	})
	if !settled {
		t.Fatal("fold/ does not settle")
	}
	return &filledStore{Store: s, t: t, dir: dir}
}

func (l *filledStore) repo() string { return filepath.Join(l.dir, ".git", "foldwatch", "repo.git") }

// one writes a memory and returns how long its commit takes.
func (l *filledStore) one() time.Duration {
	l.t.Helper()
	l.n++
	at := time.Date(2026, 6, 1, 0, 0, l.n, 0, time.UTC)
	m := fold.Memory{
		ID: fold.SlugID("notes", fmt.Sprintf("single-%d", l.n)), Title: fmt.Sprintf("Single %d", l.n), Type: "decision", Source: fold.SourceAgent,
		CreatedAt: at, UpdatedAt: at, Body: fmt.Sprintf("# Single %d\n\nWritten alone.\n", l.n),
	}
	m.Path = m.ID.Path()
	if _, err := l.Put(l.t.Context(), gitops.Write{ID: m.ID, New: fold.Encode(&m, nil)}); err != nil {
		l.t.Fatal(err)
	}
	return timed(func() {
		if r, err := l.Commit(l.t.Context(), nil, ""); err != nil || len(r.Written) != 1 {
			l.t.Fatalf("commit of one memory: %+v, %v", r, err)
		}
	})
}

// loose counts the objects that lie in files of their own.
func (l *filledStore) loose() (n int) {
	l.t.Helper()
	err := filepath.WalkDir(filepath.Join(l.repo(), "objects"), func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && len(filepath.Base(filepath.Dir(p))) == 2 {
			n++
		}
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return n
}

// commit is goal 8: a commit of one memory into our own repository, against git's own
// add and commit of one file in a repository of 8,000.
func (b *bench) commit(t *testing.T) {
	m := newMachine(t)
	ours, twin := newFilledStore(t, m, 10), m.mono(8000)
	n := 0
	r, _ := pairs("8", "commit of one memory", "git add + git commit", "<= 2, aim 0.5", 40, ours.one, func() time.Duration {
		n++
		name := fmt.Sprintf("note%d.md", n)
		m.write(filepath.Join(twin.dir, name), fmt.Sprintf("# Note %d\n\nWritten alone.\n", n))
		return timed(func() {
			m.git(twin.dir, "add", name)
			m.git(twin.dir, "commit", "-q", "-m", "add")
		})
	})
	b.add(r)
}

// history is how goal 8 grows (8h): what a commit of one memory, a look by
// status, the first publish and a clone cost with 100,000 memories.
func (b *bench) history(t *testing.T) {
	m := newMachine(t)
	few, many := newFilledStore(t, m, 10), newFilledStore(t, m, 100_000)
	var objects [2]int
	for i, l := range []*filledStore{few, many} {
		l.one() // the first after a bulk reads the tree
		was := l.loose()
		l.one()
		objects[i] = l.loose() - was
	}
	b.add(count("8h", "objects of a commit of one memory, 10 and 100,000", fmt.Sprint(objects[0], ", ", objects[1]), "5, 5"))
	r, _ := pairs("8h", "commit of one memory of 100,000", "of 10", "<= 1.5", 50, many.one, few.one)
	b.add(r)
	look := func(l *filledStore) func() time.Duration {
		return func() time.Duration {
			l.one() // so that there is something new to tell
			return timed(func() {
				if _, ok, err := l.History().Newest(t.Context()); !ok || err != nil {
					t.Fatalf("newest: %v", err)
				}
			})
		}
	}
	r, _ = pairs("8h", "last commit for status, 100,000 memories", "10", "<= 1.5", 20, look(many), look(few))
	b.add(r)
	publish := timed(func() {
		if oid, err := many.Syncer().Squash(t.Context()); err != nil || oid == "" {
			t.Fatalf("first publish: %q, %v", oid, err)
		}
	})
	read := timed(func() {
		eachFile(t, filepath.Join(many.dir, "fold"), func(p string) {
			if _, err := os.ReadFile(p); err != nil {
				t.Fatal(err)
			}
		})
	})
	b.add(ratio("8h", "first publish of 100,000 memories (Squash)", publish, "reading fold/", read, "shown"))
	clone := timed(func() {
		m.git(many.dir, "clone", "-q", "--no-local", "--bare", "--branch", "foldwatch", many.repo(), filepath.Join(t.TempDir(), "clone.git"))
	})
	b.add(skipped("8h", "clone of that sidecar", fmt.Sprintf("%.1f ms", ms(clone)), "git's own work", "shown"))
}
