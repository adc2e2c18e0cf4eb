package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// quiet is for how long git must have rested before vanished files are put
// back.
const quiet = 60 * time.Second

// A Vanish says what the guard holds back.
type Vanish struct {
	Guarded bool
	Missing []string // paths that the journal has and fold/ has not, sorted
	Reason  string   // why it is up
	// Waits says why the files are not restored yet; "" if they may be.
	Waits string
}

// Guard returns whether the vanish guard is up, what is missing, and whether
// it may be restored now. Files that are back by themselves lower it.
func (s *Store) Guard(ctx context.Context) (Vanish, error) {
	if err := s.lockCommit(); err != nil {
		return Vanish{}, err
	}
	defer s.commit.Unlock()
	return (vanishGuard{s}).lookVanished(ctx)
}

func (vg vanishGuard) lookVanished(ctx context.Context) (v Vanish, err error) {
	if vg.opt.Tracked {
		return v, nil
	}
	root, err := vg.openFold(false)
	switch {
	case absentFold(err):
		if vg.hasJournal() {
			vg.raiseGuard(reasonFoldMissing)
		}
	case err != nil && errors.Is(err, fold.ErrUnavailable):
		reason, up := vg.guarded()
		return Vanish{Guarded: up, Reason: reason, Waits: err.Error()}, nil
	case err != nil:
		return v, err
	default:
		defer root.Close()
	}
	reason, up := vg.guarded()
	if !up {
		return Vanish{}, nil
	}
	if root != nil {
		// A write that met the removal may have left the folder without it, and
		// git would see what is in there.
		if err := vg.hideFold(root); err != nil {
			return v, err
		}
	}
	missing, _, err := vg.vanished(root)
	if err != nil {
		return v, err
	}
	if missing = vg.withoutDeleted(missing); len(missing) == 0 {
		if root == nil { // what was acknowledged last deleted all of it
			if root, err = vg.openFold(true); err != nil {
				return v, err
			}
			defer root.Close()
			if err := vg.hideFold(root); err != nil {
				return v, err
			}
		}
		return Vanish{}, vg.lowerGuard()
	}
	v = Vanish{Guarded: true, Missing: missing, Reason: reason}
	if v.Waits = vg.waits(); v.Waits != "" {
		return v, nil
	}
	_, branches, err := vg.l.TracksFold(ctx, vg.foldDir())
	if err != nil || len(branches) == 0 {
		return v, err
	}
	v.Waits = fmt.Sprintf("branch %s tracks %s/: git itself moves these files", branches[0], vg.foldDir())
	return v, nil
}

// withoutDeleted leaves out what an acknowledged write deletes.
func (v vanishGuard) withoutDeleted(paths []string) []string {
	last := map[string]bool{}
	for _, e := range v.wal.Entries() {
		last[e.Path] = e.New == nil
	}
	out := paths[:0:0]
	for _, p := range paths {
		if !last[p] {
			out = append(out, p)
		}
	}
	return out
}

// waits returns why vanished files are not to be restored now, or "".
func (v vanishGuard) waits() string {
	if b := v.l.Busy(); b != "" {
		return b
	}
	now := v.opt.Now()
	v.mu.Lock()
	last := v.known.guard.Since
	v.mu.Unlock()
	// Not FETCH_HEAD: a fetch moves no file here, and programs that make one every
	// minute would keep the memories away for good.
	for _, f := range []string{"HEAD", "index", "logs/HEAD", "ORIG_HEAD"} {
		if fi, err := os.Lstat(filepath.Join(v.l.GitDir, f)); err == nil && fi.ModTime().After(last) {
			last = fi.ModTime()
		}
	}
	if rest := quiet - now.Sub(last); rest > 0 {
		return fmt.Sprintf("git must be quiet for %s more", rest.Round(time.Second))
	}
	return ""
}

