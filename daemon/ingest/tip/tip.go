package tip

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/ingest/cut"
	"github.com/foldwatch/foldwatch/daemon/ingest/describe"
	"github.com/foldwatch/foldwatch/daemon/ingest/imports"
	"github.com/foldwatch/foldwatch/daemon/ingest/progress"
	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

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

// DescribeOptions say how far [Follower.DescribeTip] goes.
type DescribeOptions struct {
	// Gaps looks at every file of the tip, not only at what changed since the
	// cursor: those without a memory file get one.
	Gaps bool
	// Full is Gaps, and describes also what was deleted by hand.
	Full bool
}

// A tree is what is described: the files of the default branch's tip, or of the
// work tree where there is no commit yet.
type tree struct {
	oid   string // commit; "" for the work tree
	when  time.Time
	blobs map[string]string // eligible paths; the blob is "" in a work tree

	files *imports.Files     // of blobs, made when first asked for
	names map[fold.ID]string // path by id, likewise
	some  bool               // names has only those that were linked to
}

// only is the tree as far as resolving goes, with one blob to read.
func (t *tree) only(path, blob string) *tree {
	return &tree{oid: t.oid, when: t.when, blobs: map[string]string{path: blob}, files: t.files, names: t.names, some: t.some}
}

// DescribeTip brings the memory files of source files up to
// the tip of the default branch, whatever is checked out (design.md 5). Only
// paths that changed since the cursor are rewritten or removed, and never what
// describes a blob this repository does not know: that is newer than ours.
func (fo *Follower) DescribeTip(ctx context.Context, opt DescribeOptions, tell progress.Func) (r progress.Report, err error) {
	if fo.Store == nil {
		return r, nil
	}
	if opt == (DescribeOptions{}) && fo.FromWorkTree() {
		if is, err := fo.FollowsWorkTree(ctx); err != nil || is {
			return r, errors.Join(err, fo.describeSaved(ctx))
		}
	}
	if _, err := fo.OwesDescriptions(); err != nil { // nothing is owed where nothing was described yet
		return r, err
	}
	cursor, err := fo.State.Cursor(ctx, fo.Key)
	if err != nil {
		return r, err
	}
	t, err := fo.tip(ctx, cursor, opt)
	if err != nil || t == nil {
		return r, err
	}
	toFold := fo.Selection.Rules().ToFold(len(t.blobs))
	fo.SetFromWorkTree(t.oid == "")
	if opt.Gaps || opt.Full {
		if r.Kept, err = fo.followRules(ctx, t); err != nil {
			return r, fmt.Errorf("leave files out: %w", err)
		}
	}
	if t.oid == "" {
		return r, fo.describeWorkTree(ctx, t, toFold, tell)
	}
	if cursor != "" && cursor != t.oid {
		if old, err := fo.treeAt(ctx, cursor); err != nil {
			cursor = "" // rewritten history: take existing files as they are
		} else if err := fo.follow(ctx, old, t); err != nil {
			fo.whole = [2]*tree{} // a list that was kept does not say that its commit is still there
			if _, gone := fo.treeAt(ctx, cursor); gone == nil {
				return r, fmt.Errorf("describe what changed: %w", err)
			}
			cursor = ""
		}
	}
	if toFold && (opt.Gaps || opt.Full || cursor != t.oid) {
		if err := fo.fillGaps(ctx, t, tell); err != nil {
			return r, fmt.Errorf("describe files: %w", err)
		}
	}
	if err := fo.State.SetCursor(ctx, fo.Key, t.oid); err != nil {
		return r, err
	}
	if opt.Gaps || opt.Full {
		fo.gaps = fo.gapsOf(t.oid, toFold)
	}
	return r, nil
}

// tip returns the tree to describe, or nil if it is the one at the cursor and
// nothing more is asked for.
func (fo *Follower) tip(ctx context.Context, cursor string, opt DescribeOptions) (*tree, error) {
	oid := ""
	if fo.Describe != "worktree" {
		var err error
		if _, oid, err = fo.branch.Default(ctx); err != nil {
			return nil, err
		}
	}
	if oid == "" {
		files, err := fo.Selection.Eligible(ctx)
		if err != nil {
			return nil, err
		}
		t := &tree{blobs: make(map[string]string, len(files))}
		for _, p := range files {
			t.blobs[p] = ""
		}
		return t, nil
	}
	if oid == cursor && !opt.Full {
		if !opt.Gaps {
			return nil, nil
		}
		if looked, err := fo.lookedForGaps(ctx, oid); err != nil {
			return nil, err
		} else if looked {
			if owed, err := fo.owesRules(ctx); err != nil || !owed {
				return nil, err
			}
		}
	}
	return fo.treeAt(ctx, oid)
}

