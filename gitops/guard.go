package gitops

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// The vanish guard (G8): many memories gone at once were not deleted one by
// one by a person, but by a clean, a branch switch or an unmounted disk.

const reasonFoldMissing = "fold/ is missing"

// guardName is a file that keeps the guard up over a restart.
const guardName = "guard.json"

// A vanishGuard keeps files that vanished from being taken for deletions (git.md G8).
type vanishGuard struct{ *Store }

func (s *Store) guarded() (reason string, up bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known.guard == nil {
		return "", false
	}
	return s.known.guard.Reason, true
}

// raiseGuard puts the guard up, also for the next run.
func (v vanishGuard) raiseGuard(reason string) {
	v.mu.Lock()
	if v.known.guard != nil {
		v.mu.Unlock()
		return
	}
	g := &guardState{Since: v.opt.Now(), Reason: reason}
	v.known.guard = g
	v.mu.Unlock()
	v.log.Warn("Memories vanished, commits held back", "reason", reason)
	b, err := json.Marshal(g)
	if err == nil {
		err = disk.WriteFile(filepath.Join(v.l.StateDir(), guardName), b, 0o600)
	}
	if err != nil {
		v.log.Warn("Guard not kept for the next run", "err", err)
	}
}

func (v vanishGuard) lowerGuard() error {
	err := os.Remove(filepath.Join(v.l.StateDir(), guardName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("lower the vanish guard: %w", err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.known.guard = nil
	clear(v.known.gone)
	return nil
}

// loadGuard reads whether the guard was up when the last run ended.
func (v vanishGuard) loadGuard() error {
	if v.opt.Tracked {
		return v.lowerGuard()
	}
	b, err := os.ReadFile(filepath.Join(v.l.StateDir(), guardName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	g := &guardState{}
	if json.Unmarshal(b, g) != nil {
		g = &guardState{Since: v.opt.Now(), Reason: "memories had vanished before the last stop"}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.known.guard = g
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
	if _, known := s.known.gone[path]; !known {
		s.known.gone[path] = now
	}
}

// justGone reports whether the file of c, which is not there, may be the first of
// many. An acknowledged deletion is none.
func (v vanishGuard) justGone(c *change) bool {
	written := c.ours != nil && c.ours.New != nil
	if v.opt.GoneAfter <= 0 || c.ours != nil && !written || c.ours == nil && c.old.IsZero() {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	since, known := v.known.gone[c.path]
	if !known || since.After(c.at) { // or the clock was set back
		since = c.at
		v.known.gone[c.path] = since
	}
	return c.at.Sub(since) < v.opt.GoneAfter
}

// noteThere forgets that the file at path was gone.
func (v vanishGuard) noteThere(path string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.known.gone, path)
}

// checkVanished puts the guard up if changes delete too much at once, counting
// also what is gone and not among them: events come in pieces.
func (v vanishGuard) checkVanished(root *disk.Root, changes []*change) (up bool, err error) {
	if v.opt.Tracked {
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
	missing, total, err := v.vanished(root)
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
	v.raiseGuard(fmt.Sprintf("%d of %d memories vanished at once", n, total))
	return true, nil
}

// tooMany reports whether n of missing, of total memories, are more than a person
// deletes: with the project file all went, also where they are few.
func tooMany(missing []string, n, total int) bool {
	return n > limit(total) || n >= 2 && slices.Contains(missing, fold.ProjectFile)
}

// missing returns the paths of the journal that fold/ does not have, sorted. A nil root
// is a missing folder.
func (v vanishGuard) missing(root *disk.Root) ([]string, error) {
	gone, _, _, err := v.compareNames(root)
	return slices.Sorted(maps.Keys(gone)), err
}

// compareNames compares the names in fold/ with those of the journal: gone are files that
// only the journal has, fresh such as only fold/ has. Total is how many the journal has.
func (v vanishGuard) compareNames(root *disk.Root) (gone map[string]plumbing.Hash, fresh []string, total int, err error) {
	tree, err := v.tipTree()
	if err != nil {
		return nil, nil, 0, err
	}
	if gone, err = v.obj.List(tree); err != nil {
		return nil, nil, 0, err
	}
	total = len(gone)
	if root == nil {
		return gone, nil, total, nil
	}
	err = root.Walk(func(path string, info disk.Info) error {
		if _, known := gone[path]; known {
			delete(gone, path)
		} else if info.Mode.IsRegular() && allowed(path) {
			fresh = append(fresh, path)
		}
		return nil
	})
	return gone, fresh, total, err
}

// vanished is missing without the memories that a person has moved to another path: one
// of that id, or for a note without one those bytes, is somewhere else in fold/ (G8).
func (v vanishGuard) vanished(root *disk.Root) (paths []string, total int, err error) {
	gone, fresh, total, err := v.compareNames(root)
	if err != nil {
		return nil, 0, err
	}
	if len(gone) > 0 && len(fresh) > 0 {
		moved := map[string]bool{} // ids and blobs of files that came
		for _, path := range fresh {
			b, err := readFile(root, path)
			if err != nil || b == nil {
				continue // gone again, or not to be read: nothing is known to be in it
			}
			moved[plumbing.ComputeHash(plumbing.BlobObject, b).String()] = true
			if m, err := fold.Decode(v.opt.Slug, path, b); err == nil && m.ID != "" {
				moved[string(m.ID)] = true
			}
		}
		maps.DeleteFunc(gone, func(path string, blob plumbing.Hash) bool {
			if moved[blob.String()] {
				return true
			}
			b, err := v.obj.Blob(blob)
			if err != nil {
				return false
			}
			m, err := fold.Decode(v.opt.Slug, path, b)
			return err == nil && moved[string(m.ID)]
		})
	}
	return slices.Sorted(maps.Keys(gone)), total, nil
}

// absentFold reports whether fold/ itself is what is missing.
func absentFold(err error) bool {
	return errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fold.ErrUnavailable)
}
