package ingest

import (
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

// Attach has the ingester work with stores that were just opened; [Ingester.Use]
// names the vectors. No other method may run meanwhile but those that are safe for
// concurrent use.
func (in *Ingester) Attach(index *index.DB, text *textindex.Index) {
	in.Index, in.Text = index, text
	in.Follower.Attach(index)
}

// Rest has the ingester let go of its stores, which are closed, and of what it
// keeps in memory of them: versions of the manifest mean nothing in the next
// opening. What it knows of the checkout stays. No other method may run meanwhile
// but those that are safe for concurrent use.
func (in *Ingester) Rest() {
	in.Index, in.Text = nil, nil
	in.Follower.Attach(nil)
	in.Use(Target{})
	in.stale, in.worded = nil, false
	in.sourceStats, in.foldStats = nil, nil
	in.recent = recent{}
}
