package gitops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A deletion that the user's branch does not have yet is no more than a file that is
// not there: a stash that is given up, a way to another commit and back, a reset bring
// it back, and git has no memory of it. Until the branch has it the deletion is owed.
// What comes back in a version that the journal knew when it was deleted is taken away
// again when git rests; any other version is an edit, and wins (I9).

// deletionsName is a file of the state folder: which deletions the branch owes.
const deletionsName = "deletions.json"

// A deletion is one of them.
type deletion struct {
	Rev string `json:"rev"` // of the journal when it was deleted
	// Back says that git brought the file back since. It may hold the deletion
	// somewhere, in a stash or on another branch, and a tombstone would be in the
	// way of that: it gets none.
	Back bool `json:"back,omitempty"`
}

// deletions are those that the branch owes, by path. The store's commit lock guards it.
type deletions struct {
	of    map[string]deletion // nil before the first look
	moved bool                // since it was written
}

// loadDeletions reads what an earlier run owed. A file that cannot be read as such says
// nothing: what came back then stays.
func (s *Store) loadDeletions() error {
	if s.deletions.of != nil {
		return nil
	}
	of := map[string]deletion{}
	b, err := os.ReadFile(s.deletionsPath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("deletions that the branch owes: %w", err)
	}
	if err == nil {
		if err := json.Unmarshal(b, &of); err != nil {
			s.log.Warn("Deletions that the branch owes not read", "err", err)
			of = map[string]deletion{}
		}
	}
	s.deletions.of = of
	return nil
}

func (s *Store) deletionsPath() string { return filepath.Join(s.l.StateDir(), deletionsName) }

func (s *Store) saveDeletions() error {
	if !s.deletions.moved {
		return nil
	}
	b, err := json.Marshal(s.deletions.of)
	if err == nil {
		err = disk.WriteFile(s.deletionsPath(), b, 0o600)
	}
	if err != nil {
		return fmt.Errorf("deletions that the branch owes: %w", err)
	}
	s.deletions.moved = false
	return nil
}

func (s *Store) owes(path string, d deletion) {
	if s.deletions.of[path] != d {
		s.deletions.of[path], s.deletions.moved = d, true
	}
}

func (s *Store) noLongerOwes(path string) {
	if _, is := s.deletions.of[path]; is {
		delete(s.deletions.of, path)
		s.deletions.moved = true
	}
}

// owesNothing forgets all of it, where memories are not on the branch any more.
func (s *Store) owesNothing() error {
	s.deletions = deletions{of: map[string]deletion{}}
	if err := os.Remove(s.deletionsPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// broughtBack reports whether c.disk is what git put where a memory was deleted. The
// caller holds commit.
func (s *Store) broughtBack(c *change) (bool, error) {
	if s.onto == nil || c.disk == nil || c.path == fold.ProjectFile {
		return false, nil
	}
	if err := s.loadDeletions(); err != nil {
		return false, err
	}
	if _, buried := fold.Buried(c.disk); buried {
		return false, nil
	}
	deleting := c.ours != nil && c.ours.New == nil
	if c.ours != nil && !deleting {
		if _, buried := fold.Buried(c.ours.New); !buried {
			s.noLongerOwes(c.path) // it was remembered again
			return false, nil
		}
	}
	d, is := s.deletions.of[c.path]
	switch {
	case deleting && same(c.disk, c.ours.Base):
		return true, nil
	case deleting:
		d.Rev = s.Tip()
	case !is:
		return false, nil
	}
	known, err := s.heldBefore(d.Rev, c.path, c.disk)
	if err == nil && !known {
		s.noLongerOwes(c.path) // somebody edited it
	}
	return known, err
}

// noteDeletions keeps which deletions changes hold and which of them git undid, and has
// those done again when git rests. The wal keeps the deletions until it returns. The
// caller holds commit.
func (s *Store) noteDeletions(changes []*change) error {
	if s.onto == nil {
		return nil
	}
	if err := s.loadDeletions(); err != nil {
		return err
	}
	for _, c := range changes {
		if c.disk != nil || !c.off && c.back == nil && (c.ours == nil || c.ours.New != nil) {
			continue
		}
		d, is := s.deletions.of[c.path]
		if !is {
			d.Rev = s.Tip()
		}
		d.Back = d.Back || c.back != nil
		s.owes(c.path, d)
	}
	if err := s.saveDeletions(); err != nil {
		return err
	}
	for _, c := range changes {
		if c.back != nil {
			if err := s.takeAwayAgain(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeAwayAgain puts the deletion of c off until git rests. Readers do not see the file
// any more.
func (s *Store) takeAwayAgain(c *change) error {
	s.flight.RLock()
	defer s.flight.RUnlock()
	defer s.paths.lock(c.path)()
	if s.off.get(c.path) != nil {
		return nil
	}
	e := walEntry{Path: c.path, Base: c.back, Known: s.Tip(), Author: c.author}
	if id, own := fold.OwnPath(c.path); own {
		e.ID = id
	}
	if err := s.appendOff(nil, e); err != nil {
		return err
	}
	s.off.tell(c.path, nil, s.off.get(c.path).Seq)
	return nil
}

// settleDeletions forgets the deletions that the commit at has. The caller holds commit and
// has opened t.
func (s *Store) settleDeletions(ctx context.Context, t *branchTarget, at oid) error {
	if err := s.loadDeletions(); err != nil || len(s.deletions.of) == 0 {
		return err
	}
	ids, err := t.heldAt(ctx, at, sortedKeys(s.deletions.of))
	if err != nil {
		return err
	}
	for path := range s.deletions.of {
		id, live := ids[path]
		if live {
			b, err := t.objects.blob(ctx, id)
			if err != nil {
				return err
			}
			_, buried := fold.Buried(b)
			live = !buried
		}
		if !live {
			s.noLongerOwes(path)
		}
	}
	return s.saveDeletions()
}

// heldAt returns what the commit at holds of paths below fold/. The caller has opened t.
func (t *branchTarget) heldAt(ctx context.Context, at oid, paths []string) (map[string]oid, error) {
	c, err := t.objects.commit(ctx, at)
	if err != nil {
		return nil, err
	}
	dir, err := t.objects.child(ctx, c.tree, t.dir)
	if err != nil || !dir.isDir() {
		return nil, err
	}
	ids := map[string]oid{}
	for _, path := range paths {
		id, err := t.objects.at(ctx, dir.oid, path)
		if err != nil {
			return nil, err
		}
		if id != "" {
			ids[path] = id
		}
	}
	return ids, nil
}
