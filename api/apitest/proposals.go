package apitest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Propose adds an open proposal to link one memory of a project to another, and
// returns its id.
func (d *Fake) Propose(slug, from, to string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range d.projects {
		if h.project.Slug != slug {
			continue
		}
		id := fold.ProposalID("link", strconv.Itoa(len(h.proposals)), fold.ID(from), fold.ID(to))
		h.proposals = append(h.proposals, wire.Proposal{
			ID: id, Project: slug, Kind: "link", Maker: "test", State: "open", Reason: "they belong together", Does: "links them", Confidence: .9, CreatedAt: d.now,
			Memories: []wire.ProposalMemory{{ID: from, Role: "changed", ContentHash: h.memories[from].ContentHash}, {ID: to, Role: "target", ContentHash: h.memories[to].ContentHash}},
		})
		return id
	}
	return ""
}

func (h *held) proposal(id string) (*wire.Proposal, error) {
	for i := range h.proposals {
		if h.proposals[i].ID == id {
			return &h.proposals[i], nil
		}
	}
	return nil, fmt.Errorf("proposal %s: %w", id, fold.ErrNotFound)
}

// Proposals lists in the order in which they were made; the cursor is an offset.
func (d *Fake) Proposals(_ context.Context, sc fold.Scope, slug string, in wire.ProposalQuery) (wire.ProposalList, error) {
	h, unlock, err := d.open("Proposals", sc, slug)
	defer unlock()
	if err != nil {
		return wire.ProposalList{}, err
	}
	out := wire.ProposalList{Items: []wire.Proposal{}}
	var all []wire.Proposal
	for _, p := range h.proposals {
		if p.State == "open" {
			out.Open++
		}
		if state := cmp.Or(in.State, "open"); state == "all" || p.State == state {
			all = append(all, p)
		}
	}
	from, err := strconv.Atoi(cmp.Or(in.Cursor, "0"))
	if err != nil || from > len(all) || from < 0 {
		return out, fmt.Errorf("cursor %q: %w", in.Cursor, fold.ErrInvalid)
	}
	out.Items = append(out.Items, all[from:]...)
	if limit := cmp.Or(in.Limit, 50); len(out.Items) > limit {
		out.Items, out.NextCursor = out.Items[:limit], strconv.Itoa(from+limit)
	}
	return out, nil
}

// Proposal returns one proposal.
func (d *Fake) Proposal(_ context.Context, sc fold.Scope, slug, id string) (wire.Proposal, error) {
	h, unlock, err := d.open("Proposal", sc, slug)
	defer unlock()
	if err != nil {
		return wire.Proposal{}, err
	}
	p, err := h.proposal(id)
	if err != nil {
		return wire.Proposal{}, err
	}
	return *p, nil
}

// AcceptProposal links what is proposed to be linked.
func (d *Fake) AcceptProposal(_ context.Context, sc fold.Scope, slug, id string) (wire.ProposalAccepted, error) {
	h, unlock, err := d.open("AcceptProposal", sc, slug)
	defer unlock()
	if err != nil {
		return wire.ProposalAccepted{}, err
	}
	p, err := h.proposal(id)
	if err != nil {
		return wire.ProposalAccepted{}, err
	}
	if err := h.decide(p, "accepted"); err != nil {
		return wire.ProposalAccepted{}, err
	}
	d.link(h, p.Memories[0].ID, wire.LinkCreate{TargetID: p.Memories[1].ID})
	d.emit("memory:changed", slug, map[string]any{"id": p.Memories[0].ID})
	return wire.ProposalAccepted{WriteReply: reply(h.memories[p.Memories[0].ID], false), Proposal: *p, Rev: "0123456789abcdef0123456789abcdef01234567"}, nil
}

// RejectProposal notes that a proposal is not wanted.
func (d *Fake) RejectProposal(_ context.Context, sc fold.Scope, slug, id string) (wire.Proposal, error) {
	h, unlock, err := d.open("RejectProposal", sc, slug)
	defer unlock()
	if err != nil {
		return wire.Proposal{}, err
	}
	p, err := h.proposal(id)
	if err != nil {
		return wire.Proposal{}, err
	}
	return *p, h.decide(p, "rejected")
}

// decide sets the state of an open proposal. That of a decided one may only be said
// again; a memory that changed since is a conflict with both versions.
func (h *held) decide(p *wire.Proposal, state string) error {
	if p.State != "open" && p.State != state {
		return fmt.Errorf("proposal %s was %s: %w", p.ID, p.State, fold.ErrConflict)
	}
	i := slices.IndexFunc(p.Memories, func(m wire.ProposalMemory) bool { return h.memories[m.ID].ContentHash != m.ContentHash })
	if p.State == "open" && state == "accepted" && i >= 0 {
		m := h.memories[p.Memories[i].ID]
		return &fold.ConflictError{ID: fold.ID(m.ID), Want: p.Memories[i].ContentHash, Have: m.ContentHash, Current: []byte(m.Content)}
	}
	p.State = state
	return nil
}
