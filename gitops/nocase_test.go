package gitops_test

import (
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
