package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/daemon/ingest/cut"
	"github.com/foldwatch/foldwatch/daemon/ingest/progress"
	"github.com/foldwatch/foldwatch/daemon/ingest/tip"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/secret"
)

// Fold brings the index up to the files at paths, relative to fold/. What
// cannot be read as a memory is set aside with its reason; a file that is
// certainly gone leaves the index, and the source it described is described
// there again.
func (in *Ingester) Fold(ctx context.Context, paths []string, tell progress.Func) (progress.Report, error) {
	paths, err := in.belowGone(ctx, paths)
	if err != nil {
		return progress.Report{}, err
	}
	paths = in.withLookalikes(paths)
	sort.Strings(paths)
	var total Report
	bulk, err := in.beginBulk(ctx, len(paths))
	if err != nil {
		return progress.Report{}, err
	}
	count := progress.NewTally(tell, progress.StageReading, len(paths))
	for start := 0; start < len(paths); start += batchFiles {
		r, err := in.foldBatch(ctx, paths[start:min(start+batchFiles, len(paths))], nil)
		total.Add(r)
		if err != nil {
			in.bulk = false // what it owes, a sweep does
			return total, fmt.Errorf("index memory files: %w", err)
		}
		n := min(batchFiles, len(paths)-start)
		count.Worked(n, 0)
		count.Keep(n)
	}
	if bulk {
		return total, in.endBulk(ctx)
	}
	return total, nil
}

// belowGone adds to paths what was known below folders that are gone.
func (in *Ingester) belowGone(ctx context.Context, paths []string) ([]string, error) {
	var dirs []string
	for _, p := range paths {
		if isMemoryPath(p) || p == fold.ProjectFile || disk.IsTemp(p) {
			continue
		}
		if _, err := in.Options.Fold.Lstat(p); disk.Missing(err) {
			dirs = append(dirs, p+"/")
		}
	}
	if len(dirs) == 0 {
		return paths, nil
	}
	known, err := in.Index.Files(ctx, true)
	if err != nil {
		return nil, err
	}
	for p := range known {
		for _, d := range dirs {
			if strings.HasPrefix(p, d) {
				paths = append(paths, p)
			}
		}
	}
	return distinct(paths), nil
}

// foldBatch indexes some files below fold/, together with the source files that
// they describe where those are at hand: one transaction, one change of words.
func (in *Ingester) foldBatch(ctx context.Context, paths []string, sources []*cut.File) (progress.Report, error) {
	var r Report
	known, err := in.manifest(ctx, paths, true)
	if err != nil {
		return r, err
	}
	var found []*foldChange
	err = in.Options.Fold.Reading(func(from disk.Reader) error {
		for _, p := range paths {
			if p == fold.ProjectFile {
				r.ProjectFile = true
				continue
			}
			if !isMemoryPath(p) {
				continue
			}
			old, ok := known[p]
			fc, err := in.readMemory(ctx, from, p, old, ok)
			if err != nil {
				return err
			}
			if fc != nil {
				found = append(found, fc)
			}
		}
		return nil
	})
	if err != nil {
		return r, err
	}
	if err := in.promote(ctx, found); err != nil {
		return r, err
	}
	with := make(map[fold.ID]*cut.File, len(sources))
	for _, pr := range sources {
		with[pr.ID] = pr
	}
	changes, again, err := in.foldChanges(ctx, found, with, &r)
	if err != nil {
		return r, err
	}
	more, texts := sourceChanges(found, sources)
	if changes = append(changes, more...); len(changes) == 0 {
		return r, nil
	}
	if err := in.catchUpFirst(ctx); err != nil {
		return r, err
	}
	applied, err := in.apply(ctx, changes)
	if err != nil {
		return r, err
	}
	r.Memories = append(r.Memories, applied.Memories...)
	if err := in.applyText(ctx, applied, changes, texts); err != nil {
		return r, err
	}
	if err := in.relinkDangling(ctx, found); err != nil {
		return r, err
	}
	return r, in.afterFold(ctx, again)
}

