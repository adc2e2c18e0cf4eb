package ingest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/foldwatch/foldwatch/daemon/ingest/progress"
	"github.com/foldwatch/foldwatch/daemon/ingest/selection"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

// Sweep compares disk with the database and does what is missing: every file is
// looked at, and read only if its size, time or inode is not what was seen
// last. The memories in fold/ come first, so that a source file that is
// described there is not described twice.
//
// vanished says that memory files are missing which may come back (git.md G8):
// none is then taken out of the index. describe, which may be nil, is called
// between the two: what it describes is then indexed once, as described.
func (in *Ingester) Sweep(ctx context.Context, vanished bool, describe func() error, tell progress.Func) (progress.Report, error) {
	r, err := in.sweepFold(ctx, vanished, tell)
	if err != nil {
		return r, fmt.Errorf("sweep fold: %w", err)
	}
	tell.Tell(progress.Step{Stage: progress.StageListing})
	l, err := in.List(ctx)
	if err != nil {
		return r, fmt.Errorf("sweep source: %w", err) // a read error is never a deletion
	}
	in.SetFiles(l.Files)
	follows, err := in.FollowsWorkTree(ctx)
	if err != nil {
		return r, err
	}
	in.SetFromWorkTree(follows)
	var failed error                   // source is searchable all the same
	first := in.Describe != "worktree" // which is told of as it is indexed
	if describe != nil && first {
		failed = describe()
	}
	s, err := in.sweepSource(ctx, l, tell)
	r.Add(s)
	if err == nil && describe != nil && (!first || in.SavedPending()) {
		failed = errors.Join(failed, describe())
	}
	if err != nil {
		return r, errors.Join(failed, fmt.Errorf("sweep source: %w", err))
	}
	return r, failed
}

func (in *Ingester) sweepFold(ctx context.Context, vanished bool, tell progress.Func) (progress.Report, error) {
	if dir := in.Options.Fold.Dir; !foldThere(dir) && (vanished || !checkoutThere(dir)) {
		return progress.Report{}, nil // the vanish guard judges that
	}
	// In tracked mode a branch may be without the folder.
	paths, infos, err := in.walkFold()
	if err != nil && !disk.Missing(err) {
		return progress.Report{}, err
	}
	in.Count.Stats.Add(int64(len(paths)))
	known, err := in.manifestOf(ctx, true, nil)
	if err != nil {
		return progress.Report{}, err
	}
	todo := paths[:0:0]
	match(paths, known.paths, func(i, k int) {
		switch {
		case k < 0:
			todo = append(todo, paths[i])
		case i < 0:
			if !vanished {
				todo = append(todo, known.paths[k])
			}
		case !known.stats[k].same(infos[i].Size, infos[i].MtimeNS, infos[i].Inode):
			todo = append(todo, paths[i])
		}
	})
	r, err := in.Fold(ctx, todo, tell)
	r.FoldMoved = len(todo) > 0
	if err != nil {
		return r, err
	}
	return r, in.resolvePendingNames(ctx)
}

// foldThere reports whether fold/ is there, or cannot be looked for.
func foldThere(dir string) bool {
	_, err := os.Lstat(dir)
	return !disk.Missing(err)
}

// checkoutThere reports whether the folder is there in which fold/ lies, or lay.
func checkoutThere(foldDir string) bool {
	_, err := os.Lstat(filepath.Dir(foldDir))
	return err == nil
}

func (in *Ingester) sweepSource(ctx context.Context, l *selection.Listing, tell progress.Func) (progress.Report, error) {
	if in.root == nil {
		return progress.Report{}, nil
	}
	changed, err := in.changedSource(ctx, l)
	if err != nil {
		return progress.Report{}, err
	}
	r := progress.Report{Checked: len(l.Files) - len(changed), Unchanged: len(l.Files) - len(changed)}
	pending, err := in.linksPending(ctx)
	if err != nil {
		return r, err
	}
	in.RereadPackages(changed)
	if len(changed) > 0 || pending {
		err = in.linking(ctx, func(pending bool) ([]string, []fold.ID, error) {
			done, err := in.Source(ctx, changed, tell.After(r.Unchanged))
			r.Add(done)
			if pending {
				return append(changed, l.Files...), done.Memories, err
			}
			return changed, done.Memories, err
		})
		if err != nil {
			return r, err
		}
	}
	return r, in.RefreshStale(ctx)
}

