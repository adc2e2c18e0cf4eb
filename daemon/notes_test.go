package daemon_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// within returns how long it took until ok was true.
func (p *project) within(what string, ok func() bool) time.Duration {
	p.t.Helper()
	start := time.Now()
	p.eventually(what, ok)
	return time.Since(start)
}

func (p *project) rename(from, to string) {
	p.t.Helper()
	if err := os.MkdirAll(p.file(to[:strings.LastIndexByte(to, '/')]), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Rename(p.file(from), p.file(to)); err != nil {
		p.t.Fatal(err)
	}
}

// linksTo reports whether the first memory has a link of that type to the second.
func (p *project) linksTo(from, to, kind string) bool {
	p.t.Helper()
	list, err := p.d.Links(p.ctx(), local(), p.slug, from)
	if err != nil {
		return false
	}
	for _, l := range list.Items {
		if l.Direction == "out" && l.TargetID == to && l.Type == kind {
			return true
		}
	}
	return false
}

func TestNotesMadeByPeople(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": "package main\n\nfunc main() {}\n"})
	const brew = "Use the zanzibar roast, twelve hours in the fridge.\n\n- water\n- patience\n"
	const shop = "# Shopping\n\nFor [[Cold brew]]: oat milk. Later: [[Bread]]."
	const shopRenamed = "# Shopping\n\nFor [[Slow coffee|Cold brew]]: oat milk. Later: [[Bread]]."
	note := func(path string) string { return string(fold.NoteID(p.slug, path)) }

	// no frontmatter, in a folder, linked by title, and to what is not there yet
	p.write("fold/Ideas/Cold brew.md", brew)
	took := p.within("the note is found", func() bool { return p.found("zanzibar roast", "Cold brew") })
	p.write("fold/Shopping.md", shop)
	took = min(took, p.within("the second note is found", func() bool { return p.found("oat milk", "Shopping") }))
	p.eventually("[[Cold brew]] leads to the note", func() bool {
		return p.linksTo(note("Shopping.md"), note("Ideas/Cold brew.md"), "references")
	})
	p.write("fold/Bread.md", "Rye, from the mill.\n")
	took = min(took, p.within("the third note is found", func() bool { return p.found("rye mill", "Bread") }))
	if took > time.Second {
		t.Errorf("the fastest of three notes was found after %v, want at most 1 s", took)
	}
	p.eventually("[[Bread]] leads to the note made later", func() bool { return p.linksTo(note("Shopping.md"), note("Bread.md"), "references") })
	p.committed("Shopping.md")
	p.committed("Ideas/Cold brew.md")

	// renamed, as Obsidian does it: the file and the links to it
	p.rename("fold/Ideas/Cold brew.md", "fold/Ideas/Slow coffee.md")
	p.write("fold/Shopping.md", shopRenamed)
	p.eventually("the new name is found", func() bool { return p.found("zanzibar roast", "Slow coffee") })
	p.eventually("the old name is gone", func() bool { return !p.found("zanzibar roast", "Cold brew") })
	p.eventually("the link follows", func() bool {
		return p.linksTo(note("Shopping.md"), note("Ideas/Slow coffee.md"), "references")
	})
	p.committed("Ideas/Slow coffee.md")

	// moved to a folder that did not exist
	p.rename("fold/Ideas/Slow coffee.md", "fold/Archive/2026/Slow coffee.md")
	p.eventually("it is found at its new place", func() bool { return p.found("zanzibar roast", "Archive/2026/Slow coffee.md") })
	p.eventually("the link by name follows by itself", func() bool {
		return p.linksTo(note("Shopping.md"), note("Archive/2026/Slow coffee.md"), "references")
	})
	p.committed("Archive/2026/Slow coffee.md")
	if m := p.mustGet(note("Archive/2026/Slow coffee.md")); !m.Note || m.Type != "general" || m.Source != "agent" {
		t.Errorf("note %v, type %s, source %s", m.Note, m.Type, m.Source)
	}
	for path, want := range map[string]string{"fold/Archive/2026/Slow coffee.md": brew, "fold/Shopping.md": shopRenamed, "fold/Bread.md": "Rye, from the mill.\n"} {
		if got := p.read(path); got != want {
			t.Errorf("%s was rewritten:\n%s", path, got)
		}
	}
	p.settle()
	before := p.dump()
	index := p.d.IndexDir(p.dir)
	p.stop()
	if err := os.RemoveAll(index); err != nil {
		t.Fatal(err)
	}
	p.start()
	p.settle()
	if after := p.dump(); after != before {
		t.Errorf("the index differs after it was deleted:\n%s", differ(before, after))
	}
}

func TestAdoptingANote(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": "package main\n\nfunc main() {}\n"})
	p.write("fold/Ideas/Cold brew.md", "---\nmood: calm # stays\n---\nUse the zanzibar roast.\n")
	p.write("fold/Shopping.md", "# Shopping\n\nFor [[Ideas/Cold brew]] and [[Cold brew|it]]: oat milk.\n")
	p.eventually("the note is found", func() bool { return p.found("zanzibar roast", "Cold brew") })
	p.eventually("the other is found", func() bool { return p.found("oat milk", "Shopping") })
	old := string(fold.NoteID(p.slug, "Ideas/Cold brew.md"))
	done, err := p.d.Adopt(p.ctx(), local(), p.slug, wire.Adopt{IDs: []string{old}})
	if err != nil {
		t.Fatal(err)
	}
	if len(done.Moved) != 1 || done.Moved[0].From != "Ideas/Cold brew.md" {
		t.Fatalf("moved %v", done.Moved)
	}
	id := done.Moved[0].NewID
	m := p.mustGet(id)
	if m.Title != "Cold brew" || m.Note || !strings.Contains(m.Content, "zanzibar") {
		t.Errorf("title %q, note %v:\n%s", m.Title, m.Note, m.Content)
	}
	if text := p.read("fold/" + done.Moved[0].To); !strings.Contains(text, "mood: calm # stays\n") {
		t.Errorf("an unknown key was lost:\n%s", text)
	}
	if p.exists("fold/Ideas/Cold brew.md") {
		t.Error("the note is still at its old place")
	}
	shopping := string(fold.NoteID(p.slug, "Shopping.md"))
	p.eventually("the links follow", func() bool { return p.linksTo(shopping, id, "references") })
	p.eventually("the old id is gone", func() bool { return !p.linksTo(shopping, old, "references") })
	p.restart()
	p.settle()
	if !p.linksTo(shopping, id, "references") || p.mustGet(id).Title != "Cold brew" {
		t.Error("title or link is lost after a restart")
	}
	again, err := p.d.Adopt(p.ctx(), local(), p.slug, wire.Adopt{All: true})
	if err != nil || len(again.Moved) != 1 || again.Moved[0].From != "Shopping.md" {
		t.Errorf("adopt all: %v, %v", again.Moved, err)
	}
	p.settle()
	if got := p.mustGet(again.Moved[0].NewID); got.Title != "Shopping" {
		t.Errorf("title %q", got.Title)
	}
}
