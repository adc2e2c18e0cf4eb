package api

import (
	"context"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// InProposal names a proposal of a project.
type InProposal struct {
	InSlug
	ID string `path:"id" doc:"proposal: 16 hex digits, or the first 4 or more"`
}

func proposalRoutes() []Route {
	const proposals, proposal = project + "/proposals", project + "/proposals/{id}"
	type inList struct {
		InSlug
		wire.ProposalQuery
	}
	return []Route{
		on(Read, "GET", proposals, "proposals", "List what is proposed for the memories of a project, newest first",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inList) (wire.ProposalList, error) {
				return h.Proposals(ctx, sc, in.Slug, in.ProposalQuery)
			}),
		on(Read, "GET", proposal, "proposal", "Get a proposal, with what accepting it changes",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *InProposal) (wire.Proposal, error) {
				return h.Proposal(ctx, sc, in.Slug, in.ID)
			}),
		on(Write, "POST", proposal+"/accept", "acceptProposal", "Do what is proposed, as one commit",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *InProposal) (wire.ProposalAccepted, error) {
				return h.AcceptProposal(ctx, sc, in.Slug, in.ID)
			}),
		on(Write, "POST", proposal+"/reject", "rejectProposal", "Remember that a proposal is not wanted",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *InProposal) (wire.Proposal, error) {
				return h.RejectProposal(ctx, sc, in.Slug, in.ID)
			}),
	}
}
