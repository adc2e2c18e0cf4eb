package usergit_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops/usergit"
)

// older sets the times of everything in a work tree back, as if nothing had
// been touched for a while: a time stamp that is as young as the look at it
// proves nothing.
func older(t testing.TB, dir string) {
	t.Helper()
	then := time.Now().Add(-time.Hour)
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.Type()&os.ModeSymlink != 0 {
			return err
		}
		return os.Chtimes(p, then, then)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// lister returns the files of the checkout at dir, and what lists it by git.
func lister(t testing.TB, dir string) (*usergit.TrackedFiles, *usergit.Repo) {
	t.Helper()
	l, err := usergit.Locate(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return l.NewTrackedFiles(nil), l
}

// Nothing moved: no program is started. One new file: one.
func TestTrackedFilesAsksGitOnlyForWhatIsNew(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("SKIP: git is asked each time here")
	}
	dir := checkout(t)
	for i := range 300 {
		write(t, filepath.Join(dir, fmt.Sprintf("p%d/f%d.go", i%20, i)), "package p\n")
	}
	write(t, filepath.Join(dir, ".gitignore"), "*.log\nbuild/\n")
	write(t, filepath.Join(dir, "p1/x.log"), "ignored")
	write(t, filepath.Join(dir, "build/out/x.go"), "package x\n")
	older(t, dir)
	x, l := lister(t, dir)
	var runs atomic.Int64
	ctx := usergit.WithCounter(t.Context(), &runs)
	look := func(what string, most int64) (version uint64) {
		t.Helper()
		runs.Store(0)
		got, version, err := x.Files(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if n := runs.Load(); n > most {
			t.Errorf("%s: %d runs of git, want at most %d", what, n, most)
		}
		want, err := l.Files(context.Background())
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %d files, want %d: %v", what, len(got), len(want), err)
		}
		return version
	}
	first := look("the first time", 3)
	if again := look("again", 0); again != first {
		t.Error("nothing moved, and the list has another version")
	}
	write(t, filepath.Join(dir, "p3/new.go"), "package p\n")
	if now := look("a new file", 1); now == first {
		t.Error("a file came, and the list has the old version")
	}
	write(t, filepath.Join(dir, "p3/new.go"), "package p // written again\n")
	look("a file that is written again", 0)
	git(t, dir, "add", ".")
	look("all of them added", 0)
	git(t, dir, "commit", "-qm", "second")
	look("committed", 0)
	if err := os.RemoveAll(filepath.Join(dir, "p5")); err != nil {
		t.Fatal(err)
	}
	look("a folder that went", 1) // about what is ignored where it was
	write(t, filepath.Join(dir, ".gitignore"), "*.log\nbuild/\nnew*\n")
	git(t, dir, "rm", "-q", "--cached", "p3/new.go")
	look("other rules", 3)
}

// Whatever is done to a work tree, the lister says what git says.
func TestTrackedFilesAgreesWithGit(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	write(t, filepath.Join(dir, ".gitignore"), "*.log\n/out/\n")
	rnd := rand.New(rand.NewPCG(1, 2))
	x, l := lister(t, dir)
	folders := []string{"", "dir", "dir/sub", "new", "new/deep/er", "out", "nested", "logs"}
	file := func() string {
		return filepath.Join(dir, folders[rnd.IntN(len(folders))], []string{"a.go", "b.go", "c.log", "d.md", "ä.txt"}[rnd.IntN(5)])
	}
	steps := []func() string{
		func() string { p := file(); write(t, p, fmt.Sprint(rnd.IntN(3))); return "write " + p },
		func() string { p := file(); write(t, p, "x"); return "write " + p },
		func() string { p := file(); _ = os.Remove(p); return "remove " + p },
		func() string { git(t, dir, "add", "-A", "."); return "add" },
		func() string { git(t, dir, "commit", "-q", "--allow-empty", "-m", "x"); return "commit" },
		func() string {
			git(t, dir, "rm", "-rq", "--cached", "--ignore-unmatch", "dir")
			return "rm --cached dir"
		},
		func() string { git(t, dir, "reset", "-q"); return "reset" },
		func() string {
			p := filepath.Join(dir, folders[1+rnd.IntN(len(folders)-1)])
			_ = os.RemoveAll(p)
			return "remove folder " + p
		},
		func() string {
			_ = os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "dir", fmt.Sprint("moved", rnd.IntN(4))))
			return "move new"
		},
		func() string {
			p := filepath.Join(dir, folders[rnd.IntN(len(folders)-2)], ".gitignore")
			if rnd.IntN(3) == 0 {
				_ = os.Remove(p)
				return "remove " + p
			}
			write(t, p, []string{"*.md\n", "!c.log\n", "b.go\nsub\n", "er/\n"}[rnd.IntN(4)])
			return "write " + p
		},
		func() string {
			p := filepath.Join(dir, "nested")
			_ = os.RemoveAll(p)
			write(t, filepath.Join(p, "x.go"), "package x\n")
			if rnd.IntN(2) == 0 {
				git(t, p, "init", "-q", ".")
				git(t, p, "commit", "-q", "--allow-empty", "-m", "x") // else it cannot be added
			}
			return "nested"
		},
		func() string { older(t, dir); return "time passes" },
		func() string { // a file becomes a folder, or a folder a file
			p := filepath.Join(dir, folders[rnd.IntN(3)], "either")
			_ = os.RemoveAll(p)
			if rnd.IntN(2) == 0 {
				p = filepath.Join(p, "a.go")
			}
			write(t, p, "x")
			return "write " + p
		},
		func() string {
			write(t, filepath.Join(dir, ".git/info/exclude"), []string{"d.md\n", "", "a.go\n"}[rnd.IntN(3)])
			return "info/exclude"
		},
	}
	var done []string
	for range 160 {
		done = append(done, steps[rnd.IntN(len(steps))]())
		if rnd.IntN(3) == 0 {
			continue
		}
		got, _, err := x.Files(t.Context())
		if err != nil {
			t.Fatalf("%v\nafter %q", err, done)
		}
		want, err := l.Files(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("listed %q\ngit has %q\nafter %q", got, want, done[max(0, len(done)-8):])
		}
	}
}

