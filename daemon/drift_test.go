package daemon_test

import (
	"os"
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
	if len(whole.Differences) > 0 || whole.Memories == 0 || whole.Files == 0 || whole.Documents != whole.Memories+whole.Chunks || whole.Vectors != whole.Documents {
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
	if err != nil || len(d.Differences) != 1 || !strings.Contains(d.Differences[0], "not in the index: 1, first [bilby.md]") {
		t.Errorf("a file that was not read: %+v, %v", d.Differences, err)
	}
	if _, err := p.d.Resume(p.ctx(), local(), p.slug); err != nil {
		t.Fatal(err)
	}
	p.eventually("it is read", func() bool {
		d, err := p.d.Drift(p.ctx(), local(), p.slug)
		return err == nil && len(d.Differences) == 0
	})
}
