package daemon_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/conf"
)

// tip is the newest commit of the journal, "" for none.
func (p *project) tip() string {
	p.t.Helper()
	if c := p.status().LastCommit; c != nil {
		return c.Rev
	}
	return ""
}

// TestNothingIsCommittedDuringAPause: also not by a start, which describes, nor
// by what writes many files.
func TestNothingIsCommittedDuringAPause(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo})
	p.committed("project.toml")
	if _, err := p.d.Pause(p.ctx(), local(), p.slug, wire.Pause{}); err != nil {
		t.Fatal(err)
	}
	tip := p.tip()
	p.write("late.go", "package main\n\n// Numbat digs.\nfunc Numbat() {}\n")
	p.commit("Late")
	r := p.addMemory(wire.MemoryCreate{Title: "Written", Content: "Written during the pause."})
	p.restart()
	p.settle()
	_, err := p.d.Upload(p.ctx(), local(), p.slug, wire.FilesUpload{Files: []wire.UploadFile{{Path: "a.md", Content: "# Uploaded\n\nDuring the pause."}}})
	if err != nil {
		t.Fatal(err)
	}
	p.settle()
	if p.tip() != tip || p.exists(p.described("late.go")) {
		t.Error("described or committed during the pause")
	}
	if !p.found("written during the pause", "Written") || !p.found("quokka smiles", "main.go") {
		t.Error("what was written or indexed before is not found in the pause")
	}
	if _, err := p.d.Resume(p.ctx(), local(), p.slug); err != nil {
		t.Fatal(err)
	}
	p.committed(r.Path)
	p.eventually("it is described", func() bool { return p.exists(p.described("late.go")) })
}

func TestNoCommitsWithoutAutoCommit(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.cfg = conf.Default()
	m.cfg.AutoCommit = false
	m.restart()
	p := m.add(New(t, map[string]string{"main.go": mainGo}), wire.ProjectCreate{Slug: "app"})
	if !p.exists(p.described("main.go")) {
		t.Error("not described")
	}
	p.sweep(wire.Reindex{})
	if tip := p.tip(); tip != "" {
		t.Errorf("committed %s with auto_commit off", tip)
	}
}

// TestAFreshFolderIsNotAFullScan: most ids are the first in their a/b folder.
func TestAFreshFolderIsNotAFullScan(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo})
	p.committed("project.toml")
	p.eventually("the scan at start is done", func() bool { return p.counters()["fold_scans"] > 0 })
	// The watcher asks for one more scan when it stands. After that, none: a
	// defect would cause some in every round.
	round := 0
	p.eventually("five memories and a note cause no full scan", func() bool {
		round++
		before := p.counters()["fold_scans"]
		for i := range 5 {
			p.committed(p.addMemory(wire.MemoryCreate{Content: fmt.Sprintf("Number %d of round %d.", i, round)}).Path)
		}
		note := fmt.Sprintf("notes/deep%d/hand.md", round)
		p.write("fold/"+note, "# By hand\n\nIn a folder that is new.\n")
		p.committed(note)
		return p.counters()["fold_scans"] == before
	})
	before := p.counters()["fold_scans"]
	if err := os.RemoveAll(p.file("fold/notes")); err != nil {
		t.Fatal(err)
	}
	p.eventually("a folder that went is noticed", func() bool { return p.counters()["fold_scans"] > before })
}
