//go:build accept

package rig

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// branchCommit is goal 8: one memory committed onto the branch of a repository of
// 8,000 files, against git's own add and commit of one file in its twin. It also
// tells for how long git's index was locked.
func (b *bench) branchCommit(t *testing.T) {
	const files, rounds = 8000, 40
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, ".gitconfig"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\n\tname = Ann\n\temail = ann@example.org\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	git := func(dir string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	repository := func() string {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		git(dir, "init", "-q", ".")
		for i := range files {
			name := filepath.Join(dir, fmt.Sprintf("d%02d/e%d/f%d.go", i%80, i%7, i))
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, fmt.Appendf(nil, "package f%d\n", i), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		git(dir, "add", "-A")
		git(dir, "commit", "-q", "-m", "first")
		git(dir, "status")
		return dir
	}
	mine, twin := repository(), repository()
	l, err := gitops.Locate(t.Context(), mine)
	if err != nil {
		t.Fatal(err)
	}
	// An hour on, git has rested.
	s, err := gitops.OpenStore(t.Context(), gitops.StoreOptions{
		Layout: l, Slug: "app", CommitTo: "branch", Now: func() time.Time { return time.Now().Add(time.Hour) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var held []time.Duration
	n := 0
	text := func() []byte {
		n++
		return fmt.Appendf(nil, "# Note %d\n\nWhat was decided, and why it was.\n", n)
	}
	ours := func() time.Duration {
		b := text()
		id := fold.SlugID("app", string(b))
		if _, err := s.Put(t.Context(), gitops.Write{Path: fmt.Sprintf("%c/%s.md", id[0], id), New: b}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Commit(t.Context(), nil, ""); err != nil {
			t.Fatal(err)
		}
		return timed(func() {
			r, err := s.CommitBranch(t.Context())
			if err != nil || r.Oid == "" {
				t.Fatalf("CommitBranch = %+v, %v", r, err)
			}
			held = append(held, r.Held)
		})
	}
	reference := func() time.Duration {
		name := fmt.Sprintf("fold/%d.md", n)
		if err := os.MkdirAll(filepath.Join(twin, "fold"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(twin, name), text(), 0o644); err != nil {
			t.Fatal(err)
		}
		return timed(func() {
			git(twin, "add", name)
			git(twin, "commit", "-q", "-m", "add")
		})
	}
	r, _ := pairs("8", fmt.Sprintf("1 memory committed onto a branch of %d files", files), "git add + git commit", "<= 1, aim 0.5", rounds, ours, reference)
	slices.Sort(held)
	at := func(p int) time.Duration { return held[min(len(held)-1, len(held)*p/100)] }
	b.add(r, count("8", fmt.Sprintf("git's index locked, %d commits: p50, p99", len(held)),
		fmt.Sprintf("%.1f, %.1f ms", ms(at(50)), ms(at(99))), "p99 <= 10 ms"))
	git(mine, "fsck", "--strict", "--no-dangling")
}
