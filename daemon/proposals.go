package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/checkout"
	"github.com/foldwatch/foldwatch/daemon/evolve"
	"github.com/foldwatch/foldwatch/gitops/history"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/state"
)

const (
	proposalPage = 50
	proposalMost = 200 // on one page
)

// Proposals lists what is proposed for the memories of a project.
func (d *Daemon) Proposals(ctx context.Context, sc fold.Scope, slug string, in wire.ProposalQuery) (wire.ProposalList, error) {
	list := wire.ProposalList{Items: []wire.Proposal{}}
	after, err := state.ParseProposalCursor(in.Cursor)
	if err != nil {
		return list, err
	}
	only := state.ProposalState(checkout.FirstOf(in.State, string(state.ProposalOpen)))
	switch only {
	case state.ProposalOpen, state.ProposalAccepted, state.ProposalRejected:
	case "all":
		only = ""
	default:
		return list, fmt.Errorf("state %.20q is none of open, accepted, rejected, all: %w", in.State, fold.ErrInvalid)
	}
	if in.Limit <= 0 {
		in.Limit = proposalPage
	}
	in.Limit = min(in.Limit, proposalMost)
	st, err := d.open(ctx, sc, slug)
	if err != nil {
		return list, err
	}
	defer st.Release()
	slug = st.Checkout.Record.Slug
	all, err := d.parts.State.Proposals(ctx, slug, only, after, in.Limit+1)
	if err != nil {
		return list, err
	}
	if len(all) > in.Limit {
		all = all[:in.Limit]
		last := all[in.Limit-1]
		list.NextCursor = state.ProposalCursor{CreatedAt: last.CreatedAt, ID: last.ID}.String()
	}
	if list.Open, err = d.parts.State.OpenProposals(ctx, slug); err != nil {
		return list, err
	}
	rows, err := st.RowsOf(ctx, all)
	if err != nil {
		return list, err
	}
	for _, p := range all {
		list.Items = append(list.Items, wireProposal(slug, p, rows))
	}
	return list, nil
}

// Proposal returns one proposal, with what accepting it would change.
func (d *Daemon) Proposal(ctx context.Context, sc fold.Scope, slug, id string) (wire.Proposal, error) {
	st, err := d.open(ctx, sc, slug)
	if err != nil {
		return wire.Proposal{}, err
	}
	defer st.Release()
	p, out, err := proposalOf(ctx, st, id)
	if err != nil || p.State != state.ProposalOpen || p.Kind != state.ProposeMerge {
		return out, err
	}
	m, err := st.Writes.PlanMerge(ctx, checkout.Seen(p, 0), checkout.Seen(p, 1))
	switch {
	case errors.Is(err, fold.ErrConflict), errors.Is(err, fold.ErrNotFound):
		out.Stale = true // the index may not know yet
		return out, nil
	case err != nil:
		return out, err
	}
	var changes []history.Change
	for _, w := range m.Writes {
		changes = append(changes, history.Change{Path: w.Path, Was: w.Base, Is: w.New})
	}
	out.Diff, err = history.DiffOf(changes)
	return out, err
}

// AcceptProposal does what is proposed, as one commit, and remembers it. What was
// accepted before is answered again and changes nothing.
func (d *Daemon) AcceptProposal(ctx context.Context, sc fold.Scope, slug, id string) (wire.ProposalAccepted, error) {
	st, err := d.openToWrite(ctx, sc, slug)
	if err != nil {
		return wire.ProposalAccepted{}, err
	}
	defer st.Release()
	p, _, err := proposalOf(ctx, st, id)
	if err != nil {
		return wire.ProposalAccepted{}, err
	}
	if p.State == state.ProposalRejected {
		return wire.ProposalAccepted{}, fmt.Errorf("proposal %s was rejected: %w", p.ID, fold.ErrConflict)
	}
	var out wire.ProposalAccepted
	if p.State == state.ProposalAccepted {
		out, err = st.Accepted(ctx, p)
	} else {
		out, err = st.Checkout.Accept(ctx, st.Stores, sc, p)
	}
	if err != nil {
		return wire.ProposalAccepted{}, err
	}
	if _, out.Proposal, err = proposalOf(ctx, st, p.ID); err != nil {
		return wire.ProposalAccepted{}, err
	}
	out.WriteReply, err = st.Checkout.Answered(out.WriteReply, nil)
	return out, err
}

