package usergit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/gitops/gittest"
	"github.com/foldwatch/foldwatch/testdata/nocasetest"
)

// TestTrackedFilesWhereCaseDoesNotCount: a file is listed once, by the name that git knows,
// whoever changed the case of its name, and by the name of its folder if git knows none.
func TestTrackedFilesWhereCaseDoesNotCount(t *testing.T) {
	t.Parallel()
	dir := nocasetest.Dir(t)
	git(t, dir, "init", "-q", "--template=", ".")
	write(t, filepath.Join(dir, "Zoo", "Owl.go"), "package zoo\n")
	write(t, filepath.Join(dir, "Emu.go"), "package emu\n")
	git(t, dir, "add", "-A")
	x, _ := lister(t, dir)
	step := func(what string, want ...string) {
		t.Helper()
		gittest.WaitFor(t, what, func() bool { // where the file system is behind
			got, _, err := x.Files(t.Context())
			must(t, err)
			return strings.Join(got, " ") == strings.Join(want, " ")
		})
	}
	rename := func(from, to string) {
		t.Helper()
		must(t, os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)))
	}
	step("as it began", "Emu.go", "Zoo/Owl.go")
	git(t, dir, "mv", "Zoo/Owl.go", "Zoo/owl.go")
	step("git renames a file", "Emu.go", "Zoo/owl.go")
	git(t, dir, "mv", "Zoo", "park")
	git(t, dir, "mv", "park", "zoo")
	step("git renames its folder", "Emu.go", "zoo/owl.go")
	rename("Emu.go", "emu.go")
	step("somebody else does, which git does not see", "Emu.go", "zoo/owl.go")
	write(t, filepath.Join(dir, "Kiwi.go"), "package kiwi\n")
	step("one that git does not track", "Emu.go", "Kiwi.go", "zoo/owl.go")
	rename("Kiwi.go", "kiwi.go")
	step("it is renamed", "Emu.go", "kiwi.go", "zoo/owl.go")
	if got := x.Twin("zoo/Owl.go"); got != "zoo/owl.go" {
		t.Errorf("the twin of zoo/Owl.go is %q", got)
	}
	if got := x.Twin("zoo/owl.go"); got != "" {
		t.Errorf("the twin of what is listed is %q", got)
	}
}
