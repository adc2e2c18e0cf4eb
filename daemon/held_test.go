package daemon_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestSyncHeldByTheVanishGuard: who asks for a sync meanwhile is told what holds it,
// by status too, and nothing about it is an unexpected failure.
func TestSyncHeldByTheVanishGuard(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo})
	remote := filepath.Join(t.TempDir(), "remote.git")
	p.git("init", "-q", "--bare", remote)
	added, err := p.d.AddRepository(p.ctx(), local(), p.slug, wire.RepositoryCreate{Remote: remote})
	if err != nil || added.Synced == nil {
		t.Fatalf("sync on = %+v, %v", added, err)
	}
	r := p.addMemory(wire.MemoryCreate{Content: "The emu is fed at nine."})
	p.committed(r.Path)
	if err := os.RemoveAll(p.file("fold")); err != nil {
		t.Fatal(err)
	}
	const guard = "the vanish guard is up: fold/ is missing"
	p.eventually("status names the guard", func() bool {
		s := p.status().Repository
		return s.Sync == "paused" && s.Reason == guard && s.Hint != ""
	})
	_, err = p.d.Sync(p.ctx(), local(), p.slug, added.Repository.ID, wire.SyncRequest{})
	if !errors.Is(err, fold.ErrUnavailable) || !strings.Contains(err.Error(), guard) || fold.Hint(err) == "" {
		t.Errorf("Sync while held = %v (hint %q), want the guard's name", err, fold.Hint(err))
	}
	if again, err := p.d.AddRepository(p.ctx(), local(), p.slug, wire.RepositoryCreate{Remote: remote}); err != nil || again.Repository.Reason != guard {
		t.Errorf("sync on while held = %q, %v, want it on and held", again.Repository.Reason, err)
	}
	if _, err := p.d.RemoveMissing(p.ctx(), local(), p.slug, wire.RemoveMissing{}); err != nil {
		t.Fatal(err)
	}
	if s := p.status().Repository; s.Sync != "on" || strings.Contains(s.Reason, guard) {
		t.Errorf("after the user said that they were to go, sync is %s: %s", s.Sync, s.Reason)
	}
	if _, err := p.d.Sync(p.ctx(), local(), p.slug, added.Repository.ID, wire.SyncRequest{}); err != nil {
		t.Errorf("Sync after it: %v", err)
	}
	log := p.log.String()
	held := `level=INFO msg="Sync held" project=` + p.slug + ` why="` + guard + `"`
	if n := strings.Count(log, held); n != 2 || !strings.Contains(log, `level=INFO msg="Sync goes on"`) {
		t.Errorf("%d lines of the log have %s, want one for each time it was turned on, and that it goes on", n, held)
	}
	for line := range strings.Lines(log) {
		if strings.Contains(line, "vanish guard") && !strings.Contains(line, "level=INFO") {
			t.Errorf("the log has %s", line)
		}
	}
}