// treeAt returns the eligible files of a commit, nil for "".
func (fo *Follower) treeAt(ctx context.Context, oid string) (*tree, error) {
	if oid == "" {
		return nil, nil
	}
	all, err := fo.committed(ctx, oid)
	if err != nil {
		return nil, err
	}
	rules, dir := fo.Selection.Rules(), fo.Selection.FoldDir()
	blobs := make(map[string]string, len(all.blobs))
	for p, blob := range all.blobs {
		if rules.Eligible(p, dir) {
			blobs[p] = blob
		}
	}
	return &tree{oid: oid, when: all.when, blobs: blobs}, nil
}

// keptTree is how many files a commit may have for its list to be kept: a start
// needs that of the tip several times, and what follows a commit that of the tip
// before. Two lists are some 400 KB.
const keptTree = 1000

// committed returns all files of a commit, which do not change. The caller must not
// change the map of them either.
func (fo *Follower) committed(ctx context.Context, oid string) (*tree, error) {
	for _, t := range fo.whole {
		if t != nil && t.oid == oid {
			return &tree{oid: t.oid, when: t.when, blobs: t.blobs}, nil
		}
	}
	when, err := fo.branch.CommitTime(ctx, oid)
	if err != nil {
		return nil, err
	}
	blobs, err := fo.Repo.Tree(ctx, oid)
	if err != nil {
		return nil, err
	}
	if len(blobs) <= keptTree {
		fo.whole = [2]*tree{{oid: oid, when: when.UTC(), blobs: blobs}, fo.whole[0]}
	}
	return &tree{oid: oid, when: when.UTC(), blobs: blobs}, nil
}

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

