package gitops

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// replay brings the disk to what the wal says was acknowledged: disk = new →
// done; disk = base → write; else merge3(base, disk, new). Entries stay in the
// wal until the next commit holds them. What git may be about to bring another
// version of is put off, as it is when it is acknowledged: see [Store.PutOff]. It
// returns the paths of which readers get something else than before. A path
// that cannot be written now stays in the wal and is set aside.
func (s *Store) replay() (changed []string, err error) { return s.replayBut(nil) }

// replayStart is replay at a start: what a person has deleted since, whose file was
// there and is missing, is left to the commit that follows, which records the deletion,
// or puts the vanish guard up. The journal gets what was acknowledged by that.
func (s *Store) replayStart() (changed []string, err error) {
	deleted, err := s.deletedSince()
	if err != nil { // what cannot be looked at was not deleted
		s.log.Warn("Deletions since the last stop not looked for", "err", err)
	}
	return s.replayBut(deleted)
}

// deletedSince returns the memories of which the wal has a newer version, whose file had
// it and is missing by now. There are none where more is missing than a person deletes.
func (s *Store) deletedSince() (map[string]bool, error) {
	placed := map[string]bool{}
	for path, chain := range s.chains() {
		last := &chain[len(chain)-1]
		if chain[0].Base != nil && last.New != nil && s.off.get(path) == nil && s.wal.wasPlaced(last) {
			placed[path] = true
		}
	}
	if _, up := s.guarded(); up || len(placed) == 0 {
		return nil, nil
	}
	root, err := s.openFold(false)
	if err != nil {
		return nil, nil //nolint:nilerr // replay says what is wrong with it
	}
	defer root.Close()
	missing, total, err := s.missing(root)
	if err != nil || tooMany(missing, len(missing), total) || len(missing) == total {
		return nil, err
	}
	deleted := map[string]bool{}
	for _, path := range missing {
		deleted[path] = placed[path]
	}
	return deleted, nil
}

// replayBut is replay of all but some paths.
func (s *Store) replayBut(deleted map[string]bool) (changed []string, err error) {
	chains := s.chains()
	if len(chains) == 0 {
		return nil, nil
	}
	paths := sortedKeys(chains)
	root, awaited, err := s.openReplay(paths)
	if err != nil {
		if errors.Is(err, fold.ErrUnavailable) {
			return nil, nil // the checkout is missing: they wait
		}
		return nil, err
	}
	if root != nil {
		defer root.Close()
	}
	for _, path := range paths {
		if deleted[path] && awaited[path] == "" {
			continue
		}
		differs, err := s.replayPath(root, path, chains[path], awaited[path])
		if err != nil {
			s.log.Warn("Replay left a write in the log", "path", path, "err", err)
			s.noteSetAside(path, err.Error())
			continue
		}
		if differs {
			changed = append(changed, path)
		}
	}
	// A crash may have come between the making of folders and their sync.
	if root != nil {
		err = root.Sync()
	}
	if err != nil {
		return changed, err
	}
	s.log.Info("Replayed acknowledged writes", "paths", len(chains), "written", len(changed), "waiting", len(s.PutOff()))
	return changed, nil
}

// openReplay opens fold/ for the replay of paths, and says which of them have to wait
// for git. Where all of them have, and git took fold/ away, root is nil: none is made.
func (s *Store) openReplay(paths []string) (root *disk.Root, awaited map[string]string, err error) {
	if s.off.isLeaving() {
		root, err = s.foldForWrite()
		return root, nil, err
	}
	if awaited, err = s.awaited(slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return fold.ValidPath(p) != nil })); err != nil {
		return nil, nil, err
	}
	root, err = s.openFold(false)
	if absentFold(err) {
		for _, path := range paths {
			if awaited[path] == "" {
				root, err = s.foldForWrite()
				return root, awaited, err
			}
		}
		return nil, awaited, nil
	}
	return root, awaited, err
}

// chains groups the wal by path, in order.
func (s *Store) chains() map[string][]walEntry {
	out := map[string][]walEntry{}
	for _, e := range s.wal.entries() {
		out[e.Path] = append(out[e.Path], e)
	}
	return out
}

