package tip

import (
	"cmp"
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/foldwatch/foldwatch/daemon/ingest/cut"
	"github.com/foldwatch/foldwatch/daemon/ingest/progress"
	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

// A gap is some files of a tree that have no memory file.
type gap struct {
	paths []string
	// found are those that lie in the work tree as they are in the tree, and
	// that the index does not hold: read, cut and described.
	found  []*cut.File
	writes []gitops.Write // of found
}

// describeBatch is how many files are described and put at once, and
// describeBytes how much of their text: two parts are held at a time, and each
// costs a few syncs.
const (
	describeBatch = 1024
	describeBytes = 8 << 20
	// describeFirst is how many of a first index are, so that searches find
	// something soon.
	describeFirst = 256
)

// fillGaps describes the files of the tree that have no memory file, unless a
// person deleted it.
func (fo *Follower) fillGaps(ctx context.Context, t *tree, tell progress.Func) error {
	have, err := fo.index.Files(ctx, true)
	if err != nil {
		return err
	}
	gone, err := fo.State.Gone(ctx, fo.Slug)
	if err != nil {
		return err
	}
	known, err := fo.index.Files(ctx, false)
	if err != nil {
		return err
	}
	var todo []string
	for p, blob := range t.blobs {
		id := fold.FileID(fo.Slug, p)
		if f, ok := have[id.Path()]; ok && f.State != "skipped" || gone[id] {
			continue
		}
		if f, ok := known[p]; ok && f.State == "skipped" && blob != "" && (f.Blob == blob || f.Truncated) {
			continue // nothing to describe: empty, or binary
		}
		todo = append(todo, p)
	}
	if len(todo) == 0 {
		return nil
	}
	// In the order of their ids: each part then changes few folders of fold/, and
	// rows are added where the last ones were.
	slices.SortFunc(todo, func(a, b string) int {
		return cmp.Compare(fold.FileID(fo.Slug, a), fold.FileID(fo.Slug, b))
	})
	return fo.Indexer.Linking(ctx, func(bool) ([]string, []fold.ID, error) {
		return todo, nil, fo.describeAll(ctx, t, todo, known, tell)
	})
}

// describeAll puts memory files for paths of the tree, and indexes with each the
// source it describes where that is what lies in the work tree: a first index
// reads, cuts and files everything once. While one part is written, the next is
// cut.
func (fo *Follower) describeAll(ctx context.Context, t *tree, paths []string, known map[string]index.File, tell progress.Func) error {
	fo.nameFiles(ctx, t)
	end := fo.Store.Bulk()
	gaps := make(chan gap)
	count := progress.NewTally(tell, progress.StageDescribing, len(paths))
	g, gctx := errgroup.WithContext(ctx)
	if tell != nil && len(paths) > 2*describeBatch && fo.Reader.Root != nil {
		g.Go(func() error {
			count.SetWhole(fo.Reader.Measure(slices.Sorted(slices.Values(paths))))
			return nil
		})
	}
	g.Go(func() error {
		defer close(gaps)
		most := describeFirst
		for rest := paths; len(rest) > 0; most = describeBatch {
			n := partOf(fo.Reader, rest, most)
			part := gap{paths: rest[:n]}
			rest = rest[n:]
			if err := fo.asInTree(gctx, t, &part, known, count); err != nil {
				return err
			}
			select {
			case gaps <- part:
			case <-gctx.Done():
				return gctx.Err()
			}
		}
		return nil
	})
	g.Go(func() error {
		for part := range gaps {
			if err := fo.describeNew(gctx, t, part); err != nil {
				return err
			}
			count.Worked(len(part.paths)-len(part.found), 0)
			count.Keep(len(part.paths))
		}
		return nil
	})
	err := g.Wait()
	if cerr := end(ctx); err == nil {
		err = cerr
	}
	return err
}

// partOf returns how many of paths are dealt with at once, no more than most.
func partOf(from *cut.Reader, paths []string, most int) int {
	n, size := 0, int64(0)
	for n < len(paths) && n < most && size < describeBytes {
		if from.Root != nil {
			if fi, err := from.Root.Lstat(paths[n]); err == nil {
				size += min(fi.Size(), from.MaxBytes)
			}
		}
		n++
	}
	return n
}

// asInTree fills in what of the part is in the work tree.
func (fo *Follower) asInTree(ctx context.Context, t *tree, part *gap, known map[string]index.File, count *progress.Tally) error {
	if t.oid == "" || fo.Reader.Root == nil {
		return nil
	}
	found, texts := make([]*cut.File, len(part.paths)), make([][]byte, len(part.paths))
	each := func(fn func(ctx context.Context, i int) error) error {
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(fo.Workers)
		for i := range part.paths {
			g.Go(func() error { return fn(gctx, i) })
		}
		return g.Wait()
	}
	err := each(func(ctx context.Context, i int) (err error) {
		p := part.paths[i]
		if _, ok := known[p]; !ok {
			found[i], err = fo.Reader.ReadBlob(ctx, p, t.blobs[p])
		}
		return err
	})
	if err != nil {
		return err
	}
	fo.Reader.LookUp(ctx, slices.DeleteFunc(slices.Clone(found), func(pr *cut.File) bool { return pr == nil }))
	err = each(func(ctx context.Context, i int) error {
		pr := found[i]
		if pr == nil {
			return nil
		}
		if err := fo.Reader.Finish(ctx, pr); err != nil {
			return err
		}
		if pr.File.State == "failed" {
			found[i] = nil
			return nil
		}
		if pr.File.State == "indexed" {
			texts[i] = t.encode(fo.describeCut(t, pr.Path, pr.Src, pr.File.Blob, pr.Result, t.when))
		}
		count.Worked(1, min(pr.File.Size, fo.Reader.MaxBytes))
		return nil
	})
	fo.Reader.Flush(ctx)
	if err != nil {
		return err
	}
	for i, pr := range found {
		if pr != nil {
			part.found = append(part.found, pr)
		}
		if texts[i] != nil {
			part.writes = append(part.writes, gitops.Write{ID: pr.ID, Path: pr.ID.Path(), New: texts[i], Described: texts[i]})
		}
	}
	return nil
}

// describeNew puts memory files for paths of the tree, and indexes them with the
// sources they describe. What is there already stays as it is.
func (fo *Follower) describeNew(ctx context.Context, t *tree, part gap) error {
	have := make(map[string]bool, len(part.found))
	for _, pr := range part.found {
		have[pr.Path] = true
	}
	rest := slices.DeleteFunc(slices.Clone(part.paths), func(p string) bool { return have[p] })
	writes := part.writes
	err := fo.eachSource(ctx, t, rest, func(p string, src []byte, blob string, when time.Time) error {
		m, err := fo.describeAs(ctx, t, p, src, blob, when)
		if err == nil && m != nil {
			b := t.encode(m)
			writes = append(writes, gitops.Write{ID: m.ID, Path: m.Path, New: b, Described: b})
		}
		return err
	})
	fo.Reader.Flush(ctx)
	if err != nil || len(writes)+len(part.found) == 0 {
		return err
	}
	n, _, err := fo.Store.PutMany(ctx, writes)
	fo.Count.Described.Add(int64(n))
	if err != nil {
		return err
	}
	// One batch here is cheaper than their events one by one.
	written := make([]string, 0, len(writes))
	for _, w := range writes {
		written = append(written, w.Path)
	}
	_, err = fo.Indexer.FoldBatch(ctx, written, part.found)
	return err
}