// sourceChanges files source files under the memories of the same batch that
// describe them. A source whose memory file says something else, or cannot be
// read, is left to the sweep. texts are the filed ones, by memory.
func sourceChanges(found []*foldChange, sources []*cut.File) (changes []index.Change, texts map[string]*cut.File) {
	described := make(map[fold.ID]bool, len(found))
	for _, fc := range found {
		if fc.m != nil && fc.m.Source == fold.SourceFile {
			described[fc.m.ID] = true
		}
	}
	texts = make(map[string]*cut.File, len(sources))
	for _, pr := range sources {
		switch {
		case pr.File.State != "indexed":
			changes = append(changes, index.Change{File: &pr.File})
		case described[pr.ID]:
			changes = append(changes, index.Change{ID: pr.ID, File: &pr.File, Chunks: pr.Chunks, SetChunks: true})
			texts[string(pr.ID)] = pr
		}
	}
	return changes, texts
}

// readMemory reads one file below fold/. It returns nil if nothing about it
// changed since the manifest was written.
func (in *Ingester) readMemory(ctx context.Context, from disk.Reader, p string, old index.File, known bool) (*foldChange, error) {
	fc := &foldChange{was: old, known: known}
	fc.file = index.File{Path: p, Fold: true}
	if other := givesWayTo(from, p); other != "" {
		fc.aside, fc.file.State, fc.file.Reason = true, "quarantined", lookalike(other)
		return fc, nil
	}
	if known && (old.State == "indexed" || old.State == buried) {
		if info, err := from.Lstat(p); err == nil && sameStat(old, info) {
			return nil, nil // our own write, or an event that came twice
		}
	}
	start := time.Now()
	b, info, err := from.Read(p, maxMemory)
	switch {
	case disk.Missing(err):
		fc.gone = true
		if !known {
			return nil, nil
		}
		return fc, nil
	case errors.Is(err, disk.ErrNotRegular):
		fc.file.State, fc.file.Reason = "quarantined", "not a regular file; links are not followed"
		return fc, nil
	case errors.Is(err, disk.ErrTooLarge):
		fc.file.State, fc.file.Reason = "quarantined", fmt.Sprintf("larger than %d KiB", maxMemory>>10)
		return fc, nil
	case err != nil:
		fc.file.State, fc.file.Reason = "failed", cut.ReadReason(err)
		return fc, ctx.Err()
	}
	fc.file.Size, fc.file.MtimeNS, fc.file.Inode = info.Size, info.MtimeNS, info.Inode
	fc.when = time.Unix(0, info.MtimeNS).UTC().Truncate(time.Second)
	if start.UnixNano()-info.MtimeNS < int64(cut.Racy) {
		fc.file.MtimeNS = -1
	}
	fc.bytes = b
	fc.file.Hash = fold.ContentHash(b)
	if known && old.Hash == fc.file.Hash && old.State == "indexed" {
		fc.file.State, fc.file.MemoryID = old.State, old.MemoryID
		return fc, nil // applied as a new stat only
	}
	m, err := fold.Decode(in.Slug, p, b)
	if err != nil {
		fc.file.State, fc.file.Reason = "quarantined", strings.TrimSuffix(err.Error(), ": "+fold.ErrQuarantined.Error())
		return fc, nil
	}
	if m.Deleted {
		fc.tomb, fc.file.State = m, buried
		return fc, nil
	}
	if reason := in.heldBack(ctx, m.ID, b); reason != "" {
		fc.file.State, fc.file.Reason, fc.file.MemoryID = "quarantined", reason, m.ID
		return fc, nil
	}
	fc.m, fc.file.MemoryID, fc.file.State = m, m.ID, "indexed"
	return fc, nil
}

// heldBack returns why a memory file is not taken in: it holds a credential
// that nobody allowed.
func (in *Ingester) heldBack(ctx context.Context, id fold.ID, b []byte) string {
	findings := secret.Scan(b)
	if len(findings) == 0 {
		return ""
	}
	allowed, err := in.Allowed(ctx, id)
	if err != nil {
		allowed = nil
	}
	for _, f := range findings {
		if !allowed[f.Rule] {
			return fmt.Sprintf("line %d holds a credential (rule %s); take it out, or: foldwatch memory add --allow-secret %s", f.Line, f.Rule, f.Rule)
		}
	}
	return ""
}

