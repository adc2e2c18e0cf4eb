package daemon_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon"
)

// TestStatusIsCheapWhileIndexing: whoever watches an index come about asks often, and
// waits for no count: it is made beside, and the one of before is told meanwhile.
func TestStatusIsCheapWhileIndexing(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo})
	p.status() // counts
	const asked = 200
	if counted, wanted := p.d.StatusWhileIndexing(p.ctx(), p.dir, asked); counted != 0 || wanted != asked {
		t.Errorf("%d calls counted %d times, and asked for it %d times, want 0 and %d", asked, counted, wanted, asked)
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

// TestOldCountsAreWaitedFor: who looks at an index that comes about once in a while gets
// counts of now, if they are made in time, and waits no longer than a command may.
func TestOldCountsAreWaitedFor(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name        string
		age, takes  time.Duration
		most        time.Duration
		fresh, wait bool
	}{
		{"watched", 1500 * time.Millisecond, 5 * time.Millisecond, 0, false, false},
		{"looked at again after a minute", time.Minute, 5 * time.Millisecond, 5 * time.Millisecond, true, true},
		{"and to count takes long", time.Minute, time.Second, 40 * time.Millisecond, false, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			waited, fresh := daemon.LookAtCounts(t.Context(), tc.age, tc.takes)
			if waited > tc.most || fresh != tc.fresh || (waited > 0) != tc.wait {
				t.Errorf("%s: waited %s, new counts: %v; want at most %s, %v", tc.name, waited, fresh, tc.most, tc.fresh)
			}
		})
	}
}