// RestoreVanished puts back from the journal what vanished, if git has been
// quiet for a minute, and lowers the guard. It returns what it restored, and
// nil if it is not time yet: [Store.Guard] says why.
func (s *Store) RestoreVanished(ctx context.Context) ([]string, error) {
	if err := s.lockCommit(); err != nil {
		return nil, err
	}
	v, err := (vanishGuard{s}).lookVanished(ctx)
	if err == nil && v.Guarded && v.Waits == "" {
		err = (vanishGuard{s}).restoreFiles(v.Missing)
	} else {
		v.Missing = nil
	}
	s.commit.Unlock()
	if err != nil {
		return nil, fmt.Errorf("restore vanished memories: %w", err)
	}
	s.changed(v.Missing)
	return v.Missing, nil
}

// restoreFiles writes paths as the tip holds them and lowers the guard. What
// has come back meanwhile is left as it is.
func (v vanishGuard) restoreFiles(paths []string) error {
	tree, err := v.tipTree()
	if err != nil {
		return err
	}
	files, err := v.filesOf(tree, paths)
	if err != nil {
		return err
	}
	root, err := v.foldForWrite()
	if err != nil {
		return err
	}
	defer root.Close()
	if err := createMany(root, files); err != nil {
		return err
	}
	if _, err := replayer(v).replay(); err != nil { // what was not in the journal yet
		return err
	}
	v.log.Info("Restored vanished memories", "count", len(paths))
	return v.lowerGuard()
}

// createMany writes new files in batches and passes over those that exist.
func createMany(root *disk.Root, files []disk.File) error {
	for len(files) > 0 {
		k := min(len(files), batchFiles)
		var exist *disk.ExistError
		if err := root.CreateMany(files[:k]); err != nil && !errors.As(err, &exist) {
			return err
		}
		files = files[k:]
	}
	return nil
}

// filesOf returns the bytes that a tree holds at paths.
func (v vanishGuard) filesOf(tree plumbing.Hash, paths []string) ([]disk.File, error) {
	all, err := v.obj.List(tree)
	if err != nil {
		return nil, err
	}
	files := make([]disk.File, 0, len(paths))
	for _, p := range paths {
		b, err := v.obj.Blob(all[p])
		if err != nil {
			return nil, err
		}
		files = append(files, disk.File{Path: p, Data: b})
	}
	return files, nil
}

// ConfirmMissing takes what is missing for deleted: it is committed as such,
// and the guard lowered once nothing is missing any more. Only limits it to
// some paths; empty means all. It returns the paths deleted.
func (s *Store) ConfirmMissing(ctx context.Context, only []string) ([]string, error) {
	if s.opt.Tracked {
		return nil, nil
	}
	if err := s.lockCommit(); err != nil {
		return nil, err
	}
	defer s.commit.Unlock()
	root, err := s.openFold(true)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := s.hideFold(root); err != nil {
		return nil, err
	}
	missing, err := (vanishGuard{s}).missing(root)
	if err != nil {
		return nil, err
	}
	left := 0
	if len(only) > 0 {
		all := len(missing)
		missing = slices.DeleteFunc(missing, func(p string) bool { return !slices.Contains(only, p) })
		left = all - len(missing)
	}
	tree, err := s.tipTree()
	if err != nil {
		return nil, err
	}
	gone := &draft{}
	for _, p := range missing {
		c := &change{path: p}
		if c.old, err = s.obj.Lookup(tree, p); err != nil {
			return nil, err
		}
		gone.add(c, nil)
	}
	var out Recorded
	s.mu.Lock()
	tip := s.known.tip
	s.mu.Unlock()
	next, err := (recorder{s}).commitDraft(ctx, tip, gone, "", &out)
	if err == nil && next != tip {
		err = s.moveTip(ctx, next)
	}
	if err != nil {
		s.obj.Drop()
		return nil, err
	}
	if left > 0 {
		return missing, nil
	}
	return missing, (vanishGuard{s}).lowerGuard()
}
