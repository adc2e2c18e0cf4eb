package gitsync

import (
	"context"
	"maps"

	"github.com/go-git/go-git/v5/plumbing"
)

// An intent is what a sync notes before it pushes its merge and applies it, until our
// references have moved. After a crash they alone would have the next sync merge from
// where this one began: what came and was deleted, or brought back to what it was, would
// come again. What the files have been meanwhile says how far it got.
type intent struct {
	From string `json:"from"` // journal commit that was merged
	Onto string `json:"onto"` // tip of the remote it was merged with
	Next string `json:"next"` // the merge: a commit on Onto
	// Was are the bases of files by a sync before, which did not end either: what
	// that took in, this one may not have got to.
	Was map[string]string `json:"was,omitempty"`
}

// begin notes what the sync is about to do, before anything tells of it: onto is the
// tip of the remote, next the commit that both are to stand at.
func (r *round) begin(onto, next plumbing.Hash) error {
	if r.from.IsZero() || next.IsZero() {
		return nil
	}
	b := intent{From: r.from.String(), Onto: onto.String(), Next: next.String()}
	for path, h := range r.before {
		if b.Was == nil {
			b.Was = make(map[string]string, len(r.before))
		}
		b.Was[path] = h.String()
	}
	if has := r.notes.Intent; has != nil && has.From == b.From && has.Onto == b.Onto && has.Next == b.Next && maps.Equal(has.Was, b.Was) {
		return nil
	}
	r.notes.Intent = &b
	return r.s.writeNotes(r.notes)
}

// appliedBefore returns the files that our side has merged already, in a sync that did
// not end, as they were on the remote then; the zero hash for one it did not have.
// That is what both sides have changed them from since, and no longer base, the last
// commit that both branches have.
func (r *round) appliedBefore(ctx context.Context, base, tip plumbing.Hash) (map[string]plumbing.Hash, error) {
	was := r.notes.Intent
	if was == nil {
		return nil, nil
	}
	s := r.s
	from, onto, next := plumbing.NewHash(was.From), plumbing.NewHash(was.Onto), plumbing.NewHash(was.Next)
	if !s.obj.Holds(next) {
		return nil, nil // nothing named it, and a repack has dropped it
	}
	if pushed, err := s.obj.Descends(ctx, tip, next); err != nil {
		return nil, err
	} else if pushed {
		onto = next
	} else if on, err := s.obj.Descends(ctx, tip, onto); err != nil || !on || onto.IsZero() {
		return nil, err // the remote was rewritten
	}
	if beyond, err := s.obj.Descends(ctx, onto, base); err != nil || !beyond || onto == base {
		return nil, err // our references have moved
	}
	var trees [3]plumbing.Hash
	for i, h := range []plumbing.Hash{base, onto, next} {
		var err error
		if trees[i], err = s.obj.TreeOf(h); err != nil {
			return nil, err
		}
	}
	came, err := s.changesFrom(ctx, trees[0], trees[1])
	if err != nil {
		return nil, err
	}
	have, err := r.heldSince(ctx, from, trees[2], came)
	if err != nil {
		return nil, err
	}
	out := map[string]plumbing.Hash{}
	for path, h := range was.Was {
		out[path] = plumbing.NewHash(h)
	}
	for path := range have {
		out[path] = came[path].is
	}
	return out, nil
}

// heldSince returns which of the paths the journal has had, at a commit or after it,
// the way a tree has them.
func (r *round) heldSince(ctx context.Context, from, tree plumbing.Hash, paths map[string]pathChange) (map[string]bool, error) {
	s := r.s
	journal, err := s.obj.TreeOf(r.from)
	if err != nil {
		return nil, err
	}
	want, out := make(map[string]plumbing.Hash, len(paths)), map[string]bool{}
	for path := range paths {
		if want[path], err = s.obj.Lookup(tree, path); err != nil {
			return nil, err
		}
		is, err := s.obj.Lookup(journal, path)
		if err != nil {
			return nil, err
		}
		if is == want[path] {
			out[path] = true
		}
	}
	whole, err := s.hist.Back(ctx, from, r.from, func(path string, was plumbing.Hash) {
		if h, ok := want[path]; ok && h == was {
			out[path] = true
		}
	})
	if !whole {
		clear(out) // thinned since: what it was before from proves nothing
	}
	return out, err
}
