package gitops

import (
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// replay brings the disk to what the wal says was acknowledged: disk = new →
// done; disk = base → write; else merge3(base, disk, new). Entries stay in the
// wal until the next commit holds them. It returns the paths it wrote. A path
// that cannot be written now stays in the wal and is set aside.
func (s *Store) replay() (written []string, err error) {
	chains := s.chains()
	if len(chains) == 0 {
		return nil, nil
	}
	root, err := s.foldForWrite()
	if err != nil {
		if errors.Is(err, fold.ErrUnavailable) {
			return nil, nil // the checkout is missing: they wait
		}
		return nil, err
	}
	defer root.Close()
	for _, path := range sortedKeys(chains) {
		wrote, err := s.replayPath(root, path, chains[path])
		if err != nil {
			s.log.Warn("Replay left a write in the log", "path", path, "err", err)
			s.noteSetAside(path, err.Error())
			continue
		}
		if wrote {
			written = append(written, path)
		}
	}
	// A crash may have come between the making of folders and their sync.
	if err := root.Sync(); err != nil {
		return written, err
	}
	s.log.Info("Replayed acknowledged writes", "paths", len(chains), "written", len(written))
	return written, nil
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
// base of each is usually the result of the one before.
func (s *Store) replayPath(root *disk.Root, path string, chain []walEntry) (wrote bool, err error) {
	if err := fold.ValidPath(path); err != nil {
		return false, err
	}
	last := chain[len(chain)-1]
	for range 10 {
		have, err := readFile(root, path)
		if err != nil {
			return false, err
		}
		want := last.New
		if same(have, want) {
			return wrote, nil
		}
		known := false // have is a state on the way from first base to last result
		for _, e := range chain {
			known = known || same(have, e.Base) || same(have, e.New)
		}
		if !known {
			// Somebody else wrote. Was it after the journal had our write?
			// Then nothing of ours is missing from it.
			if in, err := s.inJournal(path, last.New); err != nil || in {
				return wrote, err
			}
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
