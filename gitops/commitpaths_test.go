package gitops_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// commitFixture is a repository in which a person has staged, changed and deleted
// files of their own, and memories changed in every way there is.
func commitFixture(t *testing.T) (dir string, l *gitops.Layout) {
	t.Helper()
	dir = checkout(t)
	for _, f := range []string{"changed", "staged", "gone", "removed", "both", "back", "same", "again"} {
		write(t, filepath.Join(dir, "fold", f+".md"), f+"\n")
	}
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "Begin")

	write(t, filepath.Join(dir, "a.go"), "package staged\n")
	git(t, dir, "add", "a.go")
	write(t, filepath.Join(dir, "a.go"), "package changed\n")
	write(t, filepath.Join(dir, "mine.go"), "package mine\n")
	git(t, dir, "add", "mine.go")
	git(t, dir, "rm", "-q", "dir/b.go")

	fold := func(name, text string) { write(t, filepath.Join(dir, "fold", name+".md"), text) }
	fold("changed", "edited\n")
	fold("staged", "edited\n")
	git(t, dir, "add", "fold/staged.md")
	if err := os.Remove(filepath.Join(dir, "fold", "gone.md")); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "rm", "-q", "fold/removed.md")
	fold("both", "first\n")
	git(t, dir, "add", "fold/both.md")
	fold("both", "second\n")
	fold("back", "first\n")
	git(t, dir, "add", "fold/back.md")
	fold("back", "back\n")
	git(t, dir, "rm", "-q", "--cached", "fold/again.md")
	fold("new", "new\n")
	fold("newer", "staged\n")
	git(t, dir, "add", "fold/newer.md")
	fold("newer", "changed\n")
	fold("meant", "meant\n")
	git(t, dir, "add", "-N", "fold/meant.md")
	fold("never", "never\n")
	git(t, dir, "add", "fold/never.md")
	if err := os.Remove(filepath.Join(dir, "fold", "never.md")); err != nil {
		t.Fatal(err)
	}
	return dir, locate(t, dir)
}