// A gap is some files of a tree that have no memory file.
type gap struct {
	paths []string
	// found are those that lie in the work tree as they are in the tree, and
	// that the index does not hold: read, cut and described.
	found  []*cut.File
	writes []gitops.Write // of found
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
			count.SetWhole(fo.Indexer.Measure(slices.Sorted(slices.Values(paths))))
			return nil
		})
	}
	g.Go(func() error {
		defer close(gaps)
		most := describeFirst
		for rest := paths; len(rest) > 0; most = describeBatch {
			n := fo.partOf(rest, most)
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
func (fo *Follower) partOf(paths []string, most int) int {
	n, size := 0, int64(0)
	for n < len(paths) && n < most && size < describeBytes {
		if fo.Reader.Root != nil {
			if fi, err := fo.Reader.Root.Lstat(paths[n]); err == nil {
				size += min(fi.Size(), fo.Reader.MaxBytes)
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
			texts[i] = fo.encode(fo.describeCut(t, pr.Path, pr.Src, pr.File.Blob, pr.Result, t.when), t)
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

// describeNew puts memory files for paths of the tree. What is there already
// stays as it is.
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
			b := fo.encode(m, t)
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
	return fo.readBack(ctx, writes, part.found)
}

// readBack indexes memory files that were just written, with the sources they
// describe: some batches here are cheaper than their events one by one.
func (fo *Follower) readBack(ctx context.Context, writes []gitops.Write, found []*cut.File) error {
	written := make([]string, 0, len(writes))
	for _, w := range writes {
		written = append(written, w.Path)
	}
	_, err := fo.Indexer.FoldBatch(ctx, written, found)
	return err
}

// eachSource reads the files at paths: from the object database of a commit, or
// from the work tree.
func (fo *Follower) eachSource(ctx context.Context, t *tree, paths []string, fn func(p string, src []byte, blob string, when time.Time) error) error {
	if t.oid == "" {
		for _, p := range paths {
			src, info, _, err := disk.ReadSource(fo.Reader.Root, p, fo.Reader.MaxBytes, nil)
			if err != nil {
				continue // set aside by the sweep, with the reason
			}
			fo.Count.FilesRead.Add(1)
			fo.Count.BytesRead.Add(int64(len(src)))
			if err := fn(p, src, usergit.BlobName(src, false), time.Unix(0, info.MtimeNS).UTC().Truncate(time.Second)); err != nil {
				return err
			}
		}
		return nil
	}
	byBlob := map[string][]string{}
	var oids []string
	for _, p := range paths {
		oid := t.blobs[p]
		if byBlob[oid] == nil {
			oids = append(oids, oid)
		}
		byBlob[oid] = append(byBlob[oid], p)
	}
	return fo.Repo.Blobs(ctx, oids, func(oid string, b []byte) error {
		for _, p := range byBlob[oid] {
			if err := fn(p, b[:min(int64(len(b)), fo.Reader.MaxBytes)], oid, t.when); err != nil {
				return err
			}
		}
		return nil
	})
}

// describeAs describes one file of a tree. It returns nil for what is not
// described: empty and binary files.
func (fo *Follower) describeAs(ctx context.Context, t *tree, p string, src []byte, blob string, when time.Time) (*fold.Memory, error) {
	if len(src) == 0 || chunker.IsBinary(src) {
		return nil, nil
	}
	res, err := fo.Reader.ToDescribe(ctx, p, src)
	if err != nil {
		return nil, err
	}
	fo.nameFiles(ctx, t)
	return fo.describeCut(t, p, src, blob, res, when), nil
}

// describeCut is describeAs for a file that is cut already.
func (fo *Follower) describeCut(t *tree, p string, src []byte, blob string, res chunker.Result, when time.Time) *fold.Memory {
	s := describe.NewSubject(fo.Slug, p, blob, src, res, when, t.files)
	if t.some {
		s.Resolve = func(imp string) (string, bool) {
			to, ok := t.files.Resolve(p, res.Language, imp)
			if ok {
				t.names[fold.FileID(fo.Slug, to)] = to
			}
			return to, ok
		}
	}
	m := describe.Describe(s)
	m.ID = fold.FileID(fo.Slug, p)
	m.Path = m.ID.Path()
	for i := range m.Links {
		m.Links[i].From = m.ID
	}
	return &m
}

// nameFiles makes the names by which a tree's imports are resolved and shown.
func (fo *Follower) nameFiles(ctx context.Context, t *tree) {
	if t.files != nil {
		return
	}
	paths := make([]string, 0, len(t.blobs))
	t.names = make(map[fold.ID]string, len(t.blobs))
	for p := range t.blobs {
		paths = append(paths, p)
		t.names[fold.FileID(fo.Slug, p)] = p
	}
	sort.Strings(paths)
	t.files = imports.NewFiles(paths, func(p string) []byte {
		var out []byte
		err := fo.eachSource(ctx, t, []string{p}, func(_ string, src []byte, _ string, _ time.Time) error {
			out = bytes.Clone(src)
			return nil
		})
		if err != nil {
			return nil // imports of that module then lead nowhere
		}
		return out
	})
}

// encode returns the file of a description. Links are shown by the path of what
// they lead to, so that the text depends on the tree alone.
func (fo *Follower) encode(m *fold.Memory, t *tree) []byte {
	return fold.Encode(m, func(id fold.ID) string { return t.names[id] })
}

// DescribeOne returns the memory file of a source file that is described in the
// index only, made anew from the tip's blob, or from the work tree where the
// tip does not have it.
func (fo *Follower) DescribeOne(ctx context.Context, id fold.ID) ([]byte, error) {
	row, err := fo.index.Memory(ctx, id)
	if err != nil {
		return nil, err
	}
	t, err := fo.tip(ctx, "", DescribeOptions{Gaps: true})
	if err != nil {
		return nil, err
	}
	if _, ok := t.blobs[row.FilePath]; !ok {
		t = &tree{blobs: map[string]string{row.FilePath: ""}}
	}
	var out []byte
	err = fo.eachSource(ctx, t, []string{row.FilePath}, func(p string, src []byte, blob string, when time.Time) error {
		m, err := fo.describeAs(ctx, t, p, src, blob, when)
		if err == nil && m != nil {
			out = fo.encode(m, t)
		}
		return err
	})
	if err == nil && out == nil {
		err = fmt.Errorf("source file %s cannot be described: %w", row.FilePath, fold.ErrInvalid)
	}
	return out, err
}
