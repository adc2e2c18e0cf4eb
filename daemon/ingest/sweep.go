package ingest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sort"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/foldwatch/foldwatch/meta"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Sweep compares disk with the database and does what is missing: every file is
// looked at, and read only if its size, time or inode is not what was seen
// last. The memories in fold/ come first, so that a source file that is
// described there is not described twice.
//
// vanished says that memory files are missing which may come back (git.md G8):
// none is then taken out of the index. describe, which may be nil, is called
// between the two: what it describes is then indexed once, as described.
func (in *Ingester) Sweep(ctx context.Context, vanished bool, describe func() error, progress Progress) (Report, error) {
	r, err := in.sweepFold(ctx, vanished, progress)
	if err != nil {
		return r, fmt.Errorf("sweep fold: %w", err)
	}
	progress.tell(Step{Stage: stageListing})
	listed, held, err := in.list(ctx)
	if err != nil {
		return r, fmt.Errorf("sweep source: %w", err) // a read error is never a deletion
	}
	in.setFiles(listed)
	var failed error                   // source is searchable all the same
	first := in.Describe != "worktree" // which is told of as it is indexed
	if describe != nil && first {
		failed = describe()
	}
	s, err := in.sweepSource(ctx, listed, held, progress)
	r.add(s)
	if err == nil && describe != nil && !first {
		failed = describe()
	}
	if err != nil {
		return r, errors.Join(failed, fmt.Errorf("sweep source: %w", err))
	}
	return r, failed
}

func (in *Ingester) sweepFold(ctx context.Context, vanished bool, progress Progress) (Report, error) {
	have, err := in.walkFold()
	if missing(err) {
		return Report{}, nil // the folder itself is gone: the vanish guard judges that
	}
	if err != nil {
		return Report{}, err
	}
	known, err := in.Index.Files(ctx, true)
	if err != nil {
		return Report{}, err
	}
	var todo []string
	for p, info := range have {
		if old, ok := known[p]; !ok || !sameStat(old, info) {
			todo = append(todo, p)
		}
	}
	if !vanished {
		for p := range known {
			if _, ok := have[p]; !ok {
				todo = append(todo, p)
			}
		}
	}
	return in.Fold(ctx, todo, progress)
}

func (in *Ingester) sweepSource(ctx context.Context, listed, held []string, progress Progress) (Report, error) {
	if in.root == nil {
		return Report{}, nil
	}
	known, err := in.Index.Files(ctx, false)
	if err != nil {
		return Report{}, err
	}
	changed, err := in.changedStats(ctx, listed, known)
	if err != nil {
		return Report{}, err
	}
	seen := make(map[string]bool, len(listed)+len(held))
	for _, p := range listed {
		seen[p] = true
	}
	for _, p := range held {
		if seen[p] = true; known[p].State != "skipped" {
			changed = append(changed, p)
		}
	}
	for p := range known {
		if !seen[p] {
			changed = append(changed, p)
		}
	}
	sort.Strings(changed)
	r := Report{Checked: len(listed) - len(changed), Unchanged: len(listed) - len(changed)}
	err = in.linking(ctx, func(owed bool) ([]string, error) {
		done, err := in.Source(ctx, changed, progress.after(r.Unchanged))
		r.add(done)
		if owed {
			return append(changed, listed...), err
		}
		return changed, err
	})
	if err != nil {
		return r, err
	}
	return r, in.RefreshStale(ctx)
}

// Eligible lists the source files of the checkout that may be indexed: tracked,
// or untracked and not ignored, within the rules, sorted.
func (in *Ingester) Eligible(ctx context.Context) ([]string, error) {
	listed, _, err := in.list(ctx)
	return listed, err
}

// list is Eligible, and apart those that are held back for their names.
func (in *Ingester) list(ctx context.Context) (listed, held []string, err error) {
	if in.root == nil {
		return nil, nil, nil
	}
	all, err := in.Layout.Files(ctx)
	if err != nil {
		return nil, nil, err
	}
	rules, dir := in.Rules(), in.foldPrefix()
	listed = all[:0]
	for _, p := range all {
		switch {
		case rules.Eligible(p, dir):
			listed = append(listed, p)
		case rules.HeldBack(p, dir):
			held = append(held, p)
		}
	}
	sort.Strings(listed)
	return listed, held, nil
}

// Dirs lists the folders of the checkout that hold eligible files, and their
// parents, relative, "." first: those that have to be watched.
func (in *Ingester) Dirs(ctx context.Context) ([]string, error) {
	files, err := in.Eligible(ctx)
	if err != nil {
		return nil, err
	}
	set := map[string]bool{".": true}
	for _, f := range files {
		for d := path.Dir(f); !set[d]; d = path.Dir(d) {
			set[d] = true
		}
	}
	out := make([]string, 0, len(set))
	for d := range set {
		out = append(out, d)
	}
	sort.Strings(out)
	return out, nil
}

// foldPrefix is the folder of memories as it would be named among the
// checkout's source files.
func (in *Ingester) foldPrefix() string { return in.FoldDir }

// changedStats returns the paths whose stat is not what the manifest says.
func (in *Ingester) changedStats(ctx context.Context, paths []string, known map[string]meta.File) ([]string, error) {
	const part = 1024
	n := (len(paths) + part - 1) / part
	found := make([][]string, n)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(in.Workers, 1))
	for i := range n {
		g.Go(func() error {
			for _, p := range paths[i*part : min((i+1)*part, len(paths))] {
				old, ok := known[p]
				if ok {
					in.Count.Stats.Add(1)
					fi, err := in.root.Lstat(p)
					if err == nil && sameStat(old, disk.InfoOf(fi)) {
						continue
					}
				}
				found[i] = append(found[i], p)
			}
			return ctx.Err()
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var out []string
	for _, f := range found {
		out = append(out, f...)
	}
	return out, nil
}

// sameStat reports whether a file is certainly the one the manifest knows. One
// that was written while it was read carries the time -1 and never is.
func sameStat(old meta.File, info disk.Info) bool {
	return old.MtimeNS == info.MtimeNS && old.Size == info.Size && old.Inode == info.Inode && old.State != "stale" && old.State != "failed"
}

// RefreshStale asks git which files equal what was described although their
// bytes differ (clean filters, line ends), and which do not.
func (in *Ingester) RefreshStale(ctx context.Context) error {
	rows, err := in.Index.StaleRows(ctx)
	if err != nil || len(rows) == 0 {
		return err
	}
	entries, err := in.Layout.IndexBlobs(ctx)
	if err != nil {
		return err
	}
	fresh := map[fold.ID]bool{}
	for _, row := range rows {
		if e, ok := entries[row.FilePath]; ok && e.Clean && strings.EqualFold(e.Blob, row.SourceBlob) {
			fresh[row.ID] = false
		}
	}
	return in.Index.SetStale(ctx, fresh)
}
