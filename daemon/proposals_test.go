package daemon_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

const (
	saidShort = "Sessions are kept in Redis and expire after 30 minutes without use; the login service renews them. " +
		"Tokens of machines live in Postgres for a year, and the gateway refuses those that were revoked by an administrator."
	saidLong = "Sessions are kept in Redis, and they expire after 30 minutes without use: the login service will renew them. " +
		"Tokens of machines live in Postgres for a year, and the gateway will refuse those that were revoked by an administrator.\n\n- seen: staging"
)

// proposed waits until n proposals are open, and returns them.
func (p *project) proposed(n int) []wire.Proposal {
	p.t.Helper()
	var list wire.ProposalList
	p.eventually("what is proposed", func() bool {
		var err error
		list, err = p.d.Proposals(p.ctx(), local(), p.slug, wire.ProposalQuery{})
		return err == nil && list.Open == n && len(list.Items) == n && (n == 0 || !list.Items[0].Stale)
	})
	return list.Items
}

// TestNearDuplicatesAreMergedWhenAccepted: what two memories say is proposed to become
// one, which happens when somebody accepts it, and is taken back by an undo. What was
// decided is not proposed again.
func TestNearDuplicatesAreMergedWhenAccepted(t *testing.T) {
	t.Parallel()
	p := newProject(t, nil)
	ctx := p.ctx()
	short := p.addMemory(wire.MemoryCreate{Content: saidShort, Title: "Session storage", Type: "decision", Tags: []string{"auth"}})
	long := p.addMemory(wire.MemoryCreate{Content: saidLong, Title: "Session storage", Type: "decision"})
	other := p.addMemory(wire.MemoryCreate{Content: "Whoever logs in three times in vain has to wait.", Links: []wire.NewLink{{Target: short.ID}}})
	one := p.proposed(1)[0]
	if one.Kind != "merge" || one.Memories[0].ID != long.ID || one.Memories[1].ID != short.ID || one.Memories[1].Role != "superseded" || one.Does == "" {
		t.Fatalf("proposed: %+v", one)
	}
	full, err := p.d.Proposal(ctx, local(), p.slug, one.ID[:6])
	if err != nil || !strings.Contains(full.Diff, "+supersedes: [\""+short.ID+"\"]") || !strings.Contains(full.Diff, "deleted file") {
		t.Fatalf("Proposal = %+v, %v", full, err)
	}

	// What changed since cannot be accepted, and is proposed anew as it is now.
	if _, err := p.d.UpdateMemory(ctx, local(), p.slug, long.ID, wire.MemoryUpdate{Replace: &wire.Replace{Old: "staging", New: "production"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.d.AcceptProposal(ctx, local(), p.slug, one.ID); !errors.Is(err, fold.ErrConflict) && !errors.Is(err, fold.ErrNotFound) {
		t.Errorf("accepted although it changed: %v", err)
	}
	p.eventually("it is proposed anew", func() bool {
		now, err := p.d.Proposal(ctx, local(), p.slug, one.ID)
		return err == nil && !now.Stale && strings.Contains(now.Diff, "production")
	})

	done, err := p.d.AcceptProposal(ctx, local(), p.slug, one.ID)
	if err != nil || done.ID != long.ID || done.Superseded != short.ID || done.Rev == "" || !done.Durable || done.Proposal.State != "accepted" {
		t.Fatalf("AcceptProposal = %+v, %v", done, err)
	}
	again, err := p.d.AcceptProposal(ctx, local(), p.slug, one.ID)
	if err != nil || again.ID != long.ID || again.ContentHash != done.ContentHash || again.Rev != "" {
		t.Errorf("accepted again: %+v, %v", again, err)
	}
	if _, err := p.d.RejectProposal(ctx, local(), p.slug, one.ID); !errors.Is(err, fold.ErrConflict) {
		t.Errorf("rejected after that: %v", err)
	}
	p.eventually("whoever asks for the one that is gone gets the other", func() bool {
		m, err := p.d.GetMemory(ctx, local(), p.slug, short.ID)
		return err == nil && m.ID == long.ID && strings.Contains(m.Content, saidShort)
	})
	if m, err := p.d.GetMemory(ctx, local(), p.slug, other.ID); err != nil || len(m.Links) != 1 || m.Links[0].TargetID != long.ID {
		t.Errorf("what linked to it: %+v, %v", m.Links, err)
	}

	if _, err := p.d.Undo(ctx, local(), p.slug, wire.Undo{Rev: done.Rev}); err != nil {
		t.Fatal(err)
	}
	if m, err := p.d.GetMemory(ctx, local(), p.slug, short.ID); err != nil || m.ID != short.ID || strings.TrimSpace(m.Content) != "# Session storage\n\n"+saidShort {
		t.Errorf("after the undo: %+v, %v", m, err)
	}
	p.addMemory(wire.MemoryCreate{Content: saidLong + "\n- and: tests", Title: "Session storage", Type: "decision"})
	for _, next := range p.proposed(2) { // each with the third; those two were decided about
		if next.ID == one.ID {
			t.Error("what was taken back is proposed again")
		}
		if r, err := p.d.RejectProposal(ctx, local(), p.slug, next.ID); err != nil || r.State != "rejected" || r.DecidedAt == nil {
			t.Errorf("RejectProposal = %+v, %v", r, err)
		}
	}
	if list, err := p.d.Proposals(ctx, local(), p.slug, wire.ProposalQuery{State: "all", Limit: 1}); err != nil || len(list.Items) != 1 || list.NextCursor == "" || list.Open != 0 {
		t.Errorf("of all: %+v, %v", list, err)
	}
}

// TestProposalsAreAcceptedByThemselvesWhereTheUserWants: evolve = "auto" merges as a
// commit of its own, which an undo takes back for good.
func TestProposalsAreAcceptedByThemselvesWhereTheUserWants(t *testing.T) {
	t.Parallel()
	m := newMachineWith(t, t.TempDir(), func(m *machine) { m.cfg.Evolve = "auto" })
	p := m.add(New(t, nil), wire.ProjectCreate{Slug: "app"})
	ctx := p.ctx()
	short := p.addMemory(wire.MemoryCreate{Content: saidShort, Title: "Session storage", Type: "decision"})
	p.addMemory(wire.MemoryCreate{Content: saidLong, Title: "Session storage", Type: "decision"})
	var rev string
	p.eventually("they are merged", func() bool {
		log, err := p.d.Log(ctx, local(), p.slug, "", 1)
		if err != nil || len(log.Items) == 0 || !strings.HasPrefix(log.Items[0].Message, "fold: Merge ") {
			return false
		}
		rev = log.Items[0].Rev
		return true
	})
	if _, err := p.d.Undo(ctx, local(), p.slug, wire.Undo{Rev: rev}); err != nil {
		t.Fatal(err)
	}
	p.addMemory(wire.MemoryCreate{Content: "Ferries leave at six from the old harbour, whatever the weather."})
	p.settle()
	if m, err := p.d.GetMemory(ctx, local(), p.slug, short.ID); err != nil || m.ID != short.ID {
		t.Errorf("after the undo: %+v, %v", m, err)
	}
}

// TestComparisonGoesOnAfterItGaveWay: memories that were not compared because other work
// waited are compared once that is done, also where it changed nothing.
func TestComparisonGoesOnAfterItGaveWay(t *testing.T) {
	t.Parallel()
	p := newProject(t, nil)
	p.d.LookAtTipAt(p.dir, time.Now().Add(3*time.Second))
	p.addMemory(wire.MemoryCreate{Content: saidShort, Title: "Session storage", Type: "decision"})
	p.addMemory(wire.MemoryCreate{Content: saidLong, Title: "Session storage", Type: "decision"})
	p.proposed(1)
}
