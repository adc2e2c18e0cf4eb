package gitops

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A deletion that the user's branch does not have yet is no more than a file that is
// not there: a stash that is given up, a way to another commit and back, a reset bring
// it back, and git has no memory of it. Until the branch has it the deletion is owed.
// What comes back as it was when it was deleted, on disk or in HEAD, is taken away again
// when git rests, and so is an older one where HEAD was set back to it. Any other version
// that somebody saves on the same branch is an edit, and wins (I9); so is an older one
// that a new commit goes back to, and one that git
// checked out of another commit than HEAD (git checkout REV -- file), since somebody asked
// for it. That somebody asked for the version of HEAD itself cannot be told: git leaves
// the same index and the same logs behind where one file is named and where all that
// changed is thrown away (git checkout -- .), and HEAD has the file until the branch has
// the deletion.

// deletionsName is a file of the state folder: which deletions the branch owes.
const deletionsName = "deletions.json"

// A deletion is one of them.
type deletion struct {
	At  time.Time `json:"at"`
	Ref string    `json:"ref"` // what the file HEAD said then
	// Was are the hashes of what lay on disk and in HEAD then.
	Was []string `json:"was"`
	// Heads is what the checkout stood at then, see standsAt.
	Heads string `json:"heads,omitempty"`
	// Back says that git brought the file back since. It may hold the deletion
	// somewhere, in a stash or on another branch, and a tombstone would be in the
	// way of that: it gets none.
	Back bool `json:"back,omitempty"`
}

// loadDeletions reads what an earlier run owed. The caller holds commit.
func (s *Store) loadDeletions() error { return s.deletions.load(s.deletionsPath()) }

func (s *Store) saveDeletions() error { return s.deletions.save(s.deletionsPath()) }

func (s *Store) deletionsPath() string { return filepath.Join(s.l.StateDir(), deletionsName) }

// broughtBack reports whether c.disk is what git put where a memory was deleted, and
// notes on c whether it is an edit instead. The caller holds commit.
func (s *Store) broughtBack(ctx context.Context, c *change) (bool, error) {
	if s.onto == nil || c.disk == nil || c.path == fold.ProjectFile {
		return false, nil
	}
	if err := s.loadDeletions(); err != nil {
		return false, err
	}
	if _, buried := fold.Buried(c.disk); buried {
		return false, nil
	}
	d, is := s.deletions.of[c.path]
	switch {
	case c.ours != nil && c.ours.New != nil: // the newest word on it
		return false, nil
	case c.ours != nil && same(c.disk, c.ours.Base):
		return true, nil
	case c.ours != nil: // its debt is not noted yet
		_, held, err := s.atHead(ctx, []string{c.path})
		return err == nil && same(c.disk, held[c.path]), err
	case !is:
		return false, nil
	}
	if slices.Contains(d.Was, hashOf(c.disk)) {
		return true, nil
	}
	head, err := readSmall(filepath.Join(s.l.mainLayout().GitDir, "HEAD"))
	if err != nil || string(head) != d.Ref || s.l.mainLayout().Busy() != "" {
		return false, nil //nolint:nilerr // nothing is told by that
	}
	if d.Heads != "" {
		_, held, err := s.atHead(ctx, []string{c.path})
		if err != nil {
			return false, err
		}
		if same(c.disk, held[c.path]) {
			if back, err := s.pastHolds(d.Heads, c.path, c.disk); back || err != nil {
				return back, err
			}
		}
	}
	c.edited = true
	return false, nil
}

func hashOf(b []byte) string { return plumbing.ComputeHash(plumbing.BlobObject, b).String() }

