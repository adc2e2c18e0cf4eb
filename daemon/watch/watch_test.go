package watch_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/daemon/watch"
)

// patience is how long a test waits for an event that must come.
const patience = 20 * time.Second

// A watched is a checkout under watch; it collects what is reported.
type watched struct {
	t     *testing.T
	root  string
	w     *watch.Watcher
	out   chan watch.Batch
	paths []string
	git   bool
}

func start(t *testing.T, opt watch.Options) *watched {
	t.Helper()
	if opt.Quiet == 0 {
		opt.Quiet = 50 * time.Millisecond
	}
	s := &watched{t: t, root: opt.Root, w: watch.New(opt), out: make(chan watch.Batch, 100)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.w.Run(ctx, s.out) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run() = %v", err)
		}
	})
	select {
	case b := <-s.out:
		if b.Reason != "start" {
			t.Fatalf("first batch = %+v", b)
		}
	case <-time.After(patience):
		t.Fatal("nothing is watched")
	}
	return s
}

// until collects batches until ok says so.
func (s *watched) until(what string, ok func() bool) {
	s.t.Helper()
	deadline := time.After(patience)
	for !ok() {
		select {
		case b := <-s.out:
			s.paths = append(s.paths, b.Paths...)
			s.git = s.git || b.Git
		case <-deadline:
			s.t.Fatalf("%s was not reported; state %+v, paths %q", what, s.w.State(), s.paths)
		}
	}
}

func (s *watched) reported(path string) {
	s.t.Helper()
	s.until(path, func() bool { return slices.Contains(s.paths, path) })
}