func TestChangedComparesWithHead(t *testing.T) {
	t.Parallel()
	_, l := commitFixture(t)
	got, err := l.Changed(t.Context(), "fold")
	want := []gitops.ChangedPath{
		{Path: "fold/both.md"},
		{Path: "fold/changed.md"},
		{Path: "fold/gone.md", Gone: true},
		{Path: "fold/meant.md", New: true},
		{Path: "fold/new.md", New: true},
		{Path: "fold/newer.md", New: true},
		{Path: "fold/removed.md", Gone: true},
		{Path: "fold/staged.md"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("Changed: %v; -want +got\n%s", err, diff)
	}
}

func pathsOf(changed []gitops.ChangedPath) []string {
	var paths []string
	for _, c := range changed {
		paths = append(paths, c.Path)
	}
	return paths
}

// index is every entry of the index with all that git keeps of it but when it looked.
func index(t *testing.T, dir string, paths ...string) string {
	t.Helper()
	return git(t, dir, append([]string{"ls-files", "--stage", "-t", "--"}, paths...)...) + "\n" +
		git(t, dir, append([]string{"diff-files", "--raw", "--"}, paths...)...)
}

func TestCommitPathsTakesNothingElse(t *testing.T) {
	t.Parallel()
	dir, l := commitFixture(t)
	others := index(t, dir, ":!fold")
	changed, err := l.Changed(t.Context(), "fold")
	if err != nil {
		t.Fatal(err)
	}
	oid, err := l.CommitPaths(t.Context(), &gitops.PathCommit{Paths: pathsOf(changed), Message: "Memories\n\n# not a comment\n"})
	if err != nil || oid != git(t, dir, "rev-parse", "HEAD") {
		t.Fatalf("CommitPaths = %s, %v; HEAD is %s", oid, err, git(t, dir, "rev-parse", "HEAD"))
	}
	if got, want := strings.Split(git(t, dir, "show", "--format=", "--name-only", "--no-renames", "HEAD"), "\n"), pathsOf(changed); !cmp.Equal(got, want) {
		t.Errorf("the commit holds %v, want %v", got, want)
	}
	if got := git(t, dir, "log", "-1", "--format=%B"); got != "Memories\n\n# not a comment" {
		t.Errorf("message %q", got)
	}
	if diff := cmp.Diff(others, index(t, dir, ":!fold")); diff != "" {
		t.Errorf("the index of other files: -before +after\n%s", diff)
	}
	if left, err := l.Changed(t.Context(), "fold"); err != nil || len(left) > 0 {
		t.Errorf("after the commit there are changes: %v, %v", left, err)
	}
}

// TestCommitPathsUnstages what it staged, and nothing else, where a hook, the signing
// or the message is refused.
func TestCommitPathsUnstages(t *testing.T) {
	t.Parallel()
	hook := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, ".git", "hooks", name), "#!/bin/sh\necho 'not on a Monday' >&2\nexit 1\n")
			if err := os.Chmod(filepath.Join(dir, ".git", "hooks", name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, refuse := range map[string]func(t *testing.T, dir string){
		"pre-commit": hook("pre-commit"),
		"commit-msg": hook("commit-msg"),
		"signing": func(t *testing.T, dir string) {
			git(t, dir, "config", "commit.gpgSign", "true")
			git(t, dir, "config", "gpg.program", filepath.Join(dir, "no-such-program"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, l := commitFixture(t)
			refuse(t, dir)
			changed, err := l.Changed(t.Context(), "fold")
			if err != nil {
				t.Fatal(err)
			}
			head, before := git(t, dir, "rev-parse", "HEAD"), index(t, dir)
			var said bytes.Buffer
			oid, err := l.CommitPaths(t.Context(), &gitops.PathCommit{Paths: pathsOf(changed), Message: "Memories", Output: &said})
			if err == nil || oid != "" || fold.Hint(err) == "" {
				t.Errorf("CommitPaths = %q, %v", oid, err)
			}
			if name != "signing" && said.String() != "not on a Monday\n" {
				t.Errorf("the user was told %q", said.String())
			}
			if git(t, dir, "rev-parse", "HEAD") != head {
				t.Error("HEAD has moved")
			}
			if diff := cmp.Diff(before, index(t, dir)); diff != "" {
				t.Errorf("the index: -before +after\n%s", diff)
			}
		})
	}
}

// TestCommitPathsInterrupted: what ends the command while a hook runs ends git as
// Ctrl-C does, and leaves no lock.
func TestCommitPathsInterrupted(t *testing.T) {
	t.Parallel()
	dir, l := commitFixture(t)
	started := filepath.Join(dir, "started")
	write(t, filepath.Join(dir, ".git", "hooks", "pre-commit"), "#!/bin/sh\n: > started\nexec sleep 60\n")
	if err := os.Chmod(filepath.Join(dir, ".git", "hooks", "pre-commit"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := index(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for range tick.C {
			if _, err := os.Stat(started); err == nil || ctx.Err() != nil {
				cancel()
				return
			}
		}
	}()
	if _, err := l.CommitPaths(ctx, &gitops.PathCommit{Paths: []string{"fold/new.md", "fold/changed.md"}, Message: "Memories"}); err == nil {
		t.Error("CommitPaths was not interrupted")
	}
	if what := l.Busy(); what != "" {
		t.Error(what)
	}
	if diff := cmp.Diff(before, index(t, dir)); diff != "" {
		t.Errorf("the index: -before +after\n%s", diff)
	}
}

func TestMayCommitRefuses(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(t *testing.T, dir string){
		"a merge is in progress": func(t *testing.T, dir string) { git(t, dir, "merge", "--no-commit", "-q", "topic") },
		"a rebase is in progress": func(t *testing.T, dir string) {
			git(t, dir, "-c", "sequence.editor=sed -i.bak s/^pick/edit/", "rebase", "-i", "-q", "HEAD~")
		},
		"a bisect is in progress":          func(t *testing.T, dir string) { git(t, dir, "bisect", "start") },
		"a cherry-pick is in progress":     func(t *testing.T, dir string) { git(t, dir, "cherry-pick", "--no-commit", "topic"); sequence(t, dir) },
		"HEAD is on no branch":             func(t *testing.T, dir string) { git(t, dir, "switch", "-q", "--detach") },
		"git holds the index (index.lock)": func(t *testing.T, dir string) { write(t, filepath.Join(dir, ".git", "index.lock"), "") },
		"dir/b.go is not merged yet":       unmerged,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := checkout(t)
			git(t, dir, "switch", "-q", "-c", "topic")
			write(t, filepath.Join(dir, "dir", "b.go"), "package topic\n")
			git(t, dir, "commit", "-qam", "Topic")
			git(t, dir, "switch", "-q", "-")
			write(t, filepath.Join(dir, "a.go"), "package main // more\n")
			git(t, dir, "commit", "-qam", "More")
			begin(t, dir)
			write(t, filepath.Join(dir, "fold", "a.md"), "a\n")
			before, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = locate(t, dir).CommitPaths(t.Context(), &gitops.PathCommit{Paths: []string{"fold/a.md"}, Message: "Memories"})
			if !errors.Is(err, fold.ErrConflict) || !strings.Contains(err.Error(), name) || fold.Hint(err) == "" {
				t.Errorf("CommitPaths: %v (hint %q)", err, fold.Hint(err))
			}
			if after, err := os.ReadFile(filepath.Join(dir, ".git", "index")); err != nil || !bytes.Equal(after, before) {
				t.Errorf("the index was written: %v", err)
			}
		})
	}
}

// sequence makes an open cherry-pick of one that was not to be committed.
func sequence(t *testing.T, dir string) {
	t.Helper()
	write(t, filepath.Join(dir, ".git", "CHERRY_PICK_HEAD"), git(t, dir, "rev-parse", "topic")+"\n")
}

// unmerged leaves a conflict in the index with no operation open, as stash pop does.
func unmerged(t *testing.T, dir string) {
	t.Helper()
	write(t, filepath.Join(dir, "dir", "b.go"), "package stashed\n")
	git(t, dir, "stash", "-q")
	git(t, dir, "merge", "-q", "--no-edit", "topic")
	if l := locate(t, dir); l.Busy() != "" {
		t.Fatal(l.Busy())
	}
	pop := exec.CommandContext(t.Context(), "git", "stash", "pop", "-q")
	pop.Dir = dir
	if err := pop.Run(); err == nil {
		t.Fatal("the stash has no conflict")
	}
}