// changedSource returns the paths, sorted, whose file is not the one that the
// manifest knows: came, changed, or went.
func (in *Ingester) changedSource(ctx context.Context, l *selection.Listing) ([]string, error) {
	known, err := in.manifestOf(ctx, false, l.Files)
	if err != nil {
		return nil, err
	}
	held := make(map[string]bool, len(l.Held))
	for _, p := range l.Held {
		held[p] = true
	}
	var changed []string
	look := make([]int32, 0, len(known.paths)) // places in known of what has to be looked at
	same := make([]string, 0, len(known.paths))
	var fresh []string
	match(l.Files, known.paths, func(i, k int) {
		switch {
		case k < 0:
			fresh = append(fresh, l.Files[i])
		case i >= 0:
			look, same = append(look, int32(k)), append(same, known.paths[k])
		case !held[known.paths[k]]:
			changed = append(changed, known.paths[k])
			in.leaves(known.paths[k])
		case known.stats[k].state == index.Skipped:
			delete(held, known.paths[k])
		}
	})
	for p := range held { // not noted as such yet
		changed = append(changed, p)
	}
	moved, err := in.lookAt(ctx, same, func(i int) stat { return known.stats[look[i]] })
	if err != nil {
		return nil, err
	}
	changed = append(changed, moved...)
	// Git lists a file until its deletion is staged.
	gone := in.goneOf(slices.Concat(fresh, moved))
	in.ChangeFiles(nil, gone)
	went := make(map[string]bool, len(gone))
	for _, p := range gone {
		went[p] = true
	}
	for _, p := range fresh {
		if !went[p] {
			changed = append(changed, p)
		}
	}
	sort.Strings(changed)
	return changed, nil
}

// RefreshStale asks git which indexed files equal what was described although their
// bytes differ (clean filters, line ends), and which do not. It asks nothing
// where neither files nor git's index moved since the last time.
func (in *Ingester) RefreshStale(ctx context.Context) error {
	now := staleLook{index: in.Repo.IndexStamp(), source: in.Index.FilesVersion(false), inFold: in.Index.FilesVersion(true)}
	if in.stale != nil && in.stale.index.Same(now.index) && in.stale.source == now.source && in.stale.inFold == now.inFold {
		return nil
	}
	if err := in.refreshStale(ctx); err != nil {
		return err
	}
	in.stale = &now
	return nil
}

func (in *Ingester) refreshStale(ctx context.Context) error {
	rows, err := in.Index.StaleRows(ctx)
	if err != nil || len(rows) == 0 {
		return err
	}
	entries, err := in.Repo.IndexBlobs(ctx)
	if err != nil {
		return err
	}
	paths := make([]string, len(rows))
	for i, row := range rows {
		paths[i] = row.FilePath
	}
	known, err := in.manifest(ctx, paths, false)
	if err != nil {
		return err
	}
	fresh := map[fold.ID]bool{}
	for _, row := range rows {
		e, ok := entries[row.FilePath]
		if !ok || !e.Clean || !strings.EqualFold(e.Blob, row.SourceBlob) {
			continue
		}
		// Git looked at the file that lies there now. Of one that is not indexed, or that is
		// another by then (a stash is put away and comes back), nothing would tell that it
		// differs again.
		f := known[row.FilePath]
		if fi, err := in.root.Lstat(row.FilePath); err == nil && f.State == "indexed" && sameStat(f, disk.InfoOf(fi)) {
			fresh[row.ID] = false
		}
	}
	return in.Index.SetStale(ctx, fresh)
}
