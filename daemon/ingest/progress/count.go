package progress

import "sync/atomic"

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
