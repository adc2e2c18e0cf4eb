package daemon_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
)

// TestDriftIsFoundAndRebuilt: files, rows, words and vectors agree after an index;
// what one of them lacks is told, and a rebuild brings it.
func TestDriftIsFoundAndRebuilt(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo, "NOTES": "...\n", "empty.go": "", "a.md": "# A\n\n---\n"})
	id := p.addMemory(wire.MemoryCreate{Content: "Wombats are square."}).ID
	drift := func() wire.Drift {
		t.Helper()
		p.settle()
		p.eventually("vectors are there", func() bool {
			d, err := p.d.Drift(p.ctx(), local(), p.slug)
			if err != nil {
				t.Fatal(err)
			}
			return d.VectorsDue == 0 && d.Queued == 0
		})
		d, err := p.d.Drift(p.ctx(), local(), p.slug)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	whole := drift()
	if len(whole.Differences)+len(whole.Behind) > 0 || whole.Memories == 0 || whole.Files == 0 || whole.Documents != whole.Memories+whole.Chunks || whole.Vectors != whole.Documents {
		t.Fatalf("after an index: %+v", whole)
	}

	// Paused, since an index that is at work makes a lost vector by itself.
	if _, err := p.d.Pause(p.ctx(), local(), p.slug, wire.Pause{}); err != nil {
		t.Fatal(err)
	}
	if err := p.d.Mislay(p.ctx(), p.slug, id); err != nil {
		t.Fatal(err)
	}
	d, err := p.d.Drift(p.ctx(), local(), p.slug)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"have words", "of what has no row", "1 memories and chunks have no vector"} {
		if !strings.Contains(strings.Join(d.Differences, "\n"), want) {
			t.Errorf("differences %q, want one with %q", d.Differences, want)
		}
	}
	if _, err := p.d.Resume(p.ctx(), local(), p.slug); err != nil {
		t.Fatal(err)
	}
	if _, err := p.d.Reindex(p.ctx(), local(), p.slug, wire.Reindex{Rebuild: true}); err != nil {
		t.Fatal(err)
	}
	if d = drift(); len(d.Differences) > 0 || d.Documents != whole.Documents {
		t.Errorf("after a rebuild: %+v, was %+v", d, whole)
	}

	// Files that came and went while nobody watched.
	if _, err := p.d.Pause(p.ctx(), local(), p.slug, wire.Pause{}); err != nil {
		t.Fatal(err)
	}
	p.write("fold/bilby.md", "# Bilby\n\nDigs.\n")
	if err := os.Symlink("bilby.md", p.file("fold/link.md")); err != nil {
		t.Skip("SKIP: no links here")
	}
	d, err = p.d.Drift(p.ctx(), local(), p.slug)
	if err != nil || len(d.Behind) != 1 || !strings.Contains(d.Behind[0], `memory files not in the index: 1, first ["bilby.md"]`) {
		t.Errorf("a file that was not read: %+v, %v", d.Behind, err)
	}
	if _, err := p.d.Resume(p.ctx(), local(), p.slug); err != nil {
		t.Fatal(err)
	}
	p.eventually("it is read", func() bool {
		d, err := p.d.Drift(p.ctx(), local(), p.slug)
		return err == nil && len(d.Differences)+len(d.Behind) == 0
	})
}

// TestDriftFromTheWorkTree: what lies in the work tree and the index does not know as
// it is, is told by name, also where whoever lists the files took no notice of it.
func TestDriftFromTheWorkTree(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo, "gone.go": "package main\n", "touched.go": "package main\n", "secret.pem": "x\n", "empty.go": "", ".gitignore": "*.log\n"})
	drift := func() []string {
		t.Helper()
		d, err := p.d.Drift(p.ctx(), local(), p.slug)
		if err != nil {
			t.Fatal(err)
		}
		return d.Behind
	}
	if got := drift(); len(got) > 0 {
		t.Fatalf("after an index: %q", got)
	}
	if _, err := p.d.Pause(p.ctx(), local(), p.slug, wire.Pause{}); err != nil {
		t.Fatal(err)
	}
	p.write("a/fresh.go", "package a\n")
	p.write("ignored.log", "not indexed\n")
	p.write("main.go", mainGo+"// Changed.\n")
	p.write("touched.go", "package main\n") // as it was
	if err := os.Remove(p.file("gone.go")); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`files not in the index: 1, first ["a/fresh.go"]`,
		`files in the index, and not in the work tree: 1, first ["gone.go"]`,
		`files in the index as they were, and changed since: 1, first ["main.go"]`,
	}
	if got := drift(); !slices.Equal(got, want) {
		t.Errorf("behind: %q, want %q", got, want)
	}
	if _, err := p.d.Resume(p.ctx(), local(), p.slug); err != nil {
		t.Fatal(err)
	}
	p.sweep(wire.Reindex{})
	if got := drift(); len(got) > 0 {
		t.Errorf("after an index: %q", got)
	}
}
