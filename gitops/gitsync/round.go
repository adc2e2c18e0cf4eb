package gitsync

import (
	"context"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/transport"
)

// A remote speaks to the one remote, or to what a clone brought of it.
type remote interface {
	Tip(ctx context.Context) (plumbing.Hash, error)
	Fetch(ctx context.Context) (plumbing.Hash, error)
	Push(ctx context.Context, was, is plumbing.Hash) error
}

// A round is one pass of a sync.
type round struct {
	s             *Syncer
	t             remote
	host, address string // of the remote; no host is a path of this machine
	opt           SyncOptions
	out           *Synced

	notes   *syncNotes
	seen    plumbing.Hash   // tip of the remote that we saw last
	lost    plumbing.Hash   // the same, where the remote has no branch any more
	branch  plumbing.Hash   // ours, with all that may be published
	from    plumbing.Hash   // journal commit that branch holds
	applied map[string]bool // paths whose files were changed

	before map[string]plumbing.Hash // bases of files by a sync that did not end
}

// step lets a test stop here.
func (r *round) step(name string) error {
	if r.opt.Step == nil {
		return nil
	}
	return r.opt.Step(name)
}

// load reads what the last sync left.
func (r *round) load() (err error) {
	if r.notes, err = r.s.readNotes(); err != nil {
		return err
	}
	if r.notes.Remote != r.address {
		// Another remote: what was seen elsewhere says nothing about it.
		r.notes = &syncNotes{Remote: r.address, Held: r.notes.Held, Back: r.notes.Back, Intent: r.notes.Intent}
		return nil
	}
	r.seen, err = r.s.obj.Ref(RefRemote)
	return err
}

// remoteTip finds out where the remote's branch stands and holds what is on it.
func (r *round) remoteTip(ctx context.Context, try int) (tip plumbing.Hash, err error) {
	if known, err := r.mayPushAtOnce(ctx, try); known || err != nil {
		return r.seen, err
	}
	if err := r.step("ask"); err != nil {
		return tip, err
	}
	if tip, err = r.t.Tip(ctx); err != nil {
		return tip, err
	}
	if tip == r.seen {
		return tip, nil
	}
	if !tip.IsZero() {
		if err := r.step("fetch"); err != nil {
			return tip, err
		}
		if !r.s.obj.Holds(tip) {
			if tip, err = r.t.Fetch(ctx); err != nil {
				return tip, err
			}
		}
	}
	if err := r.checkSeen(ctx, tip); err != nil {
		return tip, err
	}
	r.out.Fetched = !tip.IsZero() && tip != r.branch
	return tip, r.saw(tip)
}

// mayPushAtOnce reports whether the remote need not be asked first: what is new
// here lies on what the remote had, and the lease tells if that is still so.
func (r *round) mayPushAtOnce(ctx context.Context, try int) (bool, error) {
	if try > 1 || !r.opt.Publish || r.seen.IsZero() || r.branch == r.seen {
		return false, nil
	}
	return r.s.obj.Descends(ctx, r.branch, r.seen)
}

// checkSeen stops where what we saw of the remote is gone from it (G14).
func (r *round) checkSeen(ctx context.Context, tip plumbing.Hash) error {
	if r.seen.IsZero() {
		return nil
	}
	if r.opt.Resync {
		if !tip.IsZero() {
			return nil
		}
		ok, err := r.s.obj.Descends(ctx, r.branch, r.seen)
		if ok {
			r.lost = r.seen
		}
		return err
	}
	if tip.IsZero() {
		return transport.Errorf(transport.Rewritten, r.host, "", "the branch foldwatch is gone from the remote")
	}
	ok, err := r.s.obj.Descends(ctx, tip, r.seen)
	if err != nil || ok {
		return err
	}
	return transport.Errorf(transport.Rewritten, r.host, "", "the branch foldwatch of the remote was rewritten: %.12s is no longer part of it", r.seen)
}

// saw keeps where the remote stands.
func (r *round) saw(tip plumbing.Hash) error {
	r.s.noteContact()
	if tip == r.seen {
		return nil
	}
	if !tip.IsZero() {
		if err := r.s.obj.SetRef(RefRemote, tip); err != nil {
			return err
		}
	}
	r.seen = tip
	return r.s.writeNotes(r.notes)
}
