package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// What was last said of a source file by itself, without the words that people
// put into its memory, is kept beside the journal: it is the base by which the
// next description is merged (design.md 5). It cannot be made again: how the
// imports of a file resolve hangs on the whole tree it was described in, and
// the words on the version of the describer.

// LastDescribed returns the description that was last written to path, as it
// was before any merge ([Write.Described]). It returns ErrNotFound if there is
// none.
func (s *Store) LastDescribed(ctx context.Context, path string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if b, ok := s.wal.Described(path); ok {
		return describedOrNone(path, b)
	}
	s.mu.Lock()
	tree, closed := s.known.described, s.known.closed
	s.mu.Unlock()
	if closed {
		return nil, fmt.Errorf("store is closed: %w", fold.ErrUnavailable)
	}
	if tree.IsZero() {
		return describedOrNone(path, nil)
	}
	h, err := s.obj.Lookup(tree, path)
	if err != nil {
		return nil, fmt.Errorf("last description of %s: %w", path, err)
	}
	if h.IsZero() {
		return describedOrNone(path, nil)
	}
	return s.obj.Blob(h)
}

// describerName is a file that names the version of the describer that all kept
// descriptions are of.
const describerName = "describer"

// Describer returns the version that was last given to SetDescriber; "" if none
// was, and nothing is described yet if not described.
func (s *Store) Describer() (version string, described bool, err error) {
	b, err := os.ReadFile(filepath.Join(s.l.StateDir(), describerName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", false, fmt.Errorf("version of the describer: %w", err)
	}
	s.mu.Lock()
	described = !s.known.described.IsZero()
	s.mu.Unlock()
	if !described {
		for _, e := range s.wal.Entries() {
			described = described || len(e.Described) > 0
		}
	}
	return strings.TrimSpace(string(b)), described, nil
}

// SetDescriber notes that all kept descriptions are of one version.
func (s *Store) SetDescriber(version string) error {
	if err := s.writable(); err != nil {
		return err
	}
	if err := disk.WriteFile(filepath.Join(s.l.StateDir(), describerName), []byte(version+"\n"), 0o600); err != nil {
		return fmt.Errorf("version of the describer: %w", err)
	}
	return nil
}

func describedOrNone(path string, b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, fmt.Errorf("last description of %s: %w", path, fold.ErrNotFound)
	}
	return b, nil
}

// spliceDescribed adds to the batch what the changes describe and returns the
// tree of all descriptions. A description that may not enter a commit is not
// kept here either.
func (rc recorder) spliceDescribed(changes []*change) (plumbing.Hash, error) {
	rc.mu.Lock()
	tree := rc.known.described
	rc.mu.Unlock()
	now := map[string]plumbing.Hash{}
	for _, c := range changes {
		switch {
		case c.described == nil:
		case len(c.described) == 0:
			now[c.path] = plumbing.ZeroHash
		case rc.check(c.path, c.described) == nil:
			h, err := rc.obj.Put(plumbing.BlobObject, c.described)
			if err != nil {
				return tree, err
			}
			now[c.path] = h
		}
	}
	if len(now) == 0 {
		return tree, nil
	}
	next, err := rc.obj.Splice(tree, now)
	if errors.Is(err, fold.ErrNotFound) { // part of it is gone: what is described from now on is kept
		next, err = rc.obj.Splice(plumbing.ZeroHash, now)
	}
	return next, err
}

// setDescribed writes the batch and lets the reference name the tree of
// descriptions.
func (rc recorder) setDescribed(tree plumbing.Hash) error {
	rc.mu.Lock()
	same := rc.known.described == tree
	rc.mu.Unlock()
	if same {
		return nil
	}
	if err := rc.obj.Flush(); err != nil {
		return err
	}
	if err := rc.obj.SetRef(refDescribed, tree); err != nil {
		return err
	}
	rc.mu.Lock()
	defer rc.mu.Unlock()
	rc.known.described = tree
	return nil
}
