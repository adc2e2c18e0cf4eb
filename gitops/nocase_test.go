package gitops_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// sameName reports whether dir has one file for two names that differ in case only.
func sameName(t testing.TB, dir string) bool {
	t.Helper()
	write(t, filepath.Join(dir, "Aa"), "")
	defer os.Remove(filepath.Join(dir, "Aa"))
	_, err := os.Lstat(filepath.Join(dir, "aA"))
	return err == nil
}

// noCase returns a folder where the case of names does not count: one below
// FOLDWATCH_NO_CASE, else one of an ext4 that is made for it. Else the test is skipped.
func noCase(t testing.TB) string {
	t.Helper()
	base := os.Getenv("FOLDWATCH_NO_CASE")
	if base == "" {
		if runtime.GOOS != "linux" || os.Geteuid() != 0 {
			t.Skip("SKIP: FOLDWATCH_NO_CASE names no folder where the case of names does not count, and to mount one takes root on Linux")
		}
		image, at := filepath.Join(t.TempDir(), "image"), realDir(t)
		must(t, os.WriteFile(image, nil, 0o600))
		must(t, os.Truncate(image, 64<<20))
		for _, argv := range [][]string{
			{"mkfs.ext4", "-q", "-F", "-O", "casefold", "-E", "encoding=utf8", image},
			{"mount", "-o", "loop", image, at},
		} {
			if out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput(); err != nil {
				t.Skipf("SKIP: FOLDWATCH_NO_CASE names no folder, and none can be mounted: %s: %v: %.200s", argv[0], err, out)
			}
		}
		t.Cleanup(func() { _ = exec.Command("umount", at).Run() }) // the context of the test has ended
		base = filepath.Join(at, "folded")
		must(t, os.Mkdir(base, 0o755))
		if out, err := exec.CommandContext(t.Context(), "chattr", "+F", base).CombinedOutput(); err != nil {
			t.Skipf("SKIP: chattr +F: %v: %s", err, out)
		}
	}
	dir, err := os.MkdirTemp(base, "checkout-") //nolint:usetesting // t.TempDir is on another file system
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	if !sameName(t, dir) {
		t.Fatalf("the case of names counts in %s", base)
	}
	return dir
}

// TestSyncWhereCaseDoesNotCount: notes whose names differ in case only come from where
// it counts to where it does not, and lose no text there, nor where they came from.
func TestSyncWhereCaseDoesNotCount(t *testing.T) {
	t.Parallel()
	there := noCase(t)
	remote := bareRemote(t)
	a := newReplica(t, remote, nil)
	if sameName(t, a.dir) {
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
