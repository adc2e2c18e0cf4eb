package gitops

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/history"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/fold"
)

func (s *Store) hasJournal() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.known.tip.IsZero()
}

// Uncommitted returns the paths of acknowledged writes that are not in the
// journal yet, sorted.
func (s *Store) Uncommitted() []string {
	var paths []string
	for _, e := range s.wal.Entries() {
		paths = append(paths, e.Path)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// changed tells the caller which paths were written.
func (s *Store) changed(paths []string) {
	if s.opt.Changed != nil && len(paths) > 0 {
		s.opt.Changed(paths)
	}
}

// writable returns why nothing may be written, or nil.
func (s *Store) writable() error {
	s.mu.Lock()
	closed := s.known.closed
	s.mu.Unlock()
	if closed {
		return fmt.Errorf("store is closed: %w", fold.ErrUnavailable)
	}
	if !s.wal.Present() {
		return fold.WithHint(fmt.Errorf("%s was removed or replaced: %w", s.l.StateDir(), fold.ErrUnavailable),
			"run foldwatch up again in this checkout")
	}
	return nil
}

// lockCommit takes the lock of commits. It returns why nothing may be written instead,
// also where the store was closed while the lock was waited for.
func (s *Store) lockCommit() error {
	s.commit.Lock()
	if err := s.writable(); err != nil {
		s.commit.Unlock()
		return err
	}
	return nil
}

// Present reports whether the state folder is still the one that was opened: a
// checkout that was removed and cloned anew has none, or another.
func (s *Store) Present() bool { return s.wal.Present() }

// History returns what reads the commits of the journal and of the remote.
func (s *Store) History() *history.Reader { return s.hist }

// UserFolder returns what reads fold/ in the user's own commits.
func (s *Store) UserFolder() *usergit.Folder { return s.user }

// start returns the newest commit of the journal, zero before the first, or why nothing
// can be read.
func (s *Store) start() (plumbing.Hash, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known.closed {
		return plumbing.ZeroHash, fmt.Errorf("store is closed: %w", fold.ErrUnavailable)
	}
	return s.known.tip, nil
}

// A Status says how the store stands.
type Status struct {
	Tip        string            // newest journal commit; "" before the first
	LastCommit time.Time         // zero before the first
	Loose      int               // objects in files of their own
	WalEntries int               // acknowledged writes not yet in the journal
	Guarded    bool              // the vanish guard is up: nothing is committed
	Reason     string            // why
	SetAside   map[string]string // path → why it is not committed
}

// Tip returns the newest journal commit, or "" before the first.
func (s *Store) Tip() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known.tip.IsZero() {
		return ""
	}
	return s.known.tip.String()
}

// Read returns the bytes of the file at path below fold/ as they are on disk. A
// file marked `deleted: true` is none: fs.ErrNotExist.
func (s *Store) Read(path string) ([]byte, error) {
	root, err := s.openFold(false)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	b, _, err := root.Read(path, fold.MaxFile)
	if gone := fold.MarkedDeleted(b); gone && err == nil {
		return nil, fmt.Errorf("%s was deleted: %w", path, fs.ErrNotExist)
	}
	return b, err
}

// Status returns how the store stands now.
func (s *Store) Status() Status {
	st := Status{SetAside: map[string]string{}}
	s.mu.Lock()
	if !s.known.tip.IsZero() {
		st.Tip = s.known.tip.String()
	}
	st.LastCommit = s.known.tipTime
	if s.known.guard != nil {
		st.Guarded, st.Reason = true, s.known.guard.Reason
	}
	maps.Copy(st.SetAside, s.known.setAside)
	closed := s.known.closed
	s.mu.Unlock()
	st.WalEntries, _ = s.wal.Count()
	if !closed {
		st.Loose = s.obj.CountLoose()
	}
	return st
}
