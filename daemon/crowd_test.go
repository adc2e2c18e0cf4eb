package daemon_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon"
)

// TestWritesBesideACrowdAreIndexedTogether: not at once, and then all of them.
func TestWritesBesideACrowdAreIndexedTogether(t *testing.T) {
	t.Parallel()
	p := newProject(t, nil)
	leave := p.d.Crowd()
	began := time.Now()
	for i := range 3 {
		p.addMemory(wire.MemoryCreate{Title: fmt.Sprintf("Harbour %d", i), Content: fmt.Sprintf("The ferry to pier %d leaves at six.", i)})
	}
	p.settle()
	if took := time.Since(began); took < daemon.GatherWrites {
		t.Errorf("searchable after %v, though beside a crowd writes are gathered for %v", took, daemon.GatherWrites)
	}
	leave()
	for i := range 3 {
		if !p.found(fmt.Sprintf("ferry pier %d", i), fmt.Sprintf("Harbour %d", i)) {
			t.Errorf("memory %d is not found", i)
		}
	}
}
