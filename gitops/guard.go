package gitops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// The vanish guard (G8): many memories gone at once were not deleted one by
// one by a person, but by a clean, a branch switch or an unmounted disk.

const reasonFoldMissing = "fold/ is missing"

// guardName is a file that keeps the guard up over a restart.
const guardName = "guard.json"

// quiet is for how long git must have rested before vanished files are put
// back.
const quiet = 60 * time.Second

// guardState is the guard while it is up.
type guardState struct {
	Since  time.Time `json:"since"`
	Reason string    `json:"reason"`
}

// A Vanish says what the guard holds back.
type Vanish struct {
	Guarded bool
	Missing []string // paths that the journal has and fold/ has not, sorted
	Reason  string   // why it is up
	// Waits says why the files are not restored yet; "" if they may be.
	Waits string
}

func (s *Store) guarded() (reason string, up bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.guard == nil {
		return "", false
	}
	return s.guard.Reason, true
}

// raiseGuard puts the guard up, also for the next run.
func (s *Store) raiseGuard(reason string) {
	s.mu.Lock()
	if s.guard != nil {
		s.mu.Unlock()
		return
	}
	g := &guardState{Since: s.opt.Now(), Reason: reason}
	s.guard = g
	s.mu.Unlock()
	s.log.Warn("Memories vanished, commits held back", "reason", reason)
	b, err := json.Marshal(g)
	if err == nil {
		err = disk.WriteFile(filepath.Join(s.l.StateDir(), guardName), b, 0o600)
	}
	if err != nil {
		s.log.Warn("Guard not kept for the next run", "err", err)
	}
}

