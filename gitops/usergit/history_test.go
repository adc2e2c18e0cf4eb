package usergit_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestOneChangeHasOnePatchID: wherever a commit is moved to, and whatever the
// repository wants to run when a patch is printed.
func TestOneChangeHasOnePatchID(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	ran := filepath.Join(t.TempDir(), "ran")
	git(t, dir, "config", "diff.external", "touch "+ran+"; false")
	git(t, dir, "config", "diff.evil.textconv", "touch "+ran+"; cat")
	write(t, filepath.Join(dir, ".git/info/attributes"), "* diff=evil\n")
	commit := func(file, text, message string) string {
		write(t, filepath.Join(dir, file), text)
		git(t, dir, "add", ".")
		git(t, dir, "commit", "-qm", message)
		return git(t, dir, "rev-parse", "HEAD")
	}
	old := commit("new.go", "package p\n", "one")
	git(t, dir, "reset", "-q", "--hard", "HEAD~1")
	other := commit("a.go", "package other\n", "two")
	again := commit("new.go", "package p\n", "three")
	l := locate(t, dir)
	ids, err := l.PatchIDs(t.Context(), []string{old, other, again})
	if err != nil || len(ids) != 3 || ids[old] != ids[again] || ids[old] == ids[other] {
		t.Errorf("PatchIDs = %v, %v", ids, err)
	}
	if _, err := os.Stat(ran); !os.IsNotExist(err) {
		t.Errorf("a program of the repository ran: %v", err)
	}
}

// TestWhereAShallowCloneEnds: the oldest commit it has seems to add every file.
func TestWhereAShallowCloneEnds(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	for _, m := range []string{"second", "third"} {
		write(t, filepath.Join(dir, m+".go"), "package p\n")
		git(t, dir, "add", ".")
		git(t, dir, "commit", "-qm", m)
	}
	clone := filepath.Join(realDir(t), "shallow")
	git(t, dir, "clone", "-q", "--depth", "2", "file://"+dir, clone)
	commits, err := locate(t, clone).Changes(t.Context(), "HEAD", nil, 0, 0)
	if err != nil || len(commits) != 2 || commits[0].Grafted || !commits[1].Grafted || len(commits[1].Files) != 3 {
		t.Errorf("Changes of a shallow clone = %+v, %v", commits, err)
	}
	left, err := locate(t, dir).Changes(t.Context(), "HEAD", []string{"HEAD~2"}, 1, 1)
	if err != nil || len(left) != 1 || left[0].Subject != "second" {
		t.Errorf("Changes that skips one = %+v, %v", left, err)
	}
	if n, err := locate(t, dir).CountChanges(t.Context(), "HEAD", []string{"HEAD~2"}); err != nil || n != 2 {
		t.Errorf("CountChanges = %d, %v", n, err)
	}
}