func (s *watched) write(path string) {
	s.t.Helper()
	full := filepath.Join(s.root, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(path), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *watched) do(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestSavesAreReported(t *testing.T) {
	root := t.TempDir()
	s := start(t, watch.Options{Root: root})
	s.write("a.go")
	s.reported("a.go")

	// As editors save: a new file over the old one, twice.
	for range 2 {
		s.paths = nil
		s.write("a.go.tmp")
		s.do(os.Rename(filepath.Join(root, "a.go.tmp"), filepath.Join(root, "a.go")))
		s.reported("a.go")
	}
	s.paths = nil
	s.do(os.Remove(filepath.Join(root, "a.go")))
	s.reported("a.go")
}

func TestNewDirectoriesAreWatched(t *testing.T) {
	s := start(t, watch.Options{Root: t.TempDir()})
	s.write("x/y/z/deep.go") // one event, for x, may be all that comes
	s.reported("x/y/z/deep.go")
	s.write("x/y/z/later.go")
	s.reported("x/y/z/later.go")
}

func TestMovedDirectoriesKeepTheirNewName(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "old/sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := start(t, watch.Options{Root: root})
	s.write("old/sub/a.go")
	s.reported("old/sub/a.go")
	s.do(os.Rename(filepath.Join(root, "old"), filepath.Join(root, "new")))
	s.reported("old")
	s.reported("new/sub/a.go")
	s.paths = nil
	s.write("new/sub/b.go")
	s.reported("new/sub/b.go")
	if i := slices.IndexFunc(s.paths, func(p string) bool { return strings.HasPrefix(p, "old") }); i >= 0 {
		t.Errorf("%s was reported after the move", s.paths[i])
	}
	// Out of the checkout and back.
	outside := filepath.Join(t.TempDir(), "new")
	s.do(os.Rename(filepath.Join(root, "new"), outside))
	s.reported("new")
	s.paths = nil
	s.do(os.WriteFile(filepath.Join(outside, "sub/hidden.go"), nil, 0o644))
	s.do(os.Rename(outside, filepath.Join(root, "back")))
	s.reported("back/sub/hidden.go")
	s.write("back/sub/c.go")
	s.reported("back/sub/c.go")
}

func TestDeletedDirectoriesAreReported(t *testing.T) {
	s := start(t, watch.Options{Root: t.TempDir()})
	s.write("d/e/a.go")
	s.reported("d/e/a.go")
	before := s.w.State().Watched
	s.paths = nil
	s.do(os.RemoveAll(filepath.Join(s.root, "d")))
	s.reported("d")
	if now := s.w.State().Watched; now != before-2 {
		t.Errorf("%d directories are watched, want %d", now, before-2)
	}
	s.write("d/e/b.go")
	s.reported("d/e/b.go")
}

func TestPrunedTreesAreNotWatched(t *testing.T) {
	root := t.TempDir()
	s := start(t, watch.Options{Root: root, Prune: func(dir string) bool { return filepath.Base(dir) == "node_modules" }})
	watching := s.w.State().Watched
	for i := range 20 {
		s.write(fmt.Sprintf("node_modules/m%d/index.js", i))
	}
	s.write("marker")
	s.reported("marker")
	s.write("node_modules/m1/index.js")
	s.write("last")
	s.reported("last")
	for _, p := range s.paths {
		if strings.HasPrefix(p, "node_modules/") {
			t.Errorf("%s was reported", p)
		}
	}
	if now := s.w.State().Watched; now != watching {
		t.Errorf("%d directories are watched, want %d", now, watching)
	}
}

func TestListedDirectories(t *testing.T) {
	root := t.TempDir()
	for _, d := range []string{"src/in", "out", "later"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var listed atomic.Bool
	s := start(t, watch.Options{Root: root, Dirs: func(context.Context) ([]string, error) {
		if listed.Load() {
			return []string{".", "src", "src/in", "later"}, nil
		}
		return []string{".", "src", "src/in", "gone"}, nil
	}})
	s.write("out/x")
	s.write("src/in/y")
	s.reported("src/in/y")
	if slices.Contains(s.paths, "out/x") {
		t.Error("a directory that was not listed is watched")
	}
	watching := s.w.State().Watched
	listed.Store(true)
	s.w.Relist()
	for deadline := time.After(patience); s.w.State().Watched == watching; {
		select {
		case <-deadline:
			t.Fatal("a directory that was added is not watched")
		case <-time.After(time.Millisecond):
		}
	}
	s.write("later/z")
	s.reported("later/z")
}

func TestGitIsWatched(t *testing.T) {
	root := t.TempDir()
	git := filepath.Join(root, ".git")
	for _, d := range []string{"refs/heads", "objects/ab"} {
		if err := os.MkdirAll(filepath.Join(git, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := start(t, watch.Options{Root: root, Git: []string{git}})
	quiet := func() {
		t.Helper()
		s.git = false
		s.write("marker")
		s.paths = nil
		s.reported("marker")
	}
	for _, tc := range []struct {
		name string
		act  func()
		want bool
	}{
		{"objects", func() { s.write(".git/objects/ab/cd") }, false},
		{"a message", func() { s.write(".git/COMMIT_EDITMSG") }, false},
		{"HEAD", func() {
			s.write(".git/HEAD.lock")
			s.do(os.Rename(filepath.Join(git, "HEAD.lock"), filepath.Join(git, "HEAD")))
		}, true},
		{"the index", func() { s.write(".git/index") }, true},
		{"packed refs", func() { s.write(".git/packed-refs") }, true},
		{"a branch", func() { s.write(".git/refs/heads/main") }, true},
		{"a branch in a new folder", func() { s.write(".git/refs/heads/topic/x") }, true},
		{"a lock that goes", func() {
			s.write(".git/index.lock")
			s.do(os.Remove(filepath.Join(git, "index.lock")))
		}, true},
	} {
		quiet()
		s.git = false
		tc.act()
		if tc.want {
			s.until(tc.name, func() bool { return s.git })
			continue
		}
		s.paths = nil
		s.write("marker")
		s.reported("marker")
		if s.git {
			t.Errorf("%s was reported as a move of git", tc.name)
		}
	}
	for _, p := range s.paths {
		if strings.HasPrefix(p, ".git") {
			t.Errorf("%s was reported as a source file", p)
		}
	}
}

func TestExtraTreesKeepTheirPrefix(t *testing.T) {
	fold := filepath.Join(t.TempDir(), "store")
	if err := os.MkdirAll(filepath.Join(fold, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := start(t, watch.Options{
		Root: t.TempDir(), Extra: []watch.Tree{{Dir: fold, Prefix: "fold"}},
		Prune: func(dir string) bool { return strings.HasPrefix(dir, "fold") }, // ignored, but asked for
	})
	s.do(os.WriteFile(filepath.Join(fold, "a", "m.md"), nil, 0o644))
	s.reported("fold/a/m.md")
	s.do(os.MkdirAll(filepath.Join(fold, "b/c"), 0o755))
	s.do(os.WriteFile(filepath.Join(fold, "b/c", "n.md"), nil, 0o644))
	s.reported("fold/b/c/n.md")
}

func TestAStormIsOneBatch(t *testing.T) {
	s := start(t, watch.Options{Root: t.TempDir(), Quiet: 200 * time.Millisecond})
	for i := range 500 {
		s.write(fmt.Sprintf("d%d/f%d", i%10, i))
	}
	batches := 0
	deadline := time.After(patience)
	for len(s.paths) < 510 {
		select {
		case b := <-s.out:
			s.paths = append(s.paths, b.Paths...)
			batches++
		case <-deadline:
			t.Fatalf("%d paths in %d batches", len(s.paths), batches)
		}
	}
	if batches > 10 {
		t.Errorf("a storm came in %d batches", batches)
	}
}

func TestRunNeedsARoot(t *testing.T) {
	if err := watch.New(watch.Options{Root: filepath.Join(t.TempDir(), "none")}).Run(t.Context(), nil); err == nil {
		t.Error("Run of a folder that is not there returned nil")
	}
}
