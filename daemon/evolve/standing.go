package evolve

import (
	"slices"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/state"
)

// A Standing says whether an open proposal still applies.
type Standing int

// The standings of a proposal.
const (
	Current Standing = iota // its memories are unchanged
	Changed                 // one of them was changed or deleted
	Done                    // its changes were made already
)

// StandingOf returns whether an open proposal still applies, by the memories in the
// index.
func StandingOf(p state.Proposal, rows map[fold.ID]index.Row) Standing {
	changed := false
	for _, e := range p.Memories {
		row, there := rows[e.ID]
		changed = changed || !there || row.ContentHash != e.Hash
	}
	if !changed {
		return Current
	}
	if p.Kind == state.ProposeMerge && len(p.Memories) == 2 {
		// A crash may have come between writing the files and recording the acceptance.
		_, there := rows[p.Memories[1].ID]
		if keep, ok := rows[p.Memories[0].ID]; ok && !there && supersedes(keep, p.Memories[1].ID) {
			return Done
		}
	}
	return Changed
}

func supersedes(row index.Row, id fold.ID) bool {
	return slices.ContainsFunc(row.Links, func(l fold.Link) bool { return l.To == id && l.Type == fold.LinkSupersedes })
}