// noteDeletions keeps which deletions changes hold and which of them git undid, has
// those done again when git rests, and forgets what somebody wanted back. The wal keeps
// the deletions until it returns. The caller holds commit.
func (s *Store) noteDeletions(ctx context.Context, changes []*change) error {
	if s.onto == nil {
		return nil
	}
	if err := s.loadDeletions(); err != nil {
		return err
	}
	var owed []*change
	for _, c := range changes {
		_, buried := fold.Buried(c.disk)
		switch {
		case c.disk == nil:
			if c.off || c.back != nil || c.ours != nil && c.ours.New == nil {
				owed = append(owed, c)
			}
		case buried:
		case (c.off || c.edited || c.ours != nil && c.ours.New != nil) && s.gate(c.path, c.disk) == nil:
			s.deletions.drop(c.path)
		}
	}
	if err := s.owe(ctx, owed); err != nil {
		return err
	}
	if err := s.saveDeletions(); err != nil {
		return err
	}
	for _, c := range owed {
		if c.back != nil {
			if err := s.takeAwayAgain(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// owe adds deletions to those that the branch owes.
func (s *Store) owe(ctx context.Context, list []*change) error {
	paths := make([]string, 0, len(list))
	for _, c := range list {
		if d, is := s.deletions.of[c.path]; !is {
			paths = append(paths, c.path)
		} else if c.back != nil && !d.Back {
			d.Back = true
			s.deletions.put(c.path, d)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	head, held, err := s.atHead(ctx, paths)
	if err != nil {
		return err
	}
	for _, c := range list {
		if _, is := s.deletions.of[c.path]; is {
			continue
		}
		d := deletion{At: s.opt.Now().UTC(), Ref: head, Heads: s.standsAt(), Back: c.back != nil}
		base := c.back
		if o := s.off.get(c.path); c.off && o != nil {
			base, d.Heads = o.Base, o.Heads
		} else if c.ours != nil {
			base = c.ours.Base
		}
		for _, b := range [][]byte{base, held[c.path], c.back} {
			if h := hashOf(b); b != nil && !slices.Contains(d.Was, h) {
				d.Was = append(d.Was, h)
			}
		}
		s.deletions.put(c.path, d)
	}
	return nil
}

// atHead returns what the file HEAD says, and what HEAD holds of paths; nothing where
// it is on no branch.
func (s *Store) atHead(ctx context.Context, paths []string) (head string, held map[string][]byte, err error) {
	t := s.onto
	p, _, err := t.position()
	if err != nil || p.oid == "" {
		return string(p.head), nil, err
	}
	// Not those of t: a draft may have made some there.
	objects := newUserObjects(t.l, t.size)
	defer objects.close()
	ids, err := objects.heldAt(ctx, p.oid, t.dir, paths)
	if err != nil {
		return "", nil, err
	}
	held = map[string][]byte{}
	for path, id := range ids {
		b, err := objects.blob(ctx, id)
		if err != nil {
			return "", nil, err
		}
		held[path] = bytes.Clone(b)
	}
	return string(p.head), held, nil
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
	e := walEntry{Path: c.path, Base: c.back, Known: s.Tip(), Heads: s.deletions.of[c.path].Heads, Author: c.author}
	if id, own := fold.OwnPath(c.path); own {
		e.ID = id
	}
	if err := s.appendOff(nil, e); err != nil {
		return err
	}
	s.off.tell(c.path, nil, s.off.get(c.path).Seq)
	return nil
}

// settleDeletions forgets the deletions that the commit at has, and those that are as
// old as tombstones get. The caller holds commit and
// has opened t.
func (s *Store) settleDeletions(ctx context.Context, t *branchTarget, at oid) error {
	if err := s.loadDeletions(); err != nil || len(s.deletions.of) == 0 {
		return err
	}
	ids, err := t.objects.heldAt(ctx, at, t.dir, sortedKeys(s.deletions.of))
	if err != nil {
		return err
	}
	for path, d := range s.deletions.of {
		id, live := ids[path]
		if live = live && s.opt.Now().Sub(d.At) < fold.TombstoneAge; live {
			b, err := t.objects.blob(ctx, id)
			if err != nil {
				return err
			}
			_, buried := fold.Buried(b)
			live = !buried
		}
		if !live {
			s.deletions.drop(path)
		}
	}
	return s.saveDeletions()
}

// heldAt returns what the commit at holds of paths below the folder dir.
func (u *userObjects) heldAt(ctx context.Context, at oid, dir string, paths []string) (map[string]oid, error) {
	c, err := u.commit(ctx, at)
	if err != nil {
		return nil, err
	}
	e, err := u.child(ctx, c.tree, dir)
	if err != nil || !e.isDir() {
		return nil, err
	}
	ids := map[string]oid{}
	for _, path := range paths {
		id, err := u.at(ctx, e.oid, path)
		if err != nil {
			return nil, err
		}
		if id != "" {
			ids[path] = id
		}
	}
	return ids, nil
}
