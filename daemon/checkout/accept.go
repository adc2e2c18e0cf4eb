package checkout

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/remember"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/state"
)

// RowsOf returns what the index has of the memories of proposals.
func (st *Stores) RowsOf(ctx context.Context, ps []state.Proposal) (map[fold.ID]index.Row, error) {
	var ids []fold.ID
	for _, p := range ps {
		for _, e := range p.Memories {
			ids = append(ids, e.ID)
		}
	}
	return st.Index.Memories(ctx, ids)
}

// Seen is the memory at place i of a proposal, as it was when that was made.
func Seen(p state.Proposal, i int) remember.Seen {
	return remember.Seen{ID: p.Memories[i].ID, Hash: p.Memories[i].Hash}
}

// Accept does what the open proposal p says, and notes it.
func (co *Checkout) Accept(ctx context.Context, st *Stores, sc fold.Scope, p state.Proposal) (out wire.ProposalAccepted, err error) {
	switch {
	case p.Kind == state.ProposeMerge && len(p.Memories) == 2:
		out.WriteReply, out.Rev, err = st.Writes.Merge(ctx, sc, Seen(p, 0), Seen(p, 1))
		out.Superseded = string(p.Memories[1].ID)
	case p.Kind == state.ProposeLink && len(p.Memories) == 2:
		if err = st.Writes.Unchanged(ctx, Seen(p, 1)); err == nil {
			out.WriteReply, err = st.Writes.Update(ctx, sc, p.Memories[0].ID, wire.MemoryUpdate{
				ExpectedHash: p.Memories[0].Hash, Links: []wire.NewLink{{Target: string(p.Memories[1].ID), Type: p.LinkType, Context: p.Context}},
			})
		}
	case p.Kind == state.ProposeAnnotate && len(p.Memories) == 1:
		out.WriteReply, err = st.annotate(ctx, sc, p)
	default:
		err = fmt.Errorf("it is of a kind that this program does not know: %w", fold.ErrInvalid)
	}
	if err != nil {
		return out, fmt.Errorf("accept proposal %s: %w", p.ID, err)
	}
	// A caller that has left changes nothing about what is done.
	err = co.State.DecideProposal(context.WithoutCancel(ctx), co.Record.Slug, p.ID, state.ProposalAccepted, sc.Author, co.Now())
	if errors.Is(err, fold.ErrConflict) { // another accepted it at the same moment
		err = nil
	}
	return out, err
}

// Accepted answers for a proposal that was accepted before.
func (st *Stores) Accepted(ctx context.Context, p state.Proposal) (out wire.ProposalAccepted, err error) {
	if p.Kind == state.ProposeMerge {
		out.Superseded = string(p.Memories[1].ID)
	}
	out.WriteReply, err = st.Writes.Stands(ctx, p.Memories[0].ID)
	if errors.Is(err, fold.ErrNotFound) { // deleted since
		out.WriteReply, err = wire.WriteReply{ID: string(p.Memories[0].ID)}, nil
	}
	return out, err
}

// annotate gives a memory the context and tags that p proposes.
func (st *Stores) annotate(ctx context.Context, sc fold.Scope, p state.Proposal) (wire.WriteReply, error) {
	row, err := st.Index.Memory(ctx, p.Memories[0].ID)
	if err != nil {
		return wire.WriteReply{}, err
	}
	in := wire.MemoryUpdate{ExpectedHash: p.Memories[0].Hash}
	if p.Context != "" {
		in.Context = &p.Context
	}
	tags := slices.Clone(row.Tags)
	for _, tag := range p.Tags {
		if len(tags) < remember.MaxTags && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	if len(tags) > len(row.Tags) {
		in.Tags = &tags
	}
	return st.Writes.Update(ctx, sc, p.Memories[0].ID, in)
}
