package gitops

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Revision is one commit of the journal.
type Revision struct {
	Oid     string
	Time    time.Time // UTC
	Author  string
	Subject string
	Body    string // ids, paths and trailers
	Paths   []PathChange
}

// A PathChange is one file that a revision changes.
type PathChange struct {
	Status byte // A, M or D
	Path   string
}

// blob returns the bytes of a file of the journal.
func (s *Store) blob(h plumbing.Hash) ([]byte, error) { return s.obj.get(plumbing.BlobObject, h) }

// start returns the newest journal commit, or an error if there is nothing to
// read.
func (s *Store) start() (plumbing.Hash, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return plumbing.ZeroHash, fmt.Errorf("store is closed: %w", fold.ErrUnavailable)
	}
	return s.tip, nil
}

// Log returns the revisions that changed path (below fold/; "" means any),
// newest first, at most limit (0 means all).
func (s *Store) Log(ctx context.Context, path string, limit int) ([]Revision, error) {
	at, err := s.start()
	if err != nil {
		return nil, err
	}
	var out []Revision
	for !at.IsZero() && (limit <= 0 || len(out) < limit) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := s.obj.commitOf(at)
		if err != nil {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
		parent := firstParent(c)
		before, err := s.obj.treeOf(parent)
		if err != nil {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
		hit, err := s.touches(before, c.TreeHash, path)
		if err != nil {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
		if hit {
			r := Revision{Oid: at.String(), Time: c.Committer.When.UTC(), Author: c.Author.Name}
			r.Subject, r.Body, _ = strings.Cut(c.Message, "\n")
			r.Body = strings.TrimSpace(r.Body)
			if r.Paths, err = s.pathChanges(before, c.TreeHash); err != nil {
				return nil, fmt.Errorf("read the journal: %w", err)
			}
			out = append(out, r)
		}
		at = parent
	}
	return out, nil
}

// touches reports whether two trees differ at path.
func (s *Store) touches(a, b plumbing.Hash, path string) (bool, error) {
	if path == "" || a == b {
		return a != b, nil
	}
	for {
		name, rest, deeper := strings.Cut(path, "/")
		var err error
		if a, err = s.child(a, name, deeper); err != nil {
			return false, err
		}
		if b, err = s.child(b, name, deeper); err != nil {
			return false, err
		}
		if a == b || !deeper {
			return a != b, nil // equal folders are not looked into
		}
		path = rest
	}
}

func (s *Store) child(tree plumbing.Hash, name string, dir bool) (plumbing.Hash, error) {
	entries, err := s.obj.readTree(tree)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	for _, e := range entries {
		if e.name == name && e.dir == dir {
			return e.hash, nil
		}
	}
	return plumbing.ZeroHash, nil
}

func (s *Store) pathChanges(a, b plumbing.Hash) ([]PathChange, error) {
	var out []PathChange
	err := s.obj.diff(a, b, "", func(path string, was, is plumbing.Hash) {
		p := PathChange{Status: 'M', Path: path}
		switch {
		case was.IsZero():
			p.Status = 'A'
		case is.IsZero():
			p.Status = 'D'
		}
		out = append(out, p)
	})
	return out, err
}

// resolve finds the journal commit that rev names: its full name, at least
// four digits of it, or "" for the newest. It returns ErrNotFound if there is
// none and ErrInvalid if there are several.
func (s *Store) resolve(ctx context.Context, rev string) (plumbing.Hash, error) {
	at, err := s.start()
	if err != nil {
		return at, err
	}
	if rev == "" && !at.IsZero() {
		return at, nil
	}
	rev = strings.ToLower(rev)
	if len(rev) < 4 || len(rev) > 40 || strings.Trim(rev, "0123456789abcdef") != "" {
		return plumbing.ZeroHash, fmt.Errorf("revision %.60q: want 4 to 40 hex digits: %w", rev, fold.ErrInvalid)
	}
	var found plumbing.Hash
	for !at.IsZero() {
		if err := ctx.Err(); err != nil {
			return plumbing.ZeroHash, err
		}
		if strings.HasPrefix(at.String(), rev) {
			if !found.IsZero() {
				return plumbing.ZeroHash, fmt.Errorf("revision %s is ambiguous: %w", rev, fold.ErrInvalid)
			}
			found = at
		}
		c, err := s.obj.commitOf(at)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		at = firstParent(c)
	}
	if found.IsZero() {
		return found, fold.WithHint(fmt.Errorf("revision %s: %w", rev, fold.ErrNotFound), "foldwatch log shows the revisions there are")
	}
	return found, nil
}

// At returns the bytes of path (below fold/) as revision rev left them, or
// ErrNotFound if it was not there.
func (s *Store) At(ctx context.Context, rev, path string) ([]byte, error) {
	at, err := s.resolve(ctx, rev)
	if err != nil {
		return nil, err
	}
	tree, err := s.obj.treeOf(at)
	if err != nil {
		return nil, err
	}
	h, err := s.obj.lookup(tree, path)
	if err != nil {
		return nil, err
	}
	if h.IsZero() {
		return nil, fmt.Errorf("%s in revision %.12s: %w", path, at, fold.ErrNotFound)
	}
	return s.blob(h)
}

// LastBlob returns the newest bytes the journal holds for path, also if it has
// been deleted since, and the revision that wrote them; ErrNotFound if it
// never had any.
func (s *Store) LastBlob(ctx context.Context, path string) (b []byte, rev string, err error) {
	at, err := s.start()
	if err != nil {
		return nil, "", err
	}
	for !at.IsZero() {
		if err := ctx.Err(); err != nil {
			return nil, "", err
		}
		c, err := s.obj.commitOf(at)
		if err != nil {
			return nil, "", err
		}
		h, err := s.obj.lookup(c.TreeHash, path)
		if err != nil {
			return nil, "", err
		}
		if !h.IsZero() {
			b, err := s.blob(h)
			return b, at.String(), err
		}
		at = firstParent(c)
	}
	return nil, "", fmt.Errorf("%s was never recorded: %w", path, fold.ErrNotFound)
}

// Restore writes path as revision rev left it, as a new change: history is
// never rewritten. It returns ErrNotFound if rev does not hold the path.
func (s *Store) Restore(ctx context.Context, path, rev string) (Put, error) {
	b, err := s.At(ctx, rev, path)
	if err != nil {
		return Put{}, fmt.Errorf("restore: %w", err)
	}
	for range 3 {
		have, err := s.Read(path)
		if err != nil && !absentFile(err) {
			return Put{}, fmt.Errorf("restore: %w", err)
		}
		if err != nil {
			have = nil
		} else if have == nil {
			have = []byte{}
		}
		id, _ := fold.OwnPath(path)
		p, err := s.Put(ctx, Write{ID: id, Path: path, Base: have, New: b, Reason: "fold: Restore " + path})
		if !isConflict(err) {
			return p, err
		}
	}
	return Put{}, fmt.Errorf("restore %s: it keeps changing: %w", path, fold.ErrConflict)
}