// RejectProposal remembers that a proposal is not wanted: it is not made again.
func (d *Daemon) RejectProposal(ctx context.Context, sc fold.Scope, slug, id string) (wire.Proposal, error) {
	st, err := d.openToWrite(ctx, sc, slug)
	if err != nil {
		return wire.Proposal{}, err
	}
	defer st.Release()
	p, _, err := proposalOf(ctx, st, id)
	if err != nil {
		return wire.Proposal{}, err
	}
	switch p.State {
	case state.ProposalAccepted:
		return wire.Proposal{}, fmt.Errorf("proposal %s was accepted: %w", p.ID, fold.WithHint(fold.ErrConflict, "foldwatch restore --commit REV takes it back; foldwatch log names the commit"))
	case state.ProposalOpen:
		err = d.parts.State.DecideProposal(ctx, st.Checkout.Record.Slug, p.ID, state.ProposalRejected, sc.Author, st.Checkout.Now())
		if err != nil {
			return wire.Proposal{}, err
		}
	}
	_, out, err := proposalOf(ctx, st, p.ID)
	return out, err
}

// proposalOf returns the proposal that id names, as it is stored and as it is told.
func proposalOf(ctx context.Context, h *checkout.Lease, id string) (state.Proposal, wire.Proposal, error) {
	id = strings.ToLower(strings.TrimSpace(id))
	if len(id) < 4 || len(id) > 16 || strings.Trim(id, "0123456789abcdef") != "" {
		return state.Proposal{}, wire.Proposal{}, fmt.Errorf("%.40q is no id of a proposal: 16 hex digits, or the first 4 or more of one: %w", id, fold.ErrInvalid)
	}
	p, err := h.Checkout.State.Proposal(ctx, h.Checkout.Record.Slug, id)
	if err != nil {
		return p, wire.Proposal{}, err
	}
	rows, err := h.RowsOf(ctx, []state.Proposal{p})
	return p, wireProposal(h.Checkout.Record.Slug, p, rows), err
}

// wireProposal is a proposal as it is told, by what the index has of its memories.
func wireProposal(slug string, p state.Proposal, rows map[fold.ID]index.Row) wire.Proposal {
	out := wire.Proposal{
		ID: p.ID, Project: slug, Kind: string(p.Kind), Maker: p.Maker, State: string(p.State), Memories: []wire.ProposalMemory{},
		Reason: p.Reason, Evidence: p.Evidence, Confidence: p.Confidence, LinkType: p.LinkType, Context: p.Context, Tags: p.Tags,
		CreatedAt: p.CreatedAt, DecidedBy: p.DecidedBy,
		Stale: p.State == state.ProposalOpen && evolve.StandingOf(p, rows) != evolve.Current,
	}
	if !p.DecidedAt.IsZero() {
		out.DecidedAt = &p.DecidedAt
	}
	for i, e := range p.Memories {
		role := "changed"
		if i > 0 {
			role = "target"
			if p.Kind == state.ProposeMerge {
				role = "superseded"
			}
		}
		out.Memories = append(out.Memories, wire.ProposalMemory{ID: string(e.ID), Title: rows[e.ID].Title, Role: role, ContentHash: e.Hash})
	}
	switch ids := out.Memories; {
	case p.Kind == state.ProposeMerge && len(ids) == 2:
		out.Does = fmt.Sprintf("%s takes in what %s has beyond it, and supersedes it: links to that lead here, and it is removed (foldwatch restore brings it back)", ids[0].ID, ids[1].ID)
	case p.Kind == state.ProposeLink && len(ids) == 2:
		out.Does = fmt.Sprintf("%s gets a link of type %s to %s", ids[0].ID, checkout.FirstOf(p.LinkType, string(fold.LinkRelated)), ids[1].ID)
	case len(ids) > 0:
		out.Does = ids[0].ID + " gets another context, or tags"
	}
	return out
}
