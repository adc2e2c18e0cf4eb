package gitops

import (
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/objdb"
)

// References of our own repository.
const (
	refJournal  = "refs/foldwatch/journal"  // every settled change
	refSquashed = "refs/foldwatch/squashed" // the journal commit that refBranch holds
	refBranch   = objdb.Head                // what may be published

	refRemote = "refs/foldwatch/remote" // newest commit of the remote's branch that we have seen and hold

	// refDescribed names a tree, laid out as fold/, of what was last said of
	// each source file before any merge. It is local and never published.
	refDescribed = "refs/foldwatch/described"
)

func hashText(h plumbing.Hash) string {
	if h.IsZero() {
		return ""
	}
	return h.String()
}
