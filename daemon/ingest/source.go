package ingest

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/ingest/cut"
	"github.com/foldwatch/foldwatch/daemon/ingest/describe"
	"github.com/foldwatch/foldwatch/daemon/ingest/progress"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

const (
	batchFiles = 2048    // files of one transaction
	batchBytes = 4 << 20 // and at most this much of their text
	partFiles  = 16      // files handed to a worker at once
	groupFiles = 64      // files of one look into the cache
	groupBytes = 1 << 20 // and at most this much of their text, and one file more
)

// Source brings the index up to the source files at paths, relative to the
// checkout. A path that is certainly gone, or no longer eligible, leaves the
// index. Work is applied in batches, so that a crash loses at most the last.
func (in *Ingester) Source(ctx context.Context, paths []string, tell progress.Func) (progress.Report, error) {
	if in.root == nil || len(paths) == 0 {
		return progress.Report{}, nil
	}
	defer func() { in.leaving = nil }()
	in.recent = recent{}
	known, err := in.manifest(ctx, paths, false)
	if err != nil {
		return progress.Report{}, err
	}
	total := progress.Report{}
	work := make(chan []string)
	done := make(chan []*cut.File, 1)
	count := progress.NewTally(tell, progress.StageIndexing, len(paths))
	g, gctx := errgroup.WithContext(ctx)
	if tell != nil && len(paths) > batchFiles {
		g.Go(func() error {
			count.SetWhole(in.reader.Measure(paths))
			return nil
		})
	}
	g.Go(func() error {
		defer close(work)
		for part := range slices.Chunk(paths, partFiles) {
			select {
			case work <- part:
			case <-gctx.Done():
				return gctx.Err()
			}
		}
		return nil
	})
	var readers errgroup.Group
	for range in.Workers {
		readers.Go(func() error { return in.prepareAll(gctx, work, done, known) })
	}
	g.Go(func() error {
		defer close(done)
		return readers.Wait()
	})
	g.Go(func() error { return in.applyAll(gctx, done, &total, count) })
	err = g.Wait()
	in.reader.Flush(ctx)
	if err != nil {
		return total, fmt.Errorf("index source files: %w", err)
	}
	return total, nil
}

