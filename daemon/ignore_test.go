package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
)

func TestIgnoreFilesAreFollowedAtOnce(t *testing.T) {
	t.Parallel()
	p := newLocalProject(t, map[string]string{
		"main.go":           mainGo,
		"docs/cormorant.md": "# Cormorant\n\nThe cormorant dives.\n",
		"docs/in/heron.md":  "# Heron\n\nThe heron waits.\n",
		"docs/in/ibis.md":   "# Ibis\n\nThe ibis probes.\n",
	})
	in := func(cormorant, heron, ibis bool) {
		t.Helper()
		p.eventually(fmt.Sprintf("cormorant %v, heron %v, ibis %v", cormorant, heron, ibis), func() bool {
			return p.found("cormorant dives", "docs/cormorant.md") == cormorant && p.found("heron waits", "docs/in/heron.md") == heron &&
				p.found("ibis probes", "docs/in/ibis.md") == ibis
		})
	}
	in(true, true, true)
	p.watches()
	all := p.d.WatchState(p.slug).Watched
	p.write(".foldwatchignore", "docs/in/\n")
	in(true, false, false)
	p.eventually("the folder is not watched", func() bool { return p.d.WatchState(p.slug).Watched == all-1 })
	if n := strings.Join(p.status().Notices, "\n"); !strings.Contains(n, "all in docs/in") {
		t.Errorf("notices = %q", n)
	}
	p.write(".foldwatchignore", "*.md\n!heron.md\n")
	in(false, true, false)
	p.write("docs/in/heron.md", "# Heron\n\nThe heron stalks.\n") // its folder is watched again
	p.eventually("a save in it is seen", func() bool { return p.found("heron stalks", "docs/in/heron.md") })
	p.write("docs/in/.foldwatchignore", "heron.md\n!ibis.md\n")
	in(false, false, true)
	p.write(".foldwatchignore", "")
	in(true, false, true)
	if err := os.Remove(p.file("docs/in/.foldwatchignore")); err != nil {
		t.Fatal(err)
	}
	p.eventually("the heron is back", func() bool { return p.found("heron stalks", "docs/in/heron.md") })

	// Git's own rules count for what is not tracked.
	p.write("notes/avocet.md", "# Avocet\n\nThe avocet sweeps.\n")
	p.eventually("an untracked file is found", func() bool { return p.found("avocet sweeps", "notes/avocet.md") })
	p.write(".gitignore", "notes/\n")
	p.eventually("it is ignored", func() bool { return !p.found("avocet sweeps", "notes/avocet.md") })
	p.write(".gitignore", "")
	p.eventually("it is not", func() bool { return p.found("avocet sweeps", "notes/avocet.md") })
	p.write(".git/info/exclude", "notes/\n")
	p.eventually("it is excluded", func() bool { return !p.found("avocet sweeps", "notes/avocet.md") })
	p.write(".git/info/exclude", "")
	p.eventually("it is not excluded", func() bool { return p.found("avocet sweeps", "notes/avocet.md") })

	// And the project file's.
	toml := p.read("fold/project.toml")
	p.write("fold/project.toml", strings.Replace(toml, "exclude = []", `exclude = ["notes/**"]`, 1))
	p.eventually("it is excluded by the project", func() bool { return !p.found("avocet sweeps", "notes/avocet.md") })
	p.write("fold/project.toml", toml)
	p.eventually("it is not", func() bool { return p.found("avocet sweeps", "notes/avocet.md") })
	p.write("notes/avocet.md", "# Avocet\n\nThe avocet scythes.\n")
	p.eventually("a save is seen", func() bool { return p.found("avocet scythes", "notes/avocet.md") })
}

// TestVendoredAndIgnoredTreesAreNeitherWalkedNorWatched counts watches and stats.
func TestVendoredAndIgnoredTreesAreNeitherWalkedNorWatched(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	dir := New(t, map[string]string{"main.go": mainGo, "src/a.go": "package src\n", ".gitignore": "/target/\n/later/\n", "vendor/x/x.go": "package x\n"})
	tree := func(at string, modules int) { // of five directories each
		for i := range modules {
			for _, sub := range []string{"", "lib", "lib/in", "test", "dist"} {
				if err := os.MkdirAll(filepath.Join(dir, at, fmt.Sprint("m", i), sub), 0o755); err != nil {
					t.Fatal(err)
				}
			}
		}
		writeFile(t, filepath.Join(dir, at, "m1/lib/index.js"), "module.exports = 1\n")
	}
	tree("node_modules", 1000)
	tree("target", 200)
	p := m.add(dir, wire.ProjectCreate{Slug: "app"})
	p.watches()
	want := p.d.WatchState(p.slug).Watched
	if want > 40 { // the root, src, what git keeps and the folders of fold/
		t.Errorf("%d directories are watched", want)
	}
	before := p.counters()
	tree("later", 200) // comes up while it is watched
	tree("src/node_modules", 200)
	writeFile(t, filepath.Join(dir, "later/m1/lib/index.js"), "module.exports = 2\n")
	p.write("src/marker.go", "package src // gannet\n")
	p.eventually("a save is found", func() bool { return p.found("gannet", "src/marker.go") })
	p.settle()
	after := p.counters()
	if n := after["files_read"] - before["files_read"]; n > 3 {
		t.Errorf("%d files were read", n)
	}
	if n := after["stats"] - before["stats"]; n > 20 {
		t.Errorf("%d files were looked at", n)
	}
	if got := p.d.WatchState(p.slug).Watched; got > want+4 { // the marker's description may have come with its folders
		t.Errorf("%d directories are watched, before %d", got, want)
	}
	for _, name := range []string{"vendor/x/x.go", "node_modules/m1/lib/index.js", "later/m1/lib/index.js"} {
		if _, err := p.get(p.fileID(name)); err == nil {
			t.Errorf("%s is indexed", name)
		}
	}
}

