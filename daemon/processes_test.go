package daemon_test

import (
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
)

// TestFewGitProcesses holds how many processes of git it takes to register and index
// a checkout, and to follow a commit. Both are of a repository that was written to a
// moment ago, of which time stamps prove nothing: what was asked then is asked once
// more when they do, at whatever point that comes on a machine that is slow. Each of
// them forks the daemon; it once took 67 and 28.
func TestFewGitProcesses(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	dir := New(t, map[string]string{"main.go": mainGo, "lib/lib.go": "package lib // grebe\n"})
	p := m.add(dir, wire.ProjectCreate{Slug: "app"})
	lib := p.described("lib/lib.go")
	p.eventually("the files are described", func() bool { return p.found("grebe", "lib/lib.go") && p.exists(lib) })
	p.settle()
	first := p.counters()["git_processes"]
	if most := int64(12 + 8); first > most {
		t.Errorf("a start takes %d processes of git, want %d at most", first, most)
	}
	before := p.read(lib)
	p.write("lib/lib.go", "// Package lib has a dunlin.\npackage lib\n")
	p.commit("Change")
	p.eventually("the commit is described", func() bool { return p.read(lib) != before })
	p.settle()
	if n, most := p.counters()["git_processes"]-first, int64(12+6); n > most {
		t.Errorf("a commit takes %d processes of git, want %d at most", n, most)
	}
}