// looks returns what expects that a lister of the checkout lists the files that are
// wanted. What is there by now is old.
func looks(t *testing.T, dir string) func(want ...string) {
	t.Helper()
	older(t, dir)
	x, _ := lister(t, dir)
	return func(want ...string) {
		t.Helper()
		if got, _, err := x.Files(t.Context()); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
}

// An untracked file that a folder took the place of is no file any more.
func TestTrackedFilesFollowsAFileThatBecomesAFolder(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	write(t, filepath.Join(dir, "dir/either"), "a file")
	look := looks(t, dir)
	look("a.go", "dir/b.go", "dir/either")
	if err := os.Remove(filepath.Join(dir, "dir/either")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "dir/either/a.go"), "package either\n")
	look("a.go", "dir/b.go", "dir/either/a.go")
}

// A folder that becomes a repository leaves, however long git takes to make it: when
// that ends no time of the folder moves.
func TestTrackedFilesFollowsAFolderThatBecomesARepository(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	write(t, filepath.Join(dir, "sub/s.go"), "package sub\n")
	look := looks(t, dir)
	look("a.go", "dir/b.go", "sub/s.go")
	must(t, os.Mkdir(filepath.Join(dir, "sub/.git"), 0o755))
	older(t, dir)
	for range 3 {
		look("a.go", "dir/b.go", "sub/s.go")
	}
	git(t, dir, "init", "-q", "sub")
	look("a.go", "dir/b.go")
}

// Git init may end between what git says of the folder and our own look at it.
func TestTrackedFilesIsOvertakenByARepository(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIP: the git that is overtaken is a shell script")
	}
	dir := checkout(t)
	write(t, filepath.Join(dir, "sub/deep/s.go"), "package sub\n")
	for _, name := range []string{"objects", "late"} {
		must(t, os.MkdirAll(filepath.Join(dir, "sub/.git", name), 0o755))
	}
	write(t, filepath.Join(dir, "sub/.git/HEAD"), "ref: refs/heads/main\n")
	older(t, dir)
	real, err := exec.LookPath("git")
	must(t, err)
	bin := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\n'%s' \"$@\" || exit\ncase \"$*\" in *--others*) mv '%s' '%s' 2>/dev/null; touch -d '1 hour ago' '%s';; esac\nexit 0\n",
		real, filepath.Join(dir, "sub/.git/late"), filepath.Join(dir, "sub/.git/refs"), filepath.Join(dir, "sub"))
	program(t, filepath.Join(bin, "git"), script)
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	looks(t, dir)("a.go", "dir/b.go")
}

