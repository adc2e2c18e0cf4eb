package daemon_test

import (
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
)

// TestFadedMemoriesAreArchivedDaily shows that with decay_archive = "daily" what
// has faded goes by itself, as a commit that can be taken back, and what is pinned
// stays.
func TestFadedMemoriesAreArchivedDaily(t *testing.T) {
	t.Parallel()
	m := newMachineWith(t, t.TempDir(), func(m *machine) { m.cfg.DecayArchive = "daily" })
	p := m.add(New(t, nil), wire.ProjectCreate{Slug: "app"})
	old, err := p.d.AddMemory(p.ctx(), local(), p.slug, wire.MemoryCreate{Content: "The ferry leaves at six."})
	if err != nil {
		t.Fatal(err)
	}
	pinned, err := p.d.AddMemory(p.ctx(), local(), p.slug, wire.MemoryCreate{Content: "The harbour freezes in March.", Pinned: true})
	if err != nil {
		t.Fatal(err)
	}
	p.committed(old.Path)
	m.stop()
	m.clock.forward(400 * 24 * time.Hour)
	m.start()
	p.d = m.d
	var rev string
	p.eventually("the faded memory is archived", func() bool {
		log, err := p.d.Log(p.ctx(), local(), p.slug, "", 1)
		if err != nil || len(log.Items) == 0 || !strings.Contains(log.Items[0].Message, "Archive") {
			return false
		}
		rev = log.Items[0].Rev
		return true
	})
	p.eventually("it is no longer found", func() bool {
		_, err := p.d.GetMemory(p.ctx(), local(), p.slug, old.ID)
		return err != nil
	})
	if _, err := p.d.GetMemory(p.ctx(), local(), p.slug, pinned.ID); err != nil {
		t.Errorf("the pinned memory: %v", err)
	}
	if _, err := p.d.Undo(p.ctx(), local(), p.slug, wire.Undo{Rev: rev}); err != nil {
		t.Fatal(err)
	}
	p.eventually("it is back, and has not faded any more", func() bool {
		list, err := p.d.Search(p.ctx(), local(), p.slug, wire.SearchRequest{Query: "ferry six"})
		return err == nil && len(list.Results) > 0 && list.Results[0].ID == old.ID && list.Results[0].Strength > 0.9
	})
}
