package daemon_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

const poolGo = `// Package pool keeps connections.
package pool

// Size is how many there are.
const Size = 3

// Acquire takes a connection out of the pool.
func Acquire() error {
	return nil
}
`

const drainGo = `
// Drain closes every idle connection.
func Drain() {
	for range Size {
		println("closing")
	}
}
`

// editMemory rewrites a memory file as an editor does.
func (p *project) editMemory(path string, change func(string) string) {
	p.t.Helper()
	was := p.read(path)
	now := change(was)
	if now == was {
		p.t.Fatalf("the edit of %s changes nothing:\n%s", path, was)
	}
	p.write(path, now)
}

func TestAPersonsEditWins(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"pool.go": poolGo, "main.go": "package main\n\nfunc main() {}\n"})
	file, id := p.described("pool.go"), p.fileID("pool.go")
	if !strings.Contains(p.read(file), "Acquire") {
		t.Fatalf("not described:\n%s", p.read(file))
	}
	p.committed(fold.ID(id).Path())

	p.editMemory(file, func(s string) string {
		s = addTag(s, "quokka")
		return strings.Replace(s, "# ", "# ", 1) + "\n## Notes\n\nAsk Ada before changing the size.\n"
	})
	p.eventually("the edit is searchable", func() bool { return p.found("ask Ada before changing the size", "pool.go") })
	p.write("pool.go", poolGo+drainGo)
	p.commit("Add Drain")
	p.eventually("the new symbol is described", func() bool { return strings.Contains(p.read(file), "Drain") })
	p.settle()
	m := p.mustGet(id)
	for _, want := range []string{"Drain", "Acquire", "Ask Ada before changing the size."} {
		if !strings.Contains(m.Content, want) {
			t.Errorf("%q is not in the text:\n%s", want, m.Content)
		}
	}
	if !strings.Contains(strings.Join(m.Tags, " "), "quokka") {
		t.Errorf("the tag is gone: %v", m.Tags)
	}
	if blob := strings.TrimSpace(p.git("rev-parse", "HEAD:pool.go")); m.SourceBlob != blob {
		t.Errorf("source_blob %s, want %s", m.SourceBlob, blob)
	}

	// the source goes; what a person wrote is still found
	p.git("rm", "-q", "pool.go")
	p.git("commit", "-q", "-m", "Drop the pool")
	p.eventually("the memory stands by itself", func() bool { return strings.Contains(p.read(file), "moved_from: pool.go") })
	p.settle()
	m = p.mustGet(id)
	if m.Type != "general" || m.MovedFrom != "pool.go" || m.Source != "agent" {
		t.Errorf("type %s, moved_from %s, source %s", m.Type, m.MovedFrom, m.Source)
	}
	if got := p.search(wire.SearchRequest{Query: "ask Ada before changing the size", WaitForPending: true}); len(got) == 0 || got[0].ID != id {
		t.Errorf("the hand-written text is not found first: %v", got)
	}
	// a description nobody touched goes with its source
	p.git("rm", "-q", "main.go")
	p.git("commit", "-q", "-m", "Drop main")
	p.eventually("the untouched description is removed", func() bool { return !p.exists(p.described("main.go")) })
	p.eventually("it is not found any more", func() bool { _, err := p.get(p.fileID("main.go")); return errors.Is(err, fold.ErrNotFound) })
}

// addTag adds a tag to the tags of a memory file.
func addTag(s, tag string) string {
	if strings.Contains(s, "\ntags: [") {
		return strings.Replace(s, "\ntags: [", "\ntags: ["+tag+", ", 1)
	}
	return strings.Replace(s, "\nfile_path:", "\ntags: ["+tag+"]\nfile_path:", 1)
}

func TestADescriptionDeletedByHandStaysDeleted(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"pool.go": poolGo, "other.go": "package pool\n\nfunc Other() {}\n"})
	file := p.described("pool.go")
	p.committed(strings.TrimPrefix(file, "fold/"))
	if err := os.Remove(p.file(file)); err != nil {
		t.Fatal(err)
	}
	p.eventually("the deletion is in the index", func() bool {
		m, err := p.get(p.fileID("pool.go"))
		return err == nil && m.Described == "index"
	})
	p.sweep(wire.Reindex{})
	p.write("pool.go", poolGo+drainGo)
	p.commit("Add Drain")
	p.eventually("the change is searchable", func() bool { return p.found("Drain idle", "pool.go") })
	p.settle()
	p.restart()
	p.settle()
	if p.exists(file) {
		t.Fatal("the description was made again")
	}
	p.sweep(wire.Reindex{Full: true})
	if !p.exists(file) {
		t.Fatal("index --full did not make it again")
	}
	if !strings.Contains(p.read(file), "Drain") {
		t.Errorf("it describes an old version:\n%s", p.read(file))
	}
}

