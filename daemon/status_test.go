package daemon_test

import (
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
)

// TestStatusIsCheapWhileIndexing: whoever watches an index come about asks often, and
// what that counts does not grow with how often.
func TestStatusIsCheapWhileIndexing(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo})
	began := time.Now()
	const asked = 200
	n := p.d.StatusWhileIndexing(p.ctx(), p.dir, asked)
	if most := 2 + int(time.Since(began)/time.Second); n < 0 || n > most {
		t.Errorf("%d calls counted %d times in %v, want at most %d", asked, n, time.Since(began), most)
	}

	// Where nothing is indexed, counts are those of now.
	before := p.status().Memories
	p.addMemory(wire.MemoryCreate{Content: "Wombats are square."})
	p.settle()
	if now := p.status().Memories; now != before+1 {
		t.Errorf("%d memories, want %d", now, before+1)
	}
}
