package daemon_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/conf"
)

// chunkFiles are a file of 400 lines without known syntax, and Go with a function
// of 300 lines.
func chunkFiles() map[string]string {
	var conf, code strings.Builder
	for i := range 400 {
		fmt.Fprintf(&conf, "setting%d is for bird number %d\n", i, i)
	}
	code.WriteString("package a\n\n// Long counts birds.\nfunc Long() {\n")
	for i := range 300 {
		fmt.Fprintf(&code, "\tprintln(%d)\n", i)
	}
	code.WriteString("}\n")
	return map[string]string{"birds.conf": conf.String(), "long.go": code.String()}
}

// configure has the daemon that starts next follow a user file.
func (m *machine) configure(text string) {
	m.t.Helper()
	path := filepath.Join(m.t.TempDir(), "config.toml")
	writeFile(m.t, path, text)
	var err error
	if m.cfg, _, err = conf.Load(path, nil, nil); err != nil {
		m.t.Fatal(err)
	}
}

// TestChunkSettingsAreFollowed changes how files are cut between two starts, for
// one project of two.
func TestChunkSettingsAreFollowed(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.add(New(t, chunkFiles()), wire.ProjectCreate{Slug: "app"})
	other := m.add(New(t, chunkFiles()), wire.ProjectCreate{Slug: "other"})
	old(t, p.dir, other.dir)
	p.sweep(wire.Reindex{})
	other.sweep(wire.Reindex{})
	first, memory := p.status().Chunks, p.read(p.described("long.go"))
	names := []string{"parses", "embeds"}
	start := func(set func()) {
		t.Helper()
		m.stop()
		set()
		m.start()
		p.settle()
		other.settle()
	}

	start(func() {})
	if got := work(map[string]int64{}, p.counters(), append(names, "files_read")...); got != "parses=0 embeds=0 files_read=0" {
		t.Errorf("a start without a change: %s", got)
	}

	start(func() { m.configure("[projects.app]\nchunk.line_size = 20\n") })
	if n := p.status().Chunks; n <= first {
		t.Errorf("%d chunks of at most 20 lines, %d of 50", n, first)
	}
	if n := other.status().Chunks; n != first {
		t.Errorf("%d chunks in the other project, want %d", n, first)
	}
	small := p.status().Chunks
	if got := work(map[string]int64{}, p.counters(), "parses"); got != "parses=2" {
		t.Errorf("other sizes for one of two projects: %s", got)
	}
	start(func() {})
	if got := work(map[string]int64{}, p.counters(), append(names, "files_read")...); got != "parses=0 embeds=0 files_read=0" || p.status().Chunks != small {
		t.Errorf("a start without a change: %s, %d chunks, want %d", got, p.status().Chunks, small)
	}

	start(func() { m.configure("[chunk]\nmax_lines = 100\n") })
	if n := p.status().Chunks; n <= first {
		t.Errorf("%d chunks where nodes have at most 100 lines, %d where they have 200", n, first)
	}
	start(func() { m.configure("[chunk]\nenabled = false\n") })
	if n := p.status().Chunks; n != 2 {
		t.Errorf("%d chunks of two whole files", n)
	}
	if !p.found("bird number 333", "birds.conf") {
		t.Error("a file that is not cut is not found by its text")
	}
	// Memory files are the same everywhere, whatever one user sets.
	if now := p.read(p.described("long.go")); now != memory {
		t.Errorf("the memory file follows the settings:\n%s", differ(memory, now))
	}
	p.sweep(wire.Reindex{Full: true})
	if now := p.read(p.described("long.go")); now != memory {
		t.Errorf("the memory file follows the settings:\n%s", differ(memory, now))
	}
	start(func() { m.configure("") })
	if n := p.status().Chunks; n != first {
		t.Errorf("%d chunks with the settings of the beginning, want %d", n, first)
	}
	if got := work(map[string]int64{}, p.counters(), names...); got != "parses=0 embeds=0" {
		t.Errorf("back to what was cut before: %s", got)
	}
}

// TestOverlapIsEmbedded changes how many lines are embedded with a chunk, and
// what stands in them.
func TestOverlapIsEmbedded(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.add(New(t, chunkFiles()), wire.ProjectCreate{Slug: "app"})
	start := func(lines int) int64 {
		t.Helper()
		m.stop()
		m.cfg.Chunk.LineOverlap = lines
		m.start()
		p.settle()
		return p.counters()["embeds"]
	}
	n := int64(strings.Count(p.dump(), "birds.conf")) // it is known
	if n == 0 {
		t.Fatal("the file is not indexed")
	}
	if got := start(10); got != 0 {
		t.Errorf("%d texts are embedded after a start", got)
	}
	without := start(0)
	if without < 5 || without > 8 { // the first chunk of 400 lines in pieces of 50 has nothing before it
		t.Errorf("%d texts are embedded anew without overlap", without)
	}
	if got := start(10); got != 0 {
		t.Errorf("%d texts are embedded that were before", got)
	}
	if got := start(3); got != without {
		t.Errorf("%d texts are embedded with less overlap, want %d", got, without)
	}

	// The last lines of one chunk are embedded with the next one too.
	birds := p.read("birds.conf")
	chunks := p.search(wire.SearchRequest{Query: "setting199", WaitForPending: true})[0].MatchedChunks
	if len(chunks) == 0 {
		t.Fatal("no chunk is found")
	}
	end := chunks[0].EndLine // its last line
	line := fmt.Sprintf("setting%d is for bird", end-1)
	before := p.counters()["embeds"] // each question is embedded too: one from here to each change
	p.write("birds.conf", strings.Replace(birds, line, strings.Replace(line, "bird", "pelican", 1), 1))
	p.eventually("the save is found", func() bool { return p.found("pelican", "birds.conf") })
	p.settle()
	after := p.counters()["embeds"]
	p.write("birds.conf", strings.Replace(birds, "setting150 is for bird", "setting150 is for cormorant", 1))
	p.eventually("the save is found", func() bool { return p.found("cormorant", "birds.conf") })
	p.settle()
	// Each changes one chunk and maybe the description; the first its neighbour too.
	if first, second := after-before, p.counters()["embeds"]-after; first != second+1 {
		t.Errorf("%d texts embedded after a change at the end of a chunk, %d after one in the middle: want one more", first, second)
	}
}
