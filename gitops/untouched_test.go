package gitops_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// snapshot returns every file below dir with its bytes, mode and time, without
// fold/ and .git/foldwatch.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		rel = filepath.ToSlash(rel)
		if rel == "fold" || rel == ".git/foldwatch" {
			return fs.SkipDir
		}
		if d.IsDir() {
			out[rel] = "dir"
			return nil
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		b, err := os.ReadFile(p)
		out[rel] = fmt.Sprintf("%v %v %x", fi.Mode(), fi.ModTime().UnixNano(), b)
		return err
	}))
	return out
}

// TestNothingElseIsWritten: I2 and I4. Not a byte and not a time stamp changes
// outside fold/ and .git/foldwatch.
func TestNothingElseIsWritten(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	write(t, filepath.Join(dir, "a.go"), "package a // edited\n")
	git(t, dir, "add", "a.go")
	git(t, dir, "commit", "-qm", "second")
	write(t, filepath.Join(dir, "staged.go"), "package s\n")
	git(t, dir, "add", "staged.go")
	before := snapshot(t, dir)
	status := git(t, dir, "--no-optional-locks", "status", "--porcelain")

	s := openStore(t, dir, nil)
	ctx := t.Context()
	paths := fill(t, s, 3)
	_, err := s.CommitAll(ctx)
	must(t, err)
	_, err = s.Squash(ctx, later())
	must(t, err)
	_, err = s.Guard(ctx)
	must(t, err)
	_, err = s.Restore(ctx, paths[0], s.Tip(), nil)
	must(t, err)
	tour(t, locate(t, dir), strings.Repeat("1", 40))
	if got := git(t, dir, "--no-optional-locks", "status", "--porcelain"); got != status {
		t.Errorf("git status = %q, was %q", got, status)
	}
	must(t, s.Purge(ctx))
	unchanged(t, before, snapshot(t, dir))
	if _, err := os.Stat(filepath.Join(dir, ".git/foldwatch")); err == nil {
		t.Error("Purge left .git/foldwatch")
	}
}

// unchanged compares two snapshots.
func unchanged(t testing.TB, before, after map[string]string) {
	t.Helper()
	for p, was := range before {
		if after[p] != was {
			t.Errorf("%s changed", p)
		}
	}
	for p := range after {
		if _, ok := before[p]; !ok {
			t.Errorf("%s is new", p)
		}
	}
}
