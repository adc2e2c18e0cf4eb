package ingest

import (
	"context"
	"sync/atomic"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

// Counters count work since start, so that tests and status can tell what was
// not done. All fields are safe for concurrent use, and none ever goes back.
type Counters struct {
	FilesRead, BytesRead, Parses, ChunkHits atomic.Int64
	Described, Stats                        atomic.Int64
	Describes                               atomic.Int64 // descriptions made for the index only
	Names                                   atomic.Int64 // memories read for what links by name lead to
	Applied                                 atomic.Int64 // changes of the index, each one transaction
	RowsRead                                atomic.Int64 // memories, and chunks of one, read back whole for a change or for vectors
	Documents                               atomic.Int64 // documents put into the text index
}

// Values returns the counts by the names that status shows.
func (c *Counters) Values() map[string]int64 {
	return map[string]int64{
		"files_read": c.FilesRead.Load(), "bytes_read": c.BytesRead.Load(), "parses": c.Parses.Load(),
		"chunk_cache_hits": c.ChunkHits.Load(), "stats": c.Stats.Load(), "described": c.Described.Load(), "describes": c.Describes.Load(), "names_read": c.Names.Load(),
		"index_operations": c.Applied.Load(), "rows_read": c.RowsRead.Load(), "documents_put": c.Documents.Load(),
	}
}

// apply changes the index, and counts that.
func (in *Ingester) apply(ctx context.Context, changes []index.Change) (index.Applied, error) {
	in.Count.Applied.Add(1)
	in.recent.change(changes)
	applied, err := in.Index.Apply(ctx, changes)
	if in.Overlap > 0 {
		in.shifted.note(applied, changes, err)
	}
	return applied, err
}

// memories returns those of ids that exist, and counts that.
func (in *Ingester) memories(ctx context.Context, ids []fold.ID) (map[fold.ID]index.Row, error) {
	rows, err := in.Index.Memories(ctx, ids)
	in.Count.RowsRead.Add(int64(len(rows)))
	return rows, err
}

// putText changes the text index, and counts that.
func (in *Ingester) putText(ctx context.Context, seq int64, docs []textindex.Doc, drop []string) error {
	in.Count.Documents.Add(int64(len(docs)))
	return in.Text.Apply(ctx, seq, docs, drop)
}
