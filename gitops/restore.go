package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/objdb"
	"github.com/foldwatch/foldwatch/gitops/wal"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Restore writes path as revision rev left it, as a new change: history is
// never rewritten. An empty rev means the version that is lost (see [Store.Lost]),
// else the newest that differs from what is on disk. It returns ErrNotFound if there is no such version, and the error
// of check, which may be nil, if that refuses what would be written.
func (s *Store) Restore(ctx context.Context, path, rev string, check func([]byte) error) (Put, error) {
	for range 3 {
		have, err := s.Read(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fold.ErrUnavailable):
			have = nil
		case err != nil:
			return Put{}, fmt.Errorf("restore: %w", err)
		case have == nil:
			have = []byte{}
		}
		b, from, err := s.version(ctx, path, rev, have)
		if err != nil {
			return Put{}, fmt.Errorf("restore: %w", err)
		}
		if check != nil {
			if err := check(b); err != nil {
				return Put{}, fmt.Errorf("restore %s from %.12s: %w", path, from, err)
			}
		}
		id, _ := fold.OwnPath(path)
		p, err := s.Put(ctx, Write{ID: id, Path: path, Base: have, New: b, Reason: fmt.Sprintf("fold: Restore %s from %.12s", path, from)})
		if err == nil {
			err = (tracker{s}).noteRestored(path)
		}
		if !errors.Is(err, fold.ErrConflict) {
			return p, err
		}
	}
	return Put{}, fmt.Errorf("restore %s: it keeps changing: %w", path, fold.ErrConflict)
}

// version returns the bytes of path at rev, or the newest that differ from have.
func (s *Store) version(ctx context.Context, path, rev string, have []byte) (b []byte, from string, err error) {
	if rev != "" {
		b, err = s.hist.At(ctx, rev, path)
		return b, rev, err
	}
	if b, err = (tracker{s}).lostVersion(path); b != nil || err != nil {
		return b, "the journal", err
	}
	err = s.hist.Versions(ctx, path, func(r string, v []byte) bool {
		if wal.Same(v, have) {
			return true
		}
		b, from = v, r
		return false
	})
	if err == nil && from == "" {
		err = fmt.Errorf("%s has no other version: %w", path, fold.ErrNotFound)
	}
	return b, from, err
}

// Undo takes back what revision rev changed, as a new change: each file is
// brought to what it was before rev, and merged where it has changed since. All
// is one commit. It returns the paths written.
func (s *Store) Undo(ctx context.Context, rev string) (paths []string, err error) {
	at, err := s.hist.Resolve(ctx, rev)
	if err != nil {
		return nil, fmt.Errorf("undo: %w", err)
	}
	c, err := s.obj.CommitOf(at)
	if err != nil {
		return nil, fmt.Errorf("undo: %w", err)
	}
	before, err := s.obj.TreeOf(objdb.FirstParent(c))
	if err != nil {
		return nil, fmt.Errorf("undo: %w", err)
	}
	type step struct {
		path    string
		was, is plumbing.Hash
	}
	var steps []step
	err = s.obj.Diff(before, c.TreeHash, func(path string, was, is plumbing.Hash) {
		steps = append(steps, step{path, was, is})
	})
	if err != nil {
		return nil, fmt.Errorf("undo: %w", err)
	}
	ws := make([]Write, 0, len(steps))
	for _, st := range steps {
		w := Write{Path: st.path, Merge: true}
		for h, b := range map[plumbing.Hash]*[]byte{st.was: &w.New, st.is: &w.Base} {
			if h.IsZero() {
				continue
			}
			if *b, err = s.obj.Blob(h); err != nil {
				return nil, fmt.Errorf("undo %s: %w", st.path, err)
			}
		}
		ws = append(ws, w)
	}
	_, paths, skipped, err := s.PutAs(ctx, ws, fmt.Sprintf("fold: Undo %.12s", at))
	if err == nil && len(skipped) > 0 {
		err = fmt.Errorf("%d files cannot be written, %s first: %w", len(skipped), skipped[0], fold.ErrConflict)
	}
	if err != nil {
		return paths, fmt.Errorf("undo: %w", err)
	}
	return paths, nil
}
