package ingest

import (
	"context"
	"fmt"
	"io/fs"
	"sort"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/textindex"
	"github.com/foldwatch/foldwatch/vecindex"
)

// driftPart is how many memories are compared at once, which bounds what is in
// memory.
const driftPart = 1000

// driftNamed is how many paths a difference names.
const driftNamed = 3

// Drift counts what memory files, rows, documents and vectors there are, and names
// where one has what another lacks. It reads all of it and changes nothing; what
// is under way meanwhile may look like a difference. The stores must stay open.
func (in *Ingester) Drift(ctx context.Context, x *index.DB, text *textindex.Index, vectors *vecindex.Index) (wire.Drift, error) {
	d := wire.Drift{Documents: text.Count(), Vectors: vectors.Len(), Differences: []string{}}
	if err := in.driftOfFiles(ctx, x, &d); err != nil {
		return d, err
	}
	with := 0 // keys of memories and chunks that have a vector
	var seq int64
	for more := true; more; {
		var ids []fold.ID
		var err error
		if ids, _, seq, more, err = x.ChangedPart(ctx, seq, driftPart); err != nil {
			return d, err
		}
		d.Memories += len(ids)
		for _, id := range ids {
			if vectors.Has(memoryKey(id)) {
				with++
			} else {
				d.WithoutVector++
			}
		}
		chunks, err := x.ChunksOf(ctx, ids)
		if err != nil {
			return d, err
		}
		for _, of := range chunks {
			d.Chunks += len(of)
			for _, c := range of {
				switch {
				case vectors.Has(chunkKey(c.ID)):
					with++
				case !c.Hidden: // what holds a credential is embedded by nothing
					d.WithoutVector++
				}
			}
		}
	}
	if rows := d.Memories + d.Chunks; d.Documents != rows {
		d.Differences = append(d.Differences, fmt.Sprintf("%d memories and %d chunks have rows, and %d of these %d have words", d.Memories, d.Chunks, d.Documents, rows))
	}
	if rest := d.Vectors - with; rest > 0 {
		d.Differences = append(d.Differences, fmt.Sprintf("%d vectors are of what has no row any more", rest))
	}
	return d, nil
}

// driftOfFiles compares the files below fold/ with those that were read.
func (in *Ingester) driftOfFiles(ctx context.Context, x *index.DB, d *wire.Drift) error {
	all, infos, err := in.walkFold()
	if err != nil && !missing(err) {
		return err
	}
	paths, aside := make([]string, 0, len(all)), map[string]bool{fold.ProjectFile: true}
	for i, p := range all {
		if infos[i].Mode&fs.ModeSymlink != 0 {
			aside[p] = true // it is told of, and never read
		}
		if !aside[p] {
			paths = append(paths, p)
		}
	}
	var known []string
	if err := x.EachFileStat(ctx, true, func(f *index.FileStat) {
		if p := string(f.Path); !aside[p] {
			known = append(known, p)
		}
	}); err != nil {
		return err
	}
	sort.Strings(known)
	d.Files = len(paths)
	var unread, gone []string
	match(paths, known, func(i, k int) {
		switch {
		case k < 0:
			unread = append(unread, paths[i])
		case i < 0:
			gone = append(gone, known[k])
		}
	})
	for _, diff := range []struct {
		paths []string
		says  string
	}{{unread, "not in the index"}, {gone, "in the index, and not on disk"}} {
		if n := len(diff.paths); n > 0 {
			d.Differences = append(d.Differences, fmt.Sprintf("memory files %s: %d, first %v", diff.says, n, diff.paths[:min(n, driftNamed)]))
		}
	}
	return nil
}
