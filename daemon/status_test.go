package daemon_test

import (
	"context"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
)

// TestStatusIsCheapWhileIndexing: whoever watches an index come about asks often, and
// waits for no count: it is made beside, and the one of before is told meanwhile.
func TestStatusIsCheapWhileIndexing(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo})
	p.status() // counts
	const asked = 200
	if counted := p.d.StatusWhileIndexing(p.ctx(), p.dir, asked); counted != 0 {
		t.Errorf("%d calls counted %d times, want 0", asked, counted)
	}
	ctx, cancel := context.WithTimeout(p.ctx(), time.Minute)
	defer cancel()
	if !p.d.CountWhileIndexing(ctx, p.dir) {
		t.Error("nobody counts what is asked for")
	}

	// Opened again, they are counted anew: what tells of the first count is another.
	p.sweep(wire.Reindex{Rebuild: true})
	if !p.d.CountWhileIndexing(ctx, p.dir) {
		t.Error("nobody counts after a rebuild")
	}

	// Where nothing is indexed, counts are those of now.
	before := p.status().Memories
	p.addMemory(wire.MemoryCreate{Content: "Wombats are square."})
	p.settle()
	if now := p.status().Memories; now != before+1 {
		t.Errorf("%d memories, want %d", now, before+1)
	}
}