// prepareAll prepares the files it is given, some at a time: what is known of
// them in the cache is then asked for at once.
func (in *Ingester) prepareAll(ctx context.Context, work <-chan []string, done chan<- []*cut.File, known map[string]index.File) error {
	var part []string
	for more := true; more; {
		var group []*cut.File
		for size := 0; more && len(group) < groupFiles && size < groupBytes; {
			if len(part) == 0 {
				if part, more = <-work; !more {
					break
				}
			}
			p := part[0]
			part = part[1:]
			old, ok := known[p]
			pr, err := in.reader.Read(ctx, p, old, ok, in.leaving[p])
			if err != nil {
				return err
			}
			pr.Remember = len(known) > 0
			group = append(group, pr)
			size += pr.Held()
		}
		in.reader.LookUp(ctx, group)
		for _, pr := range group {
			if err := in.reader.Finish(ctx, pr); err != nil {
				return err
			}
		}
		select {
		case done <- group:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (in *Ingester) applyAll(ctx context.Context, done <-chan []*cut.File, total *progress.Report, count *progress.Tally) error {
	var batch []*cut.File
	size := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		r, err := in.applySource(ctx, batch)
		if err != nil {
			return err
		}
		total.Add(r)
		count.Keep(len(batch))
		batch, size = nil, 0
		return nil
	}
	for group := range done {
		for _, pr := range group {
			batch = append(batch, pr)
			size += len(pr.Src)
			count.Worked(1, min(pr.File.Size, in.MaxBytes))
			if len(batch) >= batchFiles || size >= batchBytes {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	return flush()
}

// applySource writes one batch: SQLite first, then the text index. Vectors
// follow by themselves, see [Ingester.Embed].
func (in *Ingester) applySource(ctx context.Context, batch []*cut.File) (progress.Report, error) {
	ids := make([]fold.ID, 0, len(batch))
	for _, pr := range batch {
		ids = append(ids, pr.ID)
	}
	described, err := in.Index.Described(ctx, ids)
	if err != nil {
		return progress.Report{}, err
	}
	rows, err := in.memories(ctx, slices.DeleteFunc(ids, func(id fold.ID) bool { return described[id] != "fold" }))
	if err != nil {
		return progress.Report{}, err
	}
	var r Report
	var changes []index.Change
	texts := map[string]*cut.File{} // by memory id
	for _, pr := range batch {
		r.Checked++
		switch {
		case pr.Unchanged:
			r.Unchanged++
			changes = append(changes, index.Change{File: &pr.File})
		case pr.Gone:
			r.Removed++
			changes = append(changes, dropped(pr, rows, described)...)
		case pr.File.State != "indexed":
			if pr.File.State == "failed" {
				r.Failed++
			} else {
				r.Skipped++
			}
			changes = append(changes, dropped(pr, rows, described)...)
			changes = append(changes, index.Change{File: &pr.File})
		default:
			r.Indexed++
			pr.Fresh = pr.Fresh || described[pr.ID] == ""
			changes = append(changes, in.sourceChange(ctx, pr, rows))
			texts[string(pr.ID)] = pr
			in.recent.keep(pr)
			r.Memories = append(r.Memories, pr.ID)
		}
	}
	if err := in.NoteSaved(ctx, batch, described); err != nil {
		return r, err
	}
	if err := in.catchUpFirst(ctx); err != nil {
		return r, err
	}
	applied, err := in.apply(ctx, changes)
	if err != nil {
		return r, err
	}
	in.recent.cut(applied.Now)
	return r, in.applyText(ctx, applied, changes, texts)
}

// dropped takes a source file out of the index. A memory that has its own file
// in fold/ stays, without chunks: rows has those, and described all there are.
func dropped(pr *cut.File, rows map[fold.ID]index.Row, described map[fold.ID]string) []index.Change {
	out := []index.Change{{Drop: pr.Path}}
	if old, own := rows[pr.ID]; own {
		old.Stale = old.SourceBlob != ""
		out = append(out, index.Change{Memory: &old, SetChunks: true})
	} else if described[pr.ID] != "" {
		out = append(out, index.Change{Forget: pr.ID})
	}
	return out
}

// sourceChange is what an indexed file changes: its manifest entry, its chunks,
// and its memory where that is kept in the index only: rows has the others.
func (in *Ingester) sourceChange(ctx context.Context, pr *cut.File, rows map[fold.ID]index.Row) index.Change {
	c := index.Change{File: &pr.File, Chunks: pr.Chunks, SetChunks: true}
	if old, own := rows[pr.ID]; own {
		old.Stale = stale(old.SourceBlob, pr.File.Blob, pr.Src)
		c.Memory = &old
		return c
	}
	m, asked := in.described(ctx, pr)
	row := index.Row{Memory: *m, Described: "index"}
	c.Memory, c.Lookups, c.Links, c.SetLinks = &row, asked, m.Links, true
	return c
}

// stale reports whether src differs from the blob that was described, also when
// git would store its line ends as LF. Clean filters are asked of git's index
// in a sweep, see [Ingester.RefreshStale].
func stale(described, blob string, src []byte) bool {
	if described == "" || described == blob {
		return false
	}
	long := len(described) == 64 // a repository of SHA-256 objects
	return described != usergit.BlobName(src, long) &&
		described != usergit.BlobName(bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n")), long)
}

// ReadSource returns a source file as it lies in the checkout, at most its
// first MaxBytes, nil if it is not there.
func (in *Ingester) ReadSource(_ context.Context, path string) ([]byte, error) {
	if in.root == nil {
		return nil, nil
	}
	src, _, _, err := disk.ReadSource(in.root, path, in.MaxBytes, nil)
	if disk.Missing(err) {
		return nil, nil
	}
	return src, err
}

// ReadParts reads parts of a source file as [disk.ReadParts] does; of one that is
// not there, none.
func (in *Ingester) ReadParts(_ context.Context, path string, parts [][2]int, fn func(i int, part []byte)) error {
	if in.root == nil {
		return nil
	}
	if err := disk.ReadParts(in.root, path, in.MaxBytes, parts, fn); !disk.Missing(err) {
		return err
	}
	return nil
}

// IndexRules tells the rules by which an index is made of source files from
// others: where they are others it is to be made anew, see [index.DB.Recut].
func IndexRules(by chunker.Options) string {
	return cut.Rules(by) + " describer " + describe.Version
}

// fileAnew is [Ingester.Source] for files whose content may be what it was.
func (in *Ingester) fileAnew(ctx context.Context, paths []string) error {
	for _, p := range paths {
		if err := in.forgetSource(ctx, p); err != nil {
			return err
		}
	}
	_, err := in.Source(ctx, paths, nil)
	return err
}

// describeAgain describes the files again whose memories are among ids, of those that
// the index alone describes.
func (in *Ingester) describeAgain(ctx context.Context, ids []fold.ID) error {
	rows, err := in.memories(ctx, ids)
	if err != nil {
		return err
	}
	var again []string
	for _, row := range rows {
		if row.Described == "index" {
			again = append(again, row.FilePath)
		}
	}
	slices.Sort(again)
	return in.fileAnew(ctx, again)
}
