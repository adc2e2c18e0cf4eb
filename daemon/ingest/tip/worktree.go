package tip

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/daemon/ingest/cut"
	"github.com/foldwatch/foldwatch/daemon/ingest/progress"
	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

// Where there is no commit yet, or the settings say so, memory files describe
// the work tree. All of it is compared in a sweep; after a save only what was
// saved is looked at.

// FromWorkTree reports whether what was described last is the work tree: every
// save then has to be followed by [Follower.DescribeTip].
func (fo *Follower) FromWorkTree() bool {
	return fo.fromWorkTree.Load()
}

func (fo *Follower) SetFromWorkTree(is bool) {
	fo.fromWorkTree.Store(is)
	if !is {
		fo.saved = nil
	}
}

// notePendingGone names the note of source files that went from the work tree, and
// whose memory files have not been seen to: the index does not know them any
// more.
const notePendingGone = "owed gone"

// NoteSaved notes source files that changed, for describeSaved, and those that
// went and have a memory file also for after a crash. rows are their memories.
func (fo *Follower) NoteSaved(ctx context.Context, batch []*cut.File, described map[fold.ID]string) error {
	if fo.Store == nil || !fo.FromWorkTree() {
		return nil
	}
	if fo.saved == nil {
		fo.saved = map[string]bool{}
	}
	var gone []string
	for _, pr := range batch {
		if !pr.Unchanged {
			fo.saved[pr.Path] = true
		}
		if pr.Gone && described[pr.ID] == "fold" {
			gone = append(gone, pr.Path)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	pending, err := fo.pendingGone(ctx)
	if err != nil {
		return err
	}
	lines := make([]string, 0, len(pending)+len(gone))
	for _, p := range distinct(append(pending, gone...)) {
		lines = append(lines, strconv.Quote(p))
	}
	return fo.State.SetNote(ctx, fo.Key, notePendingGone, strings.Join(lines, "\n"))
}

// pendingGone returns what the note names.
func (fo *Follower) pendingGone(ctx context.Context) ([]string, error) {
	note, err := fo.State.Note(ctx, fo.Key, notePendingGone)
	if err != nil {
		return nil, err
	}
	var paths []string
	for line := range strings.Lines(note) {
		if p, err := strconv.Unquote(strings.TrimSuffix(line, "\n")); err == nil {
			paths = append(paths, p)
		}
	}
	return paths, nil
}

// describeSaved describes the source files that changed since the work tree was
// described last.
func (fo *Follower) describeSaved(ctx context.Context) error {
	if len(fo.saved) == 0 {
		return nil
	}
	set := fo.Selection.Files()
	t := &tree{blobs: make(map[string]string, len(fo.saved)), files: set, names: map[fold.ID]string{}, some: true}
	paths := slices.Sorted(maps.Keys(fo.saved))
	for _, p := range paths {
		if set.Has(p) {
			t.blobs[p] = ""
		}
	}
	known, err := fo.Indexer.Manifest(ctx, paths)
	if err != nil {
		return err
	}
	var none []string // without a memory file
	for _, p := range paths {
		there, err := fo.describeInTree(ctx, t, p, known[p])
		if err != nil {
			return fmt.Errorf("%s: %w", path.Base(p), err)
		}
		if f := known[p]; !there && f.State == "indexed" {
			none = append(none, p)
		}
	}
	if len(none) > 0 && fo.Selection.Rules().ToFold(set.Len()) {
		gone, err := fo.State.Gone(ctx, fo.Slug)
		if err != nil {
			return err
		}
		none = slices.DeleteFunc(none, func(p string) bool { return gone[fold.FileID(fo.Slug, p)] })
		if err := fo.describeAll(ctx, t, none, known, nil); err != nil {
			return err
		}
	}
	return fo.describedSaved(ctx, paths)
}

// describedSaved notes that the saved files are described.
func (fo *Follower) describedSaved(ctx context.Context, paths []string) error {
	for _, p := range paths {
		delete(fo.saved, p)
	}
	pending, err := fo.pendingGone(ctx)
	if err != nil || len(pending) == 0 {
		return err
	}
	return fo.State.SetNote(ctx, fo.Key, notePendingGone, "")
}

// describeWorkTree describes what lies in the work tree, where that is wanted
// or there is no commit yet.
func (fo *Follower) describeWorkTree(ctx context.Context, t *tree, toFold bool, tell progress.Func) error {
	if toFold {
		if err := fo.fillGaps(ctx, t, tell); err != nil {
			return err
		}
	}
	have, err := fo.index.Files(ctx, false)
	if err != nil {
		return err
	}
	described, err := fo.index.DescribedBlobs(ctx)
	if err != nil {
		return err
	}
	pending, err := fo.pendingGone(ctx)
	if err != nil {
		return err
	}
	todo := append(slices.Collect(maps.Keys(fo.saved)), pending...)
	for p := range t.blobs {
		if blob, ok := described[fold.FileID(fo.Slug, p)]; ok && blob != have[p].Blob && have[p].State == "indexed" {
			todo = append(todo, p)
		}
	}
	todo = distinct(todo)
	fo.nameFiles(ctx, t)
	for _, p := range todo {
		if _, err := fo.describeInTree(ctx, t, p, have[p]); err != nil {
			return fmt.Errorf("%s: %w", path.Base(p), err)
		}
	}
	return fo.describedSaved(ctx, todo)
}

// describeInTree brings the memory file of one source file up to what lies in
// the work tree, and reports whether there is one. f is what the manifest says
// of it.
func (fo *Follower) describeInTree(ctx context.Context, t *tree, p string, f index.File) (has bool, err error) {
	m, b, err := fo.onDisk(fold.FileID(fo.Slug, p))
	if err != nil {
		return true, ignoreQuarantined(err)
	}
	committed := &tree{oid: "HEAD", blobs: t.blobs, files: t.files, names: t.names, some: t.some}
	there, gone := fo.Selection.Stands(p)
	switch {
	case gone:
		return m != nil, fo.sourceDeleted(ctx, committed, p)
	case !there:
		return true, nil // not to be read now: nothing is known to have changed
	case m == nil:
		return false, nil
	case f.State != "indexed":
		return true, nil
	case keptByHand(m, p):
		return true, fo.reclaim(ctx, t, p, m, b)
	case m.Source != fold.SourceFile || m.SourceBlob == f.Blob:
		return true, nil
	}
	base, err := fo.lastDescription(ctx, committed, p, m)
	if err != nil {
		base = nil // the old content was never committed
	}
	return true, fo.eachSource(ctx, t, []string{p}, func(p string, src []byte, blob string, when time.Time) error {
		now, err := fo.describeAs(ctx, t, p, src, blob, when)
		if err != nil || now == nil {
			return err
		}
		fo.Count.Described.Add(1)
		now.MovedFrom = m.MovedFrom
		text := t.encode(now)
		return fo.put(ctx, gitops.Write{ID: m.ID, Path: m.Path, Base: base, New: text, Merge: true, Described: text})
	})
}

// distinct returns the paths of a list once each.
func distinct(paths []string) []string {
	slices.Sort(paths)
	return slices.Compact(paths)
}