// replayPath deals with the entries of one path, which follow each other: the
// base of each is usually the result of the one before. Waits says why the file is
// git's for now, if it is.
func (s *Store) replayPath(root *disk.Root, path string, chain []walEntry, waits string) (differs bool, err error) {
	if err := fold.ValidPath(path); err != nil {
		return false, err
	}
	s.flight.RLock()
	defer s.flight.RUnlock()
	defer s.paths.lock(path)()
	if off := s.off.get(path); off != nil {
		return false, s.replayUnder(root, off, chain)
	}
	last := chain[len(chain)-1]
	for range 10 {
		have, err := readIn(root, path)
		if err != nil {
			return false, err
		}
		want := last.New
		if same(have, want) {
			return false, nil
		}
		known := false // have is a state on the way from first base to last result
		for _, e := range chain {
			known = known || same(have, e.Base) || same(have, e.New)
		}
		if !known {
			// Somebody else wrote. Was it after the journal had our write?
			// Then nothing of ours is missing from it.
			if in, err := s.inJournal(path, last.New); err != nil || in {
				return false, err
			}
		}
		if waits == "" && have != nil && path != fold.ProjectFile && s.off.turnedOn() && !s.off.isLeaving() {
			waits = s.stirs() // since then
		}
		if waits != "" {
			return true, s.replayLater(chain, have, known)
		}
		if !known {
			if want, err = s.merge(path, chain[0].Base, have, last.New); err != nil {
				return false, err
			}
		}
		err = apply(root, walEntry{Path: path, Base: have, New: want})
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, fold.ErrConflict) {
			return false, err
		}
	}
	return false, fmt.Errorf("%s: changes faster than it can be written: %w", path, fold.ErrUnavailable)
}

// readIn is readFile where fold/ itself may be missing.
func readIn(root *disk.Root, path string) ([]byte, error) {
	if root == nil {
		return nil, nil
	}
	return readFile(root, path)
}

// replayLater puts off what a chain of the wal comes to. The chain stays in the wal:
// from there the journal gets all that was acknowledged, in order. Known says that
// have, which lies there, is a part of it. The path is locked.
func (s *Store) replayLater(chain []walEntry, have []byte, known bool) error {
	e := chain[len(chain)-1]
	e.Base = chain[0].Base
	if known {
		e.Base = have
	}
	if e.Known = ""; e.New == nil || e.Base == nil {
		e.Known = s.Tip()
	}
	for _, was := range chain {
		if was.Described != nil {
			e.Described = was.Described
		}
	}
	return s.appendOff(nil, e)
}

// replayUnder deals with a chain of the wal where off waits for the same file: that is
// what the file gets, and the chain must not come before it. Where git has since taken
// the result of the chain away, on which off was built, off begins where the chain
// does. The path is locked.
func (s *Store) replayUnder(root *disk.Root, off *putOff, chain []walEntry) error {
	have, err := readIn(root, off.Path)
	first, last := chain[0].Base, chain[len(chain)-1].New
	if err != nil || first == nil || last == nil || same(first, off.Base) || !same(last, off.Base) || same(have, off.Base) || same(have, off.New) {
		return err
	}
	if in, err := s.inJournal(off.Path, last); err != nil || in {
		return err
	}
	e := off.walEntry
	e.Base = first
	return s.appendOff(off, e)
}

// inJournal reports whether one of the newest journal commits holds b at path.
// Two are enough: a commit cuts the wal, and one call of Commit makes two at
// most.
func (s *Store) inJournal(path string, b []byte) (bool, error) {
	if b == nil {
		return false, nil
	}
	want := plumbing.ComputeHash(plumbing.BlobObject, b)
	s.mu.Lock()
	at := s.tip
	s.mu.Unlock()
	for range 2 {
		if at.IsZero() {
			return false, nil
		}
		c, err := s.obj.commitOf(at)
		if err != nil {
			return false, err
		}
		h, err := s.obj.lookup(c.TreeHash, path)
		if err != nil || h == want {
			return h == want, err
		}
		at = firstParent(c)
	}
	return false, nil
}
