//go:build accept

package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// branchCommit is goal 8: one memory committed onto the branch of a repository of
// 8,000 files, against git's own add and commit of one file in its twin; and the
// same beside 100,000 memories, where git's index has 10 MB. It also tells for how
// long git's index was locked.
func (b *bench) branchCommit(t *testing.T) {
	const files, rounds = 8000, 40
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, ".gitconfig"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\n\tname = Ann\n\temail = ann@example.org\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var of [2]time.Duration
	for i, memories := range []int{0, 100_000} {
		mine, twin := openBranchRig(t, files, memories), openBranchRig(t, files, memories)
		mine.store(t)
		what := fmt.Sprintf("1 memory committed onto a branch of %d files", files)
		if memories > 0 {
			what = fmt.Sprintf("the same beside %d memories", memories)
		}
		var r row
		r, of[i] = pairs("8", what, "git add + git commit", "<= 1, aim 0.5", rounds>>i, func() time.Duration { return mine.commit(t) }, func() time.Duration { return twin.byGit(t) })
		b.add(r, count("8", fmt.Sprintf("git's index locked, %d commits: p50, p99", len(mine.held)),
			percentiles(mine.held), "p99 <= 10 ms; link and two renames: "+percentiles(twin.held)),
			count("8", "a file as large as the index written and synced: p50, p99", percentiles(twin.synced), "none: what no commit that outlives a power cut can do without; git's does not sync it"),
			count("8", "git programs started for a commit, at most", fmt.Sprint(mine.started), "0"))
		git(t, mine.dir, "fsck", "--strict", "--no-dangling", "--connectivity-only")
	}
	b.add(ratio("8", "the same beside 100000 memories, where the index is 12 times as large", of[1], "beside none", of[0], "<= 1.5"))
}

func percentiles(d []time.Duration) string {
	slices.Sort(d)
	at := func(p int) float64 { return ms(d[min(len(d)-1, len(d)*p/100)]) }
	return fmt.Sprintf("%.1f, %.1f ms", at(50), at(99))
}

// A branchRig is a repository with a memory to be committed, by us or by git.
type branchRig struct {
	dir     string
	s       *gitops.Store // nil until store
	n       int
	held    []time.Duration
	synced  []time.Duration // what it takes to write as much as the index has, and have it on disk
	started int64
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// openBranchRig makes a repository of files and memories.
func openBranchRig(t *testing.T, files, memories int) *branchRig {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q", ".")
	var in bytes.Buffer
	in.WriteString("commit refs/heads/main\ncommitter Ann <ann@example.org> 1700000000 +0000\ndata 5\nfirst\n")
	for i := range files {
		text := fmt.Sprintf("package f%d\n", i)
		fmt.Fprintf(&in, "M 100644 inline d%02d/e%d/f%d.go\ndata %d\n%s\n", i%80, i%7, i, len(text), text)
	}
	for i := range memories {
		m := &fold.Memory{ID: fold.SlugID("app", fmt.Sprint(i)), Title: fmt.Sprintf("Memory %d", i), Type: "general", Source: fold.SourceAgent, Body: "What was decided.\n"}
		text := fold.Encode(m, nil)
		fmt.Fprintf(&in, "M 100644 inline fold/%s\ndata %d\n%s\n", m.ID.Path(), len(text), text)
	}
	cmd := exec.CommandContext(t.Context(), "git", "fast-import", "--quiet")
	cmd.Dir, cmd.Stdin = dir, &in
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git fast-import: %v\n%s", err, out)
	}
	git(t, dir, "reset", "-q", "--hard")
	git(t, dir, "status")
	return &branchRig{dir: dir}
}

// store opens the store, which takes in what is there.
func (r *branchRig) store(t *testing.T) {
	l, err := usergit.Locate(t.Context(), r.dir)
	if err != nil {
		t.Fatal(err)
	}
	// An hour on, git has rested.
	r.s, err = gitops.OpenStore(t.Context(), gitops.StoreOptions{
		Layout: l, Slug: "app", CommitTo: "branch", Now: func() time.Time { return time.Now().Add(time.Hour) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.s.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := r.s.CommitAll(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (r *branchRig) text() []byte {
	r.n++
	return fmt.Appendf(nil, "# Note %d\n\nWhat was decided, and why it was.\n", r.n)
}

// commit remembers one memory and commits it.
func (r *branchRig) commit(t *testing.T) time.Duration {
	b := r.text()
	id := fold.SlugID("app", string(b))
	if _, err := r.s.Put(t.Context(), gitops.Write{Path: fmt.Sprintf("%c/%s.md", id[0], id), New: b}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.s.Commit(t.Context(), nil, ""); err != nil {
		t.Fatal(err)
	}
	var n atomic.Int64
	took := timed(func() {
		res, err := r.s.CommitBranch(usergit.WithCounter(context.WithoutCancel(t.Context()), &n))
		if err != nil || res.Oid == "" {
			t.Fatalf("CommitBranch = %+v, %v", res, err)
		}
		r.held = append(r.held, res.Held)
	})
	if len(r.held) > 1 { // the first one reads git's configuration
		r.started = max(r.started, n.Load())
	}
	return took
}

func indexSize(t *testing.T, path string) int64 {
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return fi.Size()
}

// writeSynced returns how long it takes until a new file of size bytes is on disk.
func writeSynced(t *testing.T, path string, size int64) time.Duration {
	text := bytes.Repeat([]byte{'x'}, int(size))
	took := timed(func() {
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Write(text)
		if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
			t.Fatal(err)
		}
	})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	return took
}

// byGit has git commit a file. Before that it does, in this repository, what no
// program that replaces index and reference can do without, and notes for how long
// there was a lock.
func (r *branchRig) byGit(t *testing.T) time.Duration {
	name := fmt.Sprintf("fold/%d.md", r.n)
	if err := os.MkdirAll(filepath.Join(r.dir, "fold"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.dir, name), r.text(), 0o644); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(r.dir, ".git", name) }
	for _, p := range []string{"control.1", "control.2", "control.index", "control.ref"} {
		if err := os.WriteFile(at(p), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(at("control.1"), at("control.lock")); err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	if err := os.Rename(at("control.2"), at("control.ref")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(at("control.lock"), at("control.index")); err != nil {
		t.Fatal(err)
	}
	r.held = append(r.held, time.Since(since))
	for _, p := range []string{"control.1", "control.index", "control.ref"} {
		if err := os.Remove(at(p)); err != nil {
			t.Fatal(err)
		}
	}
	r.synced = append(r.synced, writeSynced(t, at("control.sync"), indexSize(t, at("index"))))
	return timed(func() {
		git(t, r.dir, "add", name)
		git(t, r.dir, "commit", "-q", "-m", "add")
	})
}
