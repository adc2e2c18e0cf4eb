package ingest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/ingest/cut"
	"github.com/foldwatch/foldwatch/daemon/ingest/describe"
	"github.com/foldwatch/foldwatch/daemon/ingest/progress"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

const (
	batchFiles = 2048    // files of one transaction
	batchBytes = 4 << 20 // and at most this much of their text
	partFiles  = 16      // files handed to a worker at once
	groupFiles = 64      // files of one look into the cache
	groupBytes = 1 << 20 // and at most this much of their text, and one file more
	racy       = 15 * time.Millisecond

	// textBatch is how many documents are given to the text index at once. Three
	// rebuilds of the Go source (117,278 chunks) took 11.1 to 13.1 s of processor and
	// 212 to 232 MB at most with it, three with 4000 took 12.6 to 13.7 s and 234 to
	// 333 MB, in turns.
	textBatch = 1000
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
			count.SetWhole(in.measure(paths))
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

// manifest returns what is known of paths, and maybe of others: those of a branch
// by name, those of a first index all at once.
func (in *Ingester) manifest(ctx context.Context, paths []string, foldFiles bool) (map[string]index.File, error) {
	if len(paths) > 8192 {
		return in.Index.Files(ctx, foldFiles)
	}
	return in.Index.FilesByPath(ctx, paths, foldFiles)
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
	c.Memory, c.Asked, c.Links, c.SetLinks = &row, asked, m.Links, true
	return c
}

// applyText brings the words of the changes that were applied into the text
// index.
func (in *Ingester) applyText(ctx context.Context, applied index.Applied, changes []index.Change, texts map[string]*cut.File) error {
	in.worded = false
	rows, err := in.rowsOf(ctx, applied, changes)
	if err != nil {
		return err
	}
	added := make(map[string]bool, len(applied.Added))
	for _, id := range applied.Added {
		added[id] = true
	}
	var docs []textindex.Doc
	for _, id := range applied.Memories {
		row, ok := rows[id]
		if !ok {
			continue
		}
		pr := texts[string(id)]
		if pr == nil {
			docs = append(docs, memoryDoc(row))
			continue
		}
		docs = append(docs, sourceDocs(row, pr, applied.Rows[id], added)...)
	}
	// In parts, which bounds memory. Only the last moves the sequence on, so that
	// a crash between two repeats them all.
	for len(docs) > textBatch {
		if err := in.putText(ctx, in.Text.Seq(), docs[:textBatch], nil); err != nil {
			return err
		}
		docs = docs[textBatch:]
	}
	err = in.putText(ctx, applied.Seq, docs, dropKeys(applied))
	in.worded = err == nil
	return err
}

// sourceDocs returns the documents to put of a source file: of its chunks those
// that were added, of its memory one, unless a chunk can tell what changed. A
// branch switch changes thousands of memories in nothing but blob and time.
func sourceDocs(row index.Row, pr *cut.File, change index.RowChange, added map[string]bool) []textindex.Doc {
	// Chunks are filtered by the fields of their memory, and none of them may date
	// it later than it is.
	fresh := pr.Fresh || change.FilterChanged || row.UpdatedAt.Before(change.Was)
	var docs []textindex.Doc
	for _, c := range pr.Chunks {
		if fresh || added[c.ID] {
			docs = append(docs, chunkDoc(row, c, pr.Src))
		}
	}
	if fresh || change.ContentChanged || change.Was.IsZero() || row.Described != "index" || len(docs) == 0 {
		return append(docs, memoryDoc(row))
	}
	for i := range docs {
		docs[i].Dates = true
	}
	return docs
}

// rowsOf returns the rows of the memories that changed: those that were just
// stored, and the others from the index.
func (in *Ingester) rowsOf(ctx context.Context, applied index.Applied, changes []index.Change) (map[fold.ID]index.Row, error) {
	rows := make(map[fold.ID]index.Row, len(applied.Memories))
	for i := range changes {
		switch c := &changes[i]; {
		case c.Memory != nil:
			rows[c.Memory.ID] = *c.Memory
		case c.Forget != "":
			delete(rows, c.Forget)
		}
	}
	var rest []fold.ID
	for _, id := range applied.Memories {
		if _, ok := rows[id]; !ok {
			rest = append(rest, id)
		}
	}
	stored, err := in.memories(ctx, rest)
	if err != nil {
		return nil, err
	}
	maps.Copy(rows, stored)
	return rows, nil
}

func dropKeys(applied index.Applied) []string {
	drop := make([]string, 0, len(applied.Removed)+len(applied.Forgotten))
	for _, id := range applied.Removed {
		drop = append(drop, chunkKey(id))
	}
	for _, id := range applied.Forgotten {
		drop = append(drop, memoryKey(id))
	}
	return drop
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

// measure finds out how large the source files at paths are, in all. It looks
// at folder by folder, which is a fifth of the work where paths are sorted.
func (in *Ingester) measure(paths []string) int64 {
	var dir *os.Root
	var at string
	defer func() {
		if dir != nil {
			dir.Close()
		}
	}()
	total := int64(0)
	for _, p := range paths {
		if d := path.Dir(p); dir == nil || d != at {
			next, err := in.root.OpenRoot(d)
			if err != nil {
				continue // what is wrong with it, reading it tells
			}
			if dir != nil {
				dir.Close()
			}
			dir, at = next, d
		}
		if fi, err := dir.Lstat(path.Base(p)); err == nil && fi.Mode().IsRegular() {
			total += min(fi.Size(), in.MaxBytes)
		}
	}
	return total
}
