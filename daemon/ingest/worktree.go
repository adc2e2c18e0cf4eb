package ingest

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
// save then has to be followed by [Ingester.DescribeTip].
func (in *Ingester) FromWorkTree() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.fromWorkTree
}

func (in *Ingester) setFromWorkTree(is bool) {
	in.mu.Lock()
	in.fromWorkTree = is
	in.mu.Unlock()
	if !is {
		in.saved = nil
	}
}

// followsWorkTree reports whether the work tree is to be described.
func (in *Ingester) followsWorkTree(ctx context.Context) (bool, error) {
	if in.Describe == "worktree" {
		return true, nil
	}
	_, oid, err := in.branch.Default(ctx)
	return err == nil && oid == "", err
}

// owedGone names the note of source files that went from the work tree, and
// whose memory files have not been seen to: the index does not know them any
// more.
const owedGone = "owed gone"

// noteSaved notes source files that changed, for describeSaved, and those that
// went and have a memory file also for after a crash. rows are their memories.
func (in *Ingester) noteSaved(ctx context.Context, batch []*cut.File, described map[fold.ID]string) error {
	if in.Store == nil || !in.FromWorkTree() {
		return nil
	}
	if in.saved == nil {
		in.saved = map[string]bool{}
	}
	var gone []string
	for _, pr := range batch {
		if !pr.Unchanged {
			in.saved[pr.Path] = true
		}
		if pr.Gone && described[pr.ID] == "fold" {
			gone = append(gone, pr.Path)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	owed, err := in.goneOwed(ctx)
	if err != nil {
		return err
	}
	lines := make([]string, 0, len(owed)+len(gone))
	for _, p := range distinct(append(owed, gone...)) {
		lines = append(lines, strconv.Quote(p))
	}
	return in.State.SetNote(ctx, in.Key, owedGone, strings.Join(lines, "\n"))
}

// goneOwed returns what the note names.
func (in *Ingester) goneOwed(ctx context.Context) ([]string, error) {
	note, err := in.State.Note(ctx, in.Key, owedGone)
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
func (in *Ingester) describeSaved(ctx context.Context) error {
	if len(in.saved) == 0 {
		return nil
	}
	set := in.Files()
	t := &tree{blobs: make(map[string]string, len(in.saved)), files: set, names: map[fold.ID]string{}, some: true}
	paths := slices.Sorted(maps.Keys(in.saved))
	for _, p := range paths {
		if set.Has(p) {
			t.blobs[p] = ""
		}
	}
	known, err := in.manifest(ctx, paths, false)
	if err != nil {
		return err
	}
	var none []string // without a memory file
	for _, p := range paths {
		there, err := in.describeInTree(ctx, t, p, known[p])
		if err != nil {
			return fmt.Errorf("%s: %w", path.Base(p), err)
		}
		if f := known[p]; !there && f.State == "indexed" {
			none = append(none, p)
		}
	}
	if len(none) > 0 && in.Rules().ToFold(set.Len()) {
		gone, err := in.State.Gone(ctx, in.Slug)
		if err != nil {
			return err
		}
		none = slices.DeleteFunc(none, func(p string) bool { return gone[fold.FileID(in.Slug, p)] })
		if err := in.describeAll(ctx, t, none, known, nil); err != nil {
			return err
		}
	}
	return in.describedSaved(ctx, paths)
}

// describedSaved notes that the saved files are described.
func (in *Ingester) describedSaved(ctx context.Context, paths []string) error {
	for _, p := range paths {
		delete(in.saved, p)
	}
	owed, err := in.goneOwed(ctx)
	if err != nil || len(owed) == 0 {
		return err
	}
	return in.State.SetNote(ctx, in.Key, owedGone, "")
}

// describeWorkTree describes what lies in the work tree, where that is wanted
// or there is no commit yet.
func (in *Ingester) describeWorkTree(ctx context.Context, t *tree, toFold bool, tell progress.Func) error {
	if toFold {
		if err := in.fillGaps(ctx, t, tell); err != nil {
			return err
		}
	}
	have, err := in.Index.Files(ctx, false)
	if err != nil {
		return err
	}
	described, err := in.Index.DescribedBlobs(ctx)
	if err != nil {
		return err
	}
	owed, err := in.goneOwed(ctx)
	if err != nil {
		return err
	}
	todo := append(slices.Collect(maps.Keys(in.saved)), owed...)
	for p := range t.blobs {
		if blob, ok := described[fold.FileID(in.Slug, p)]; ok && blob != have[p].Blob && have[p].State == "indexed" {
			todo = append(todo, p)
		}
	}
	todo = distinct(todo)
	slices.Sort(todo)
	in.index(ctx, t)
	for _, p := range todo {
		if _, err := in.describeInTree(ctx, t, p, have[p]); err != nil {
			return fmt.Errorf("%s: %w", path.Base(p), err)
		}
	}
	return in.describedSaved(ctx, todo)
}

// describeInTree brings the memory file of one source file up to what lies in
// the work tree, and reports whether there is one. f is what the manifest says
// of it.
func (in *Ingester) describeInTree(ctx context.Context, t *tree, p string, f index.File) (has bool, err error) {
	m, b, err := in.onDisk(fold.FileID(in.Slug, p))
	if err != nil {
		return true, ignoreQuarantined(err)
	}
	committed := &tree{oid: "HEAD", blobs: t.blobs, files: t.files, names: t.names, some: t.some}
	there, gone := in.Stands(p)
	switch {
	case gone:
		return m != nil, in.sourceDeleted(ctx, committed, p)
	case !there:
		return true, nil // not to be read now: nothing is known to have changed
	case m == nil:
		return false, nil
	case f.State != "indexed":
		return true, nil
	case keptByHand(m, p):
		return true, in.reclaim(ctx, t, p, m, b)
	case m.Source != fold.SourceFile || m.SourceBlob == f.Blob:
		return true, nil
	}
	base, err := in.lastDescription(ctx, committed, p, m)
	if err != nil {
		base = nil // the old content was never committed
	}
	return true, in.eachSource(ctx, t, []string{p}, func(p string, src []byte, blob string, when time.Time) error {
		now, err := in.describeAs(ctx, t, p, src, blob, when)
		if err != nil || now == nil {
			return err
		}
		in.Count.Described.Add(1)
		now.MovedFrom = m.MovedFrom
		text := in.encode(now, t)
		return in.put(ctx, gitops.Write{ID: m.ID, Path: m.Path, Base: base, New: text, Merge: true, Described: text})
	})
}
