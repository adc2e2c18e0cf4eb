package usergit

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
)

// A storm of new files copies the list once, not once for each of them.
func TestAddCopiesTheListOnce(t *testing.T) {
	x := &TrackedFiles{l: &Repo{WorkTree: t.TempDir()}, skip: func(string) bool { return false }, dirs: map[string]stamp{}, others: map[string]map[string]bool{}}
	var came []string
	for i := range 20_000 {
		p := fmt.Sprintf("p%02d/f%05d.go", i%20, i)
		if i%10 == 0 {
			came = append(came, p, p)
		} else {
			x.all = append(x.all, p)
		}
	}
	slices.Sort(x.all)
	handed := x.all
	was := slices.Clone(handed)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	x.Add(came)
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 32 {
		t.Errorf("%d MB for %d new files", n, len(came)/2)
	}
	if len(x.all) != 20_000 || !slices.IsSorted(x.all) || len(slices.Compact(slices.Clone(x.all))) != 20_000 {
		t.Errorf("%d files are listed, sorted: %v", len(x.all), slices.IsSorted(x.all))
	}
	if !slices.Equal(handed, was) {
		t.Error("a list that was handed out changed")
	}
}

// A read error is never a deletion: folders that cannot be looked at now are not
// taken for gone.
func TestLookTellsErrorsFromAbsence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(dir+"/there", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	x := &TrackedFiles{}
	names := []string{"file", "file/below", "gone", "gone/below", "there"}
	got, err := x.stampAll(root, names)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range got {
		if s.there != (names[i] == "there") {
			t.Errorf("%s: there = %v", names[i], s.there)
		}
	}
	if err := root.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := x.stampAll(root, names); err == nil {
		t.Errorf("a look that reads nothing = %+v", got)
	}
}

// A linked work tree of a repository with tables of references has its HEAD in
// tables of its own: the git of this machine may be too old to make one.
func TestHeadStampLooksAtTablesOfTheWorkTree(t *testing.T) {
	t.Parallel()
	common := t.TempDir()
	l := &Repo{CommonDir: common, GitDir: filepath.Join(common, "worktrees", "w"), Linked: true}
	put := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-time.Hour)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	put(filepath.Join(l.GitDir, "HEAD"), "ref: refs/heads/.invalid\n")
	own := filepath.Join(l.GitDir, "reftable", "tables.list")
	put(filepath.Join(common, "reftable", "tables.list"), "a\n")
	put(own, "a\n")
	first := l.HeadStamp()
	if !first.Same(l.HeadStamp()) {
		t.Error("nothing moved, and the stamp is another")
	}
	put(own, "a\nb\n")
	if first.Same(l.HeadStamp()) {
		t.Error("HEAD of the work tree moved, and the stamp is the same")
	}
}
