package daemon

import (
	"context"
	"errors"

	"github.com/foldwatch/foldwatch/meta/state"
	"golang.org/x/sync/errgroup"
)

// setMode changes the mode of co and of all other checkouts of its repository, and opens
// them anew: nothing of one mode may be open in the other.
func (d *Daemon) setMode(ctx context.Context, co *checkout, mode string) error {
	if mode == modeSidecar {
		for _, other := range d.sorted() {
			if other.rec.CommonDir == co.rec.CommonDir && modeOf(other.view().rec) == modeTracked {
				if err := other.mayUntrack(ctx); err != nil {
					return err
				}
			}
		}
	}
	var all []*checkout
	var recs []state.Checkout
	for _, other := range d.sorted() {
		if rec := other.view().rec; rec.CommonDir == co.rec.CommonDir && rec.CommitTo != mode {
			rec.CommitTo = mode
			all, recs = append(all, other), append(recs, rec)
		}
	}
	if err := d.parts.state.PutCheckouts(ctx, recs); err != nil {
		return err
	}
	var stopped error
	if mode == modeTracked && len(all) > 0 {
		stopped = d.stopSync(ctx, co)
	}
	var g errgroup.Group // together: each waits until the others have closed
	for _, other := range all {
		was := modeOf(other.view().rec)
		other.update(func(c *condition) { c.rec.CommitTo = mode })
		if was != mode {
			g.Go(func() error { return other.openAnew(ctx, false) })
		}
	}
	return errors.Join(stopped, g.Wait())
}

// stopSync turns the sync of a repository off.
func (d *Daemon) stopSync(ctx context.Context, co *checkout) error {
	if runner, _ := co.sync.On(); runner == nil {
		return nil
	}
	if err := d.parts.state.DeleteSync(ctx, co.rec.CommonDir); err != nil {
		return err
	}
	co.sync.Turn(state.Sync{}, co.rec.Slug, false)
	co.bus.Publish("sync:off", co.rec.Slug, nil)
	return nil
}
