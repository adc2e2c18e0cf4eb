package evolve

import (
	"slices"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/state"
)

// Standing says what an open proposal is worth now.
type Standing int

// What an open proposal may be worth.
const (
	Current Standing = iota // its memories are as they were
	Changed                 // one of them is not, or is gone
	Done                    // it is as if it had been accepted
)

// StandingOf says what an open proposal is worth, by what the index holds of its
// memories.
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
		// A crash may have come between the files and the note that it was accepted.
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