// foldChanges turns what was found into changes of the index. The paths of
// source files that have to be described in the index again come second. with
// are the source files that are filed in the same transaction, by memory.
func (in *Ingester) foldChanges(ctx context.Context, found []*foldChange, with map[fold.ID]*cut.File, r *progress.Report) ([]index.Change, []string, error) {
	var ids []fold.ID
	for _, fc := range found {
		ids = append(ids, fc.was.MemoryID, fc.file.MemoryID)
	}
	rows, err := in.memories(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	resolver, err := in.resolverWith(ctx, found)
	if err != nil {
		return nil, nil, err
	}
	taken := map[fold.ID]bool{} // by a file that has it now, under whatever name
	for _, fc := range found {
		if fc.m != nil {
			taken[fc.m.ID] = true
		}
	}
	var changes []index.Change
	var again []string
	for _, fc := range found {
		r.Checked++
		fc.noteBefore(rows)
		if fc.known && fc.was.MemoryID != "" && !fc.aside && !taken[fc.was.MemoryID] && rows[fc.was.MemoryID].Path == fc.file.Path && (fc.gone || fc.m == nil && fc.file.State != "indexed" || fc.m != nil && fc.m.ID != fc.was.MemoryID) {
			row := rows[fc.was.MemoryID]
			changes = append(changes, index.Change{Forget: fc.was.MemoryID})
			if row.Source == fold.SourceFile && row.FilePath != "" && fold.FileID(in.Slug, row.FilePath) == row.ID {
				again = append(again, row.FilePath)
			}
		}
		switch {
		case fc.gone:
			r.Removed++
			if err := in.deletedByHand(ctx, fc, rows[fc.was.MemoryID], len(found)); err != nil {
				return nil, nil, err
			}
			changes = append(changes, index.Change{Drop: fc.file.Path, DropFold: true})
		case fc.tomb != nil:
			r.Removed++
			if err := in.deletedForAll(ctx, fc.tomb); err != nil {
				return nil, nil, err
			}
			changes = append(changes, index.Change{File: &fc.file})
		case fc.m == nil && fc.file.State == "indexed":
			r.Unchanged++
			changes = append(changes, index.Change{File: &fc.file})
		case fc.m == nil:
			r.Failed++
			changes = append(changes, index.Change{File: &fc.file})
		default:
			r.Indexed++
			fc.named = !sameNames(rows[fc.m.ID], fc)
			c, redo, err := in.memoryChange(ctx, fc, rows[fc.m.ID], with[fc.m.ID], resolver)
			if err != nil {
				return nil, nil, err
			}
			changes = append(changes, c)
			if redo {
				again = append(again, fc.m.FilePath)
			}
		}
	}
	return changes, again, nil
}

// memoryChange is what one readable memory file changes. redo says that the
// chunks of the source it describes have to be filed anew, because they are
// filtered by the memory's fields. with is that source if it is filed in the
// same transaction.
func (in *Ingester) memoryChange(ctx context.Context, fc *foldChange, old index.Row, with *cut.File, resolver *fold.Resolver) (index.Change, bool, error) {
	row := index.Row{Memory: *fc.m, Described: "fold", ContentHash: fc.file.Hash}
	row.Path = fc.file.Path
	if row.UpdatedAt.IsZero() { // a note that says nothing of its age is as old as its file
		row.UpdatedAt = fc.when
	}
	if row.CreatedAt.IsZero() {
		row.CreatedAt = row.UpdatedAt
	}
	fc.file.State = "indexed"
	own := row.Source == fold.SourceFile && row.FilePath != "" && fold.FileID(in.Slug, row.FilePath) == row.ID
	if own {
		var err error
		if row.Stale, err = in.staleNow(ctx, row, old, with); err != nil {
			return index.Change{}, false, err
		}
	}
	if own && old.ID == "" {
		if err := in.State.SetGone(ctx, in.Slug, row.ID, false); err != nil {
			return index.Change{}, false, err
		}
	}
	redo := own && old.ID != "" && !sameFilters(old, row)
	links := fc.m.WrittenLinks(resolver.Resolve)
	c := index.Change{File: &fc.file, Memory: &row, Links: links, SetLinks: true}
	if row.Source == fold.SourceGit && (row.Type == tip.PullType || old.Type == tip.PullType) {
		c.Derived, c.SetDerived = tip.PullLinks(in.Slug, fc.m), true
	}
	return c, redo, nil
}

// staleNow reports whether the source that row describes is known to be another
// than was described, by what is known of it already: the sweep of sources has
// the last word. Old is the row before.
func (in *Ingester) staleNow(ctx context.Context, row, old index.Row, with *cut.File) (bool, error) {
	if with != nil && with.File.State == "indexed" {
		return stale(row.SourceBlob, with.File.Blob, with.Src), nil
	}
	src, err := in.Index.FileByPath(ctx, row.FilePath, false)
	switch {
	case errors.Is(err, fold.ErrNotFound), err == nil && src.State != "indexed":
		return in.root != nil && row.SourceBlob != "", nil // not in the checkout, or not to be read
	case err != nil:
		return false, err
	}
	differs := row.SourceBlob != "" && src.Blob != row.SourceBlob
	if old.ID != "" && old.SourceBlob == row.SourceBlob {
		return differs && old.Stale, nil // git may have called it equal
	}
	return differs, nil
}

// deletedByHand remembers that the description of a source file or of a commit
// was deleted, so that it is not made again by itself. Many at once are no one's
// decision.
func (in *Ingester) deletedByHand(ctx context.Context, fc *foldChange, row index.Row, n int) error {
	described := row.Source == fold.SourceFile && row.FilePath != "" || row.Source == fold.SourceGit && row.Commit != ""
	if n > 10 || !described {
		return nil
	}
	return in.State.SetGone(ctx, in.Slug, fc.was.MemoryID, true)
}

// deletedForAll is deletedByHand of a memory that has a tombstone: whoever deleted
// it decided for all, however many they were.
func (in *Ingester) deletedForAll(ctx context.Context, m *fold.Memory) error {
	if m.Source != fold.SourceFile && m.Source != fold.SourceGit {
		return nil
	}
	return in.State.SetGone(ctx, in.Slug, m.ID, true)
}

// afterFold files source files anew whose memory came, went or moved to other
// filters.
func (in *Ingester) afterFold(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	if err := in.fileAnew(ctx, paths); err != nil {
		return err
	}
	known, err := in.manifest(ctx, paths, false)
	if err != nil {
		return err
	}
	gone := slices.DeleteFunc(slices.Clone(paths), func(p string) bool { _, ok := known[p]; return ok })
	if len(gone) == 0 {
		return nil
	}
	return in.deriveLinks(ctx, gone, nil) // no sweep will see them go
}

// walkFold returns what lies below fold/, sorted by path.
func (in *Ingester) walkFold() (paths []string, infos []disk.Info, err error) {
	err = in.Options.Fold.Walk(func(p string, info disk.Info) error {
		if info.Mode.IsDir() {
			if strings.HasPrefix(path.Base(p), ".") {
				return fs.SkipDir
			}
			return nil
		}
		if isMemoryPath(p) || p == fold.ProjectFile || info.Mode&fs.ModeSymlink != 0 && !strings.HasPrefix(path.Base(p), ".") {
			paths, infos = append(paths, p), append(infos, info)
		}
		return nil
	})
	if err == nil && !sort.StringsAreSorted(paths) { // a folder may come before a file that sorts first
		sort.Sort(&walked{paths, infos})
	}
	return paths, infos, err
}

// walked sorts what a walk found by path.
type walked struct {
	paths []string
	infos []disk.Info
}

func (w *walked) Len() int           { return len(w.paths) }
func (w *walked) Less(i, j int) bool { return w.paths[i] < w.paths[j] }
func (w *walked) Swap(i, j int) {
	w.paths[i], w.paths[j] = w.paths[j], w.paths[i]
	w.infos[i], w.infos[j] = w.infos[j], w.infos[i]
}
