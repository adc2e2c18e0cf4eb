package history

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/objdb"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// At returns the bytes of path (below fold/) as revision rev left them, or
// ErrNotFound if it was not there.
func (r *Reader) At(ctx context.Context, rev, path string) ([]byte, error) {
	at, err := r.Resolve(ctx, rev)
	if err != nil {
		return nil, err
	}
	tree, err := r.obj.TreeOf(at)
	if err != nil {
		return nil, err
	}
	h, err := r.obj.Lookup(tree, path)
	if err != nil {
		return nil, err
	}
	if h.IsZero() {
		return nil, fmt.Errorf("%s in revision %.12s: %w", path, at, fold.ErrNotFound)
	}
	return r.obj.Blob(h)
}

// Versions calls fn with every version of path that the journal holds, newest
// first, each once, until fn returns false. Deleted states are passed over.
func (r *Reader) Versions(ctx context.Context, path string, fn func(rev string, b []byte) bool) error {
	at, err := r.tip()
	if err != nil {
		return err
	}
	var rev string // oldest commit seen so far that holds last
	var last plumbing.Hash
	tell := func() (bool, error) {
		if last.IsZero() {
			return true, nil
		}
		b, err := r.obj.Blob(last)
		if gone := fold.MarkedDeleted(b); gone && err == nil {
			return true, nil
		}
		return err == nil && fn(rev, b), err
	}
	for !at.IsZero() {
		if err := ctx.Err(); err != nil {
			return err
		}
		c, err := r.obj.CommitOf(at)
		if err != nil {
			return err
		}
		h, err := r.obj.Lookup(c.TreeHash, path)
		if err != nil {
			return err
		}
		if h != last {
			if more, err := tell(); err != nil || !more {
				return err
			}
			last = h
		}
		rev, at = at.String(), objdb.FirstParent(c)
	}
	_, err = tell()
	return err
}

// Called returns the memories of which the journal has, or had, a file of our form, and
// whose id begins with prefix, which is at least two hex digits; sorted.
func (r *Reader) Called(ctx context.Context, prefix string) (ids []fold.ID, err error) {
	if len(prefix) < 2 || strings.Trim(prefix, "0123456789abcdef") != "" {
		return nil, nil
	}
	at, err := r.tip()
	if err != nil {
		return nil, err
	}
	var last plumbing.Hash // the folder that was looked into last
	for !at.IsZero() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := r.obj.CommitOf(at)
		if err != nil {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
		dir := c.TreeHash
		for _, name := range prefix[:2] {
			if dir, err = r.child(dir, string(name), true); err != nil {
				return nil, fmt.Errorf("read the journal: %w", err)
			}
		}
		if !dir.IsZero() && dir != last {
			entries, err := r.obj.ReadTree(dir)
			if err != nil {
				return nil, fmt.Errorf("read the journal: %w", err)
			}
			for _, e := range entries {
				id, own := fold.OwnPath(prefix[:1] + "/" + prefix[1:2] + "/" + e.Name)
				if own && !e.Dir && strings.HasPrefix(string(id), prefix) && !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
			}
			last = dir
		}
		at = objdb.FirstParent(c)
	}
	slices.Sort(ids)
	return ids, nil
}

// LastBlob returns the newest bytes the journal holds for path, also if it has
// been deleted since, and the revision that wrote them; ErrNotFound if it
// never had any.
func (r *Reader) LastBlob(ctx context.Context, path string) (b []byte, rev string, err error) {
	err = r.Versions(ctx, path, func(r string, v []byte) bool {
		b, rev = v, r
		return false
	})
	if err == nil && rev == "" {
		err = fmt.Errorf("%s was never recorded: %w", path, fold.ErrNotFound)
	}
	return b, rev, err
}

// Resolve finds the commit of the journal, or of the remote's branch, that rev names: its full name, at least
// four digits of it, or "" for the newest. It returns ErrNotFound if there is
// none and ErrInvalid if there are several.
func (r *Reader) Resolve(ctx context.Context, rev string) (plumbing.Hash, error) {
	at, err := r.tip()
	if err != nil {
		return at, err
	}
	if at.IsZero() {
		return at, fmt.Errorf("nothing is recorded yet: %w", fold.ErrNotFound)
	}
	if rev == "" {
		return at, nil
	}
	rev = strings.ToLower(rev)
	if len(rev) < 4 || len(rev) > 40 || strings.Trim(rev, "0123456789abcdef") != "" {
		return plumbing.ZeroHash, fmt.Errorf("revision %.60q: want 4 to 40 hex digits: %w", rev, fold.ErrInvalid)
	}
	found, err := r.resolveRemote(ctx, rev)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	for !at.IsZero() {
		if err := ctx.Err(); err != nil {
			return plumbing.ZeroHash, err
		}
		if strings.HasPrefix(at.String(), rev) && !slices.Contains(found, at) {
			found = append(found, at)
		}
		c, err := r.obj.CommitOf(at)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		at = objdb.FirstParent(c)
	}
	switch len(found) {
	case 0:
		return plumbing.ZeroHash, fold.WithHint(fmt.Errorf("revision %s: %w", rev, fold.ErrNotFound), "foldwatch log shows the revisions there are")
	case 1:
		return found[0], nil
	}
	return plumbing.ZeroHash, fmt.Errorf("revision %s is ambiguous: %w", rev, fold.ErrInvalid)
}
