package objdb

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// MergeBase returns the newest commit that both a and b descend from; zero if
// there is none. History of ours is one chain (G12), so that walking both
// chains side by side costs only what is new; where somebody merged on the
// remote, all of history is asked.
func (o *Repo) MergeBase(ctx context.Context, a, b plumbing.Hash) (plumbing.Hash, error) {
	if a.IsZero() || b.IsZero() || a == b {
		if a == b {
			return a, nil
		}
		return plumbing.ZeroHash, nil
	}
	seen := [2]map[plumbing.Hash]bool{{}, {}}
	at := [2]plumbing.Hash{a, b}
	merges := false
	for !at[0].IsZero() || !at[1].IsZero() {
		if err := ctx.Err(); err != nil {
			return plumbing.ZeroHash, err
		}
		for i, h := range at {
			if h.IsZero() {
				continue
			}
			if seen[1-i][h] && !merges {
				return h, nil
			}
			seen[i][h] = true
			c, err := o.CommitOf(h)
			if err != nil {
				return plumbing.ZeroHash, fmt.Errorf("walk history: %w", err)
			}
			merges = merges || len(c.ParentHashes) > 1
			at[i] = FirstParent(c)
		}
		if merges {
			return o.mergeBaseOf(a, b)
		}
	}
	return plumbing.ZeroHash, nil
}

// mergeBaseOf is mergeBase for histories with merges.
func (o *Repo) mergeBaseOf(a, b plumbing.Hash) (plumbing.Hash, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reopen()
	ca, err := object.GetCommit(o.st, a)
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("commit %s: %w", a, err)
	}
	cb, err := object.GetCommit(o.st, b)
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("commit %s: %w", b, err)
	}
	bases, err := ca.MergeBase(cb)
	if err != nil || len(bases) == 0 {
		return plumbing.ZeroHash, err
	}
	// Of several, which only merges across make, the same one everywhere.
	best := bases[0].Hash
	for _, c := range bases[1:] {
		if c.Hash.String() < best.String() {
			best = c.Hash
		}
	}
	return best, nil
}

// Descends reports whether tip is old or descends from it.
func (o *Repo) Descends(ctx context.Context, tip, old plumbing.Hash) (bool, error) {
	base, err := o.MergeBase(ctx, old, tip)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return false, nil
	}
	return base == old, err
}

// FirstParent returns the commit that c follows, or zero.
func FirstParent(c *object.Commit) plumbing.Hash {
	if len(c.ParentHashes) == 0 {
		return plumbing.ZeroHash
	}
	return c.ParentHashes[0]
}
