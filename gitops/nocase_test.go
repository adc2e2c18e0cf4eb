package gitops_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/testdata/nocasetest"
)

// TestSyncWhereCaseDoesNotCount: notes whose names differ in case only come from where
// it counts to where it does not, and lose no text there, nor where they came from.
func TestSyncWhereCaseDoesNotCount(t *testing.T) {
	t.Parallel()
	there := nocasetest.Dir(t)
	remote := bareRemote(t)
	a := newReplica(t, remote, nil)
	if nocasetest.Lost(t, a.dir) {
		t.Skip("SKIP: nowhere here does the case of names count")
	}
	git(t, there, "init", "-q", "--template=", ".")
	b := &replica{t: t, dir: there, opt: a.opt}
	b.s = openStore(t, there, nil)

	texts := map[string]string{
		"Zoo.md": "The numbat sleeps.\n", "zoo.md": "The wombat digs.\n",
		"Ideas/Owl.md": "Owls at night.\n", "ideas/owl.md": "Owls by day.\n",
	}
	for name, text := range texts {
		write(t, filepath.Join(a.dir, "fold", filepath.FromSlash(name)), text)
	}
	a.commit()
	a.sync()
	kept := func(r *replica, when string) {
		t.Helper()
		var all strings.Builder
		for _, text := range r.files() {
			all.WriteString(text)
		}
		for name, text := range texts {
			if !strings.Contains(all.String(), strings.TrimSpace(text)) {
				t.Errorf("%s: the text of %s is nowhere", when, name)
			}
		}
	}
	for range 3 {
		b.sync()
		b.commit()
		b.sync()
		kept(b, "where case does not count")
		a.sync()
		a.commit()
		a.sync()
		kept(a, "where they came from")
	}
	for _, r := range []*replica{b, a} {
		if got := r.sync(); got.Pushed || got.Fetched {
			t.Errorf("they are not at rest after three rounds: %+v", got)
		}
	}
	if len(a.files()) < len(texts) {
		t.Errorf("where they came from are %d files: %v", len(a.files()), a.files())
	}
	fsck(t, a.dir)
	fsck(t, b.dir)
}

// TestListerWhereCaseDoesNotCount: a file is listed once, by the name that git knows,
// whoever changed the case of its name, and by the name of its folder if git knows none.
func TestListerWhereCaseDoesNotCount(t *testing.T) {
	t.Parallel()
	dir := nocasetest.Dir(t)
	git(t, dir, "init", "-q", "--template=", ".")
	write(t, filepath.Join(dir, "Zoo", "Owl.go"), "package zoo\n")
	write(t, filepath.Join(dir, "Emu.go"), "package emu\n")
	git(t, dir, "add", "-A")
	x, _ := lister(t, dir)
	step := func(what string, want ...string) {
		t.Helper()
		waitFor(t, what, func() bool { // where the file system is behind
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