func TestARenameCarriesWordsAndLinks(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"pool.go": poolGo, "main.go": "package main\n\nfunc main() {}\n"})
	file := p.described("pool.go")
	decision := p.addMemory(wire.MemoryCreate{Title: "Pool size", Content: "Three, because the bank allows three.", Links: []wire.NewLink{{Target: p.fileID("pool.go"), Type: "modifies"}}})
	if _, err := p.d.AddLink(p.ctx(), local(), p.slug, p.fileID("pool.go"), wire.LinkCreate{TargetID: p.fileID("main.go"), Type: "depends_on"}); err != nil {
		t.Fatal(err)
	}
	p.editMemory(file, func(s string) string { return strings.Replace(s, "\n## ", "\nAsk Ada first.\n\n## ", 1) })
	note := "See [[" + strings.TrimSuffix(strings.TrimPrefix(file, "fold/"), ".md") + "|the pool]].\n"
	p.write("fold/note.md", note)
	p.eventually("the edit is searchable", func() bool { return p.found("ask Ada first", "pool.go") })
	p.eventually("the note links", func() bool { return len(p.mustGet(p.fileID("pool.go")).Backlinks) >= 2 })
	p.git("mv", "pool.go", "conns.go")
	p.git("commit", "-q", "-m", "Rename")
	moved := p.described("conns.go")
	p.eventually("the memory has moved", func() bool { return p.exists(moved) && !p.exists(file) })
	p.settle()
	m := p.mustGet(p.fileID("conns.go"))
	if !strings.Contains(m.Content, "Ask Ada first.") || m.FilePath != "conns.go" || m.MovedFrom != "pool.go" {
		t.Errorf("file_path %s, moved_from %s:\n%s", m.FilePath, m.MovedFrom, m.Content)
	}
	out, in := map[string]string{}, map[string]string{}
	for _, l := range m.Links {
		out[l.TargetID] = l.Type
	}
	for _, l := range m.Backlinks {
		in[l.SourceID] = l.Type
	}
	if out[p.fileID("main.go")] != "depends_on" {
		t.Errorf("its own link was not carried: %v", out)
	}
	if in[decision.ID] != "modifies" {
		t.Errorf("the link of the decision does not follow: %v", in)
	}
	if now := p.read("fold/note.md"); now != note {
		t.Errorf("a note made by a person was rewritten:\n%s", now)
	}
}

// TestReplicasAtDifferentTips shows that two machines ten commits apart never
// rewrite or delete what the other made.
func TestReplicasAtDifferentTips(t *testing.T) {
	t.Parallel()
	origin := New(t, map[string]string{"a.go": poolGo, "b.go": "package pool\n\n// Old goes away.\nfunc Old() {}\n", "c.go": "package pool\n\nfunc C() {}\n"})
	behindDir, aheadDir := filepath.Join(realDir(t), "app"), filepath.Join(realDir(t), "app")
	git(t, origin, "clone", "-q", origin, behindDir)
	git(t, origin, "clone", "-q", origin, aheadDir)
	for i := range 10 {
		name := string(rune('d'+i)) + ".go"
		writeFile(t, filepath.Join(aheadDir, name), "package pool\n\n// New"+strings.ToUpper(name[:1])+" is new.\nfunc New"+strings.ToUpper(name[:1])+"() {}\n")
		if i == 4 {
			git(t, aheadDir, "rm", "-q", "b.go")
			writeFile(t, filepath.Join(aheadDir, "a.go"), poolGo+drainGo)
		}
		git(t, aheadDir, "add", "-A")
		git(t, aheadDir, "commit", "-q", "-m", "Change "+name)
	}
	behind := newMachine(t).add(behindDir, wire.ProjectCreate{Slug: "app"})
	ahead := newMachine(t).add(aheadDir, wire.ProjectCreate{Slug: "app"})
	own := behind.addMemory(wire.MemoryCreate{Title: "From behind", Content: "Written ten commits behind."})
	other := ahead.addMemory(wire.MemoryCreate{Title: "From ahead", Content: "Written ten commits ahead."})

	// what a sync would do: the union of the files; the newer description of a.go
	exchange(t, ahead, behind)
	exchange(t, behind, ahead)
	behind.sweep(wire.Reindex{})
	ahead.sweep(wire.Reindex{})
	for _, p := range []*project{behind, ahead} {
		if _, err := p.get(own.ID); err != nil {
			t.Errorf("%v", err)
		}
		if _, err := p.get(other.ID); err != nil {
			t.Errorf("%v", err)
		}
	}
	before := map[*project]string{behind: tree(t, behind.file("fold")), ahead: tree(t, ahead.file("fold"))}
	for _, p := range []*project{behind, ahead} {
		p.restart()
		p.settle()
		p.sweep(wire.Reindex{})
		p.settle()
		if now := tree(t, p.file("fold")); now != before[p] {
			t.Errorf("a replica rewrote files:\n%s", differ(before[p], now))
		}
	}
	if !strings.Contains(behind.read(behind.described("a.go")), "Drain") {
		t.Error("the replica behind took the newer description back")
	}
	if !behind.exists(behind.described("m.go")) {
		t.Error("the replica behind deleted what it does not know")
	}
	// behind makes a commit of its own, elsewhere: still nothing of the other's is touched
	behind.write("z.go", "package pool\n\nfunc Z() {}\n")
	behind.commit("Add Z")
	behind.eventually("z.go is described", func() bool { return behind.exists(behind.described("z.go")) })
	behind.settle()
	if !strings.Contains(behind.read(behind.described("a.go")), "Drain") || !behind.exists(behind.described("m.go")) {
		t.Error("a commit elsewhere touched the other's memories")
	}
	// and when it catches up, it takes what is there as it is
	behind.git("pull", "-q", "--no-rebase", "--no-edit", aheadDir, "main")
	behind.eventually("b.go has left the index", func() bool { _, err := behind.get(behind.fileID("b.go")); return err != nil })
	behind.settle()
	if got, want := behind.read(behind.described("a.go")), ahead.read(ahead.described("a.go")); got != want {
		t.Errorf("the same blob is described differently:\n%s\nwant:\n%s", got, want)
	}
}

// exchange copies the memory files that to does not have or has older, and
// nothing else.
func exchange(t *testing.T, from, to *project) {
	t.Helper()
	err := filepath.WalkDir(from.file("fold"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		rel, err := filepath.Rel(from.dir, path)
		if err != nil {
			return err
		}
		text := readFile(t, path)
		if !to.exists(rel) || strings.Contains(text, "Drain") {
			to.write(rel, text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