// A file is reported when its folder is a repository by now, though it was saved before.
func TestTrackedFilesAddsNothingOfARepository(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("SKIP: git is asked each time here")
	}
	dir := checkout(t)
	x, _ := lister(t, dir)
	if _, _, err := x.Files(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "sub/deep/s.go"), "package sub\n")
	write(t, filepath.Join(dir, "new.go"), "package a\n")
	git(t, filepath.Join(dir, "sub"), "init", "-q", "--template=", ".")
	if got := x.Add([]string{"sub/deep/s.go", "new.go"}); !slices.Equal(got, []string{"new.go"}) {
		t.Errorf("Add = %v", got)
	}
	for range 2 {
		got, _, err := x.Files(t.Context())
		if err != nil || slices.Contains(got, "sub/deep/s.go") || !slices.Contains(got, "new.go") {
			t.Errorf("Files = %v, %v", got, err)
		}
	}
}

// A file that was added leaves when its folder, which was never read, is a repository by
// the time of the next look: no time of a known folder tells of that later.
func TestTrackedFilesDropsWhatWasAddedToARepository(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("SKIP: git is asked each time here")
	}
	for _, when := range []string{"ready", "begun"} {
		dir := checkout(t)
		older(t, dir)
		x, _ := lister(t, dir)
		if _, _, err := x.Files(t.Context()); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "sub/deep/s.go"), "package sub\n")
		if got := x.Add([]string{"sub/deep/s.go"}); len(got) != 1 {
			t.Fatalf("Add = %v", got)
		}
		if when == "begun" { // git lists its files until it is a repository
			must(t, os.Mkdir(filepath.Join(dir, "sub/.git"), 0o755))
			if got, _, err := x.Files(t.Context()); err != nil || !slices.Contains(got, "sub/deep/s.go") {
				t.Errorf("%s: Files = %v, %v", when, got, err)
			}
		}
		git(t, filepath.Join(dir, "sub"), "init", "-q", "--template=", ".")
		for range 2 {
			if got, _, err := x.Files(t.Context()); err != nil || slices.Contains(got, "sub/deep/s.go") {
				t.Errorf("%s: Files = %v, %v", when, got, err)
			}
		}
	}
}

// Add spares the question for what git was asked already.
func TestTrackedFilesAdd(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("SKIP: git is asked each time here")
	}
	dir := checkout(t)
	older(t, dir)
	x, _ := lister(t, dir)
	if _, _, err := x.Files(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "dir/new.go"), "package b\n")
	x.Add([]string{"dir/new.go"})
	var runs atomic.Int64
	got, _, err := x.Files(usergit.WithCounter(t.Context(), &runs))
	if err != nil || !slices.Equal(got, []string{"a.go", "dir/b.go", "dir/new.go"}) || runs.Load() != 0 {
		t.Errorf("%q, %d runs of git, %v", got, runs.Load(), err)
	}
}

// The index is read the same by us and by git, in each of its versions.
func TestIndexVersions(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2", "3", "4"} {
		dir := checkout(t)
		for i := range 40 {
			write(t, filepath.Join(dir, fmt.Sprintf("some/long/path%d/file%d.go", i%7, i)), "package p\n")
		}
		git(t, dir, "add", ".")
		write(t, filepath.Join(dir, "later.go"), "package a\n")
		git(t, dir, "add", "-N", "later.go") // intent to add: an extended entry
		git(t, dir, "update-index", "--index-version", version)
		git(t, dir, "update-index", "--skip-worktree", "a.go")
		l, err := usergit.Locate(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		var runs atomic.Int64
		got, err := l.IndexBlobs(usergit.WithCounter(t.Context(), &runs))
		if err != nil {
			t.Fatal(err)
		}
		if runs.Load() != 0 {
			t.Errorf("version %s: git was asked", version)
		}
		// A split index is one that only git reads.
		git(t, dir, "update-index", "--split-index")
		want, err := l.IndexBlobs(usergit.WithCounter(t.Context(), &runs))
		if err != nil || runs.Load() != 1 {
			t.Fatalf("version %s: split: %d runs, %v", version, runs.Load(), err)
		}
		if len(got) != 43 || len(want) != len(got) {
			t.Errorf("version %s: %d entries, git has %d", version, len(got), len(want))
		}
		for p, e := range want {
			if got[p] != e {
				t.Errorf("version %s: %s: %+v, git has %+v", version, p, got[p], e)
			}
		}
	}
}
