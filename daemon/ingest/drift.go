package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/disk"
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
// where one has what another lacks, and where they are not what lies on disk. It reads
// all of it and changes nothing; what is under way meanwhile may look like a
// difference. The stores must stay open.
func (in *Ingester) Drift(ctx context.Context, x *index.DB, text *textindex.Index, vectors *vecindex.Index) (wire.Drift, error) {
	d := wire.Drift{Documents: text.Count(), Vectors: vectors.Len(), Differences: []string{}, Behind: []string{}}
	if err := in.driftOfFiles(ctx, x, &d); err != nil {
		return d, err
	}
	if err := in.driftOfSource(ctx, x, &d); err != nil {
		return d, err
	}
	with := 0 // keys of memories and chunks that have a vector
	var seq int64
	for more := true; more; {
		var ids []fold.ID
		var err error
		if ids, _, seq, more, err = x.ChangedPage(ctx, seq, driftPart); err != nil {
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
	if err != nil && !disk.Missing(err) {
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
	behind(d, "memory files not in the index", unread)
	behind(d, "memory files in the index, and not on disk", gone)
	return nil
}

// driftOfSource compares the source files of the work tree with those in the index.
// They are listed by git, whatever was listed before, and one is read only where its
// stat is not what it was.
func (in *Ingester) driftOfSource(ctx context.Context, x *index.DB, d *wire.Drift) error {
	if in.root == nil {
		return nil
	}
	all, err := in.Repo.Files(ctx)
	if err != nil {
		return err
	}
	rules, prefix := in.Rules(), in.Selection.FoldDir()
	listed := slices.DeleteFunc(all, func(p string) bool { return !rules.Eligible(p, prefix) })
	var known []string
	var stats []stat
	if err := x.EachFileStat(ctx, false, func(f *index.FileStat) {
		known = append(known, string(f.Path))
		stats = append(stats, stat{size: f.Size, mtime: f.MtimeNS, inode: f.Inode, state: f.State})
	}); err != nil {
		return err
	}
	var unread, gone, both []string
	var was []stat
	match(listed, known, func(i, k int) {
		switch {
		case k < 0:
			if there, _ := in.Stands(listed[i]); there { // git lists a file until its deletion is staged
				unread = append(unread, listed[i])
			}
		case i >= 0:
			both, was = append(both, known[k]), append(was, stats[k])
		case !rules.HeldBack(known[k], prefix):
			gone = append(gone, known[k])
		}
	})
	moved, err := in.lookAt(ctx, both, func(i int) stat { return was[i] })
	if err != nil {
		return err
	}
	rows, err := x.FilesByPath(ctx, moved, false)
	if err != nil {
		return err
	}
	var changed []string
	for _, p := range moved {
		switch b, err := in.ReadSource(ctx, p); {
		case errors.Is(err, disk.ErrNotRegular) && rows[p].State == "skipped", rows[p].State == "failed":
		case err != nil:
			changed = append(changed, p)
		case b == nil:
			gone = append(gone, p)
		default:
			if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != rows[p].Hash {
				changed = append(changed, p)
			}
		}
	}
	slices.Sort(gone)
	behind(d, "files not in the index", unread)
	behind(d, "files in the index, and not in the work tree", gone)
	behind(d, "files in the index as they were, and changed since", changed)
	return ctx.Err()
}

// behind notes what is so with paths, if there are any.
func behind(d *wire.Drift, what string, paths []string) {
	if n := len(paths); n > 0 {
		d.Behind = append(d.Behind, fmt.Sprintf("%s: %d, first %q", what, n, paths[:min(n, driftNamed)]))
	}
}
