package daemon_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

// TestASaveHidesNothingThatWordsMiss: the words that a crash took, here all of
// them, come back although a pause leaves the sweep
// for later, and what is written meanwhile is indexed first.
func TestASaveHidesNothingThatWordsMiss(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo, "other.go": "package main\n\n// Bilby digs.\nfunc Bilby() {}\n"})
	p.addMemory(wire.MemoryCreate{Content: "Wombats are square."})
	p.settle()
	if !p.found("bilby", "other.go") {
		t.Fatal("not found before the crash")
	}
	if _, err := p.d.Pause(p.ctx(), local(), p.slug, wire.Pause{}); err != nil {
		t.Fatal(err)
	}
	dir := p.d.IndexDir(p.dir)
	p.stop()
	if err := os.RemoveAll(filepath.Join(dir, "text.bleve")); err != nil {
		t.Fatal(err)
	}
	p.start()
	r := p.addMemory(wire.MemoryCreate{Content: "Numbats are not."}) // indexed before anything is swept
	p.settle()
	if _, err := p.d.Resume(p.ctx(), local(), p.slug); err != nil {
		t.Fatal(err)
	}
	p.settle()
	p.stop()
	x, err := textindex.Open(filepath.Join(dir, "text.bleve"), textindex.Options{}) // without vectors, which find much of it
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for id, word := range map[string]string{p.fileID("main.go"): "quokka", p.fileID("other.go"): "bilby", r.ID: "numbats"} {
		hits, err := x.Search(p.ctx(), textindex.Query{Text: word})
		if err != nil || len(hits) == 0 || string(hits[0].Memory) != id {
			t.Errorf("%q finds %v, %v; want %s", word, hits, err, id)
		}
	}
}
