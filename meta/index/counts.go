package index

import "context"

// Counts are the numbers that status shows.
type Counts struct {
	Files       int // source files in the manifest
	Indexed     int // of Files
	Skipped     int // of Files
	Failed      int // of Files
	FoldFiles   int // files below fold/ in the manifest, tombstones apart
	Quarantined int // of both
	Memories    int
	InFold      int // of Memories, with a file below fold/
	Stale       int // of Memories
	Chunks      int
	Links       int
	Conflicts   int // memories that hold another version of one, see [fold.Promote]
}

// countedAt is what was counted, and as of which version of the index.
type countedAt struct {
	version int64
	counts  Counts
}

// Counts counts. Status is asked for far more often than anything changes: what was
// counted last is kept.
func (x *DB) Counts(ctx context.Context) (Counts, error) {
	version := x.version.Load()
	if last := x.counted.Load(); last != nil && last.version == version {
		return last.counts, nil
	}
	c, err := x.count(ctx)
	if err != nil {
		return Counts{}, err
	}
	x.counted.Store(&countedAt{version, c})
	return c, nil
}

// count counts from the tables.
func (x *DB) count(ctx context.Context) (Counts, error) {
	var c Counts
	err := x.db.Row(ctx, "count", `select
		coalesce(sum(fold = 0), 0), coalesce(sum(fold = 0 and state = 'indexed'), 0),
		coalesce(sum(fold = 0 and state = 'skipped'), 0), coalesce(sum(fold = 0 and state = 'failed'), 0),
		coalesce(sum(fold = 1 and state <> 'skipped'), 0), coalesce(sum(state = 'quarantined'), 0),
		(select count(*) from memories), (select count(*) from memories where described = 'fold'),
		(select count(*) from memories where stale = 1), (select value + 0 from meta where key = 'chunks'),
		(select count(distinct id) from memory_links),
		(select count(distinct from_id) from memory_links where link_type = 'conflicts_with' and derived = 0)
		from files`).Scan(&c.Files, &c.Indexed, &c.Skipped, &c.Failed, &c.FoldFiles, &c.Quarantined,
		&c.Memories, &c.InFold, &c.Stale, &c.Chunks, &c.Links, &c.Conflicts)
	return c, err
}