// TestRepositoriesInsideAreSkipped: submodules, nested repositories and linked
// worktrees are checkouts of their own.
func TestRepositoriesInsideAreSkipped(t *testing.T) {
	t.Parallel()
	other := New(t, map[string]string{"lib.go": "package lib // grebe\n"})
	m := newMachine(t)
	dir := New(t, map[string]string{"main.go": mainGo})
	git(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other, "sub")
	git(t, dir, "commit", "-q", "-m", "Add a submodule")
	git(t, dir, "worktree", "add", "-q", "wt", "-b", "topic")
	git(t, dir, "init", "-q", "nested")
	writeFile(t, filepath.Join(dir, "nested/n.go"), "package n // dunlin\n")
	if err := os.Symlink("/etc", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	p := m.add(dir, wire.ProjectCreate{Slug: "app"})
	p.watches()
	// while it is watched, too
	p.git("worktree", "add", "-q", "wt2", "-b", "topic2")
	p.git("clone", "-q", other, "cloned")
	p.git("init", "-q", "late")
	p.write("late/l.go", "package late // plover\n")
	p.write("became/b.go", "package became // sanderling\n")
	p.eventually("a folder is found", func() bool { return p.found("sanderling", "became/b.go") })
	p.git("init", "-q", "became")
	p.git("-C", "became", "commit", "-q", "--allow-empty", "-m", "Begin")
	p.eventually("a folder that became a repository leaves", func() bool { return !p.found("sanderling", "became/b.go") })
	p.write("nested/n2.go", "package n // knot\n")
	p.write("wt/w.go", "package w // turnstone\n")
	p.write("marker.go", "package main // whimbrel\n")
	p.eventually("a save is found", func() bool { return p.found("whimbrel", "marker.go") })
	p.sweep(wire.Reindex{})
	for query, name := range map[string]string{
		"grebe": "sub/lib.go", "plover": "late/l.go", "dunlin": "nested/n.go", "knot": "nested/n2.go", "turnstone": "wt/w.go",
	} {
		if p.found(query, name) {
			t.Errorf("%s is indexed", name)
		}
	}
	for _, name := range []string{"cloned/lib.go", "wt/main.go", "wt2/main.go", "link/passwd"} {
		if _, err := p.get(p.fileID(name)); err == nil {
			t.Errorf("%s is indexed", name)
		}
	}
}

// TestSparseCheckouts: what git left out of the work tree is not there, and a
// file that git was told not to look at is looked at by us.
func TestSparseCheckouts(t *testing.T) {
	t.Parallel()
	p := newLocalProject(t, map[string]string{"main.go": mainGo, "near/a.go": "package near // siskin\n", "far/b.go": "package far // crossbill\n"})
	p.git("sparse-checkout", "set", "--cone", "near")
	p.eventually("what is not in the work tree leaves", func() bool {
		return !p.found("crossbill", "far/b.go") && p.found("siskin", "near/a.go")
	})
	if n := p.status().Files.Failed; n != 0 {
		t.Errorf("%d files failed", n)
	}
	p.git("sparse-checkout", "disable")
	p.eventually("it is back", func() bool { return p.found("crossbill", "far/b.go") })
	p.git("update-index", "--skip-worktree", "near/a.go")
	p.write("near/a.go", "package near // redpoll\n")
	p.eventually("a file that git does not look at is found", func() bool { return p.found("redpoll", "near/a.go") })
}

// newLocalProject is newProject with descriptions in the index only, so that what
// is found of a file is what is indexed of it.
func newLocalProject(t *testing.T, files map[string]string) *project {
	t.Helper()
	m := newMachine(t)
	return m.add(New(t, files), wire.ProjectCreate{Slug: "app", FileMemories: "local"})
}

// watches waits until the watcher stands and all was looked at once more.
func (p *project) watches() {
	p.t.Helper()
	last, since := -1, time.Now()
	p.eventually("it is watched", func() bool {
		if n := p.d.WatchState(p.slug).Watched; n != last {
			last, since = n, time.Now()
		}
		return last > 0 && time.Since(since) > time.Second
	})
	p.settle()
}