func (s *Store) lowerGuard() error {
	err := os.Remove(filepath.Join(s.l.StateDir(), guardName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("lower the vanish guard: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guard = nil
	clear(s.gone)
	return nil
}

// loadGuard reads whether the guard was up when the last run ended.
func (s *Store) loadGuard() error {
	if s.opt.Tracked {
		return s.lowerGuard()
	}
	b, err := os.ReadFile(filepath.Join(s.l.StateDir(), guardName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	g := &guardState{}
	if json.Unmarshal(b, g) != nil {
		g = &guardState{Since: s.opt.Now(), Reason: "memories had vanished before the last stop"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guard = g
	return nil
}

// limit is up to how many of n files may go in one scan as deletions.
func limit(n int) int { return max(10, n/20) }

// SawGone notes that the file at path was seen to be gone, which it must be for
// some time before that is a deletion; see StoreOptions.GoneAfter.
func (s *Store) SawGone(path string) {
	if s.opt.GoneAfter <= 0 {
		return
	}
	now := s.opt.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.gone[path]; !known {
		s.gone[path] = now
	}
}

// justGone reports whether the file of c, which is not there, may be the first of
// many. An acknowledged deletion is none.
func (s *Store) justGone(c *change) bool {
	written := c.ours != nil && c.ours.New != nil
	if s.opt.GoneAfter <= 0 || c.ours != nil && !written || c.ours == nil && c.old.IsZero() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	since, known := s.gone[c.path]
	if !known || since.After(c.at) { // or the clock was set back
		since = c.at
		s.gone[c.path] = since
	}
	return c.at.Sub(since) < s.opt.GoneAfter
}

// noteThere forgets that the file at path was gone.
func (s *Store) noteThere(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.gone, path)
}

// checkVanished puts the guard up if changes delete too much at once, counting
// also what is gone and not among them: events come in pieces.
func (s *Store) checkVanished(root *disk.Root, changes []*change) (up bool, err error) {
	if s.opt.Tracked {
		return false, nil // git moves these files (T3)
	}
	explicit := map[string]bool{}
	gone := 0
	for _, c := range changes {
		switch {
		case c.ours != nil && c.ours.New == nil:
			explicit[c.path] = true // deleted through the API
		case c.disk == nil && !c.old.IsZero():
			gone++
		}
	}
	if gone == 0 {
		return false, nil
	}
	missing, total, err := s.missing(root)
	if err != nil {
		return false, err
	}
	n := 0
	for _, p := range missing {
		if !explicit[p] {
			n++
		}
	}
	if !tooMany(missing, n, total) {
		return false, nil
	}
	s.raiseGuard(fmt.Sprintf("%d of %d memories vanished at once", n, total))
	return true, nil
}

// tooMany reports whether n of missing, of total memories, are more than a person
// deletes: with the project file all went, also where they are few.
func tooMany(missing []string, n, total int) bool {
	return n > limit(total) || n >= 2 && slices.Contains(missing, fold.ProjectFile)
}

// missing returns the paths of the journal that fold/ does not have, sorted,
// and how many the journal has. A nil root is a missing folder.
func (s *Store) missing(root *disk.Root) (paths []string, total int, err error) {
	tree, err := s.tipTree()
	if err != nil {
		return nil, 0, err
	}
	old, err := s.obj.List(tree)
	if err != nil {
		return nil, 0, err
	}
	total = len(old)
	if root != nil {
		err = root.Walk(func(path string, _ disk.Info) error {
			delete(old, path)
			return nil
		})
		if err != nil {
			return nil, 0, err
		}
	}
	return slices.Sorted(maps.Keys(old)), total, nil
}

// absentFold reports whether fold/ itself is what is missing.
func absentFold(err error) bool {
	return errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fold.ErrUnavailable)
}

// Guard returns whether the vanish guard is up, what is missing, and whether
// it may be restored now. Files that are back by themselves lower it.
func (s *Store) Guard(ctx context.Context) (Vanish, error) {
	if err := s.lockCommit(); err != nil {
		return Vanish{}, err
	}
	defer s.commit.Unlock()
	return s.lookVanished(ctx)
}

func (s *Store) lookVanished(ctx context.Context) (v Vanish, err error) {
	if s.opt.Tracked {
		return v, nil
	}
	root, err := s.openFold(false)
	switch {
	case absentFold(err):
		if s.hasJournal() {
			s.raiseGuard(reasonFoldMissing)
		}
	case err != nil && errors.Is(err, fold.ErrUnavailable):
		reason, up := s.guarded()
		return Vanish{Guarded: up, Reason: reason, Waits: err.Error()}, nil
	case err != nil:
		return v, err
	default:
		defer root.Close()
	}
	reason, up := s.guarded()
	if !up {
		return Vanish{}, nil
	}
	if root != nil {
		// A write that met the removal may have left the folder without it, and
		// git would see what is in there.
		if err := s.hideFold(root); err != nil {
			return v, err
		}
	}
	missing, _, err := s.missing(root)
	if err != nil {
		return v, err
	}
	if missing = s.withoutDeleted(missing); len(missing) == 0 {
		if root == nil { // what was acknowledged last deleted all of it
			if root, err = s.openFold(true); err != nil {
				return v, err
			}
			defer root.Close()
			if err := s.hideFold(root); err != nil {
				return v, err
			}
		}
		return Vanish{}, s.lowerGuard()
	}
	v = Vanish{Guarded: true, Missing: missing, Reason: reason}
	if v.Waits = s.waits(); v.Waits != "" {
		return v, nil
	}
	_, branches, err := s.l.TracksFold(ctx, s.foldDir())
	if err != nil || len(branches) == 0 {
		return v, err
	}
	v.Waits = fmt.Sprintf("branch %s tracks %s/: git itself moves these files", branches[0], s.foldDir())
	return v, nil
}

// withoutDeleted leaves out what an acknowledged write deletes.
func (s *Store) withoutDeleted(paths []string) []string {
	last := map[string]bool{}
	for _, e := range s.wal.Entries() {
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
func (s *Store) waits() string {
	if b := s.l.Busy(); b != "" {
		return b
	}
	now := s.opt.Now()
	s.mu.Lock()
	last := s.guard.Since
	s.mu.Unlock()
	// Not FETCH_HEAD: a fetch moves no file here, and programs that make one every
	// minute would keep the memories away for good.
	for _, f := range []string{"HEAD", "index", "logs/HEAD", "ORIG_HEAD"} {
		if fi, err := os.Lstat(filepath.Join(s.l.GitDir, f)); err == nil && fi.ModTime().After(last) {
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
	v, err := s.lookVanished(ctx)
	if err == nil && v.Guarded && v.Waits == "" {
		err = s.restoreFiles(v.Missing)
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
func (s *Store) restoreFiles(paths []string) error {
	tree, err := s.tipTree()
	if err != nil {
		return err
	}
	files, err := s.filesOf(tree, paths)
	if err != nil {
		return err
	}
	root, err := s.foldForWrite()
	if err != nil {
		return err
	}
	defer root.Close()
	if err := createMany(root, files); err != nil {
		return err
	}
	if _, err := s.replay(); err != nil { // what was not in the journal yet
		return err
	}
	s.log.Info("Restored vanished memories", "count", len(paths))
	return s.lowerGuard()
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
func (s *Store) filesOf(tree plumbing.Hash, paths []string) ([]disk.File, error) {
	all, err := s.obj.List(tree)
	if err != nil {
		return nil, err
	}
	files := make([]disk.File, 0, len(paths))
	for _, p := range paths {
		b, err := s.blob(all[p])
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
	missing, _, err := s.missing(root)
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
	tip := s.tip
	s.mu.Unlock()
	next, err := s.commitDraft(ctx, tip, gone, "", &out)
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
	return missing, s.lowerGuard()
}
