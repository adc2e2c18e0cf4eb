package daemon

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/foldwatch/foldwatch/daemon/checkout"
	"github.com/foldwatch/foldwatch/meta/state"
)

// setMode changes the mode of co and of all other checkouts of its repository, and opens
// them anew: nothing of one mode may be open in the other.
func (d *Daemon) setMode(ctx context.Context, co *checkout.Checkout, mode string) error {
	if mode == checkout.ModeSidecar {
		for _, other := range d.sorted() {
			if other.Record.CommonDir == co.Record.CommonDir && checkout.ModeOf(other.View().Record) == checkout.ModeTracked {
				if err := other.MayUntrack(ctx); err != nil {
					return err
				}
			}
		}
	}
	var all []*checkout.Checkout
	var recs []state.Checkout
	for _, other := range d.sorted() {
		if rec := other.View().Record; rec.CommonDir == co.Record.CommonDir && rec.CommitTo != mode {
			rec.CommitTo = mode
			all, recs = append(all, other), append(recs, rec)
		}
	}
	if err := d.parts.State.PutCheckouts(ctx, recs); err != nil {
		return err
	}
	var stopped error
	if mode == checkout.ModeTracked && len(all) > 0 {
		stopped = d.stopSync(ctx, co)
	}
	var g errgroup.Group // together: each waits until the others have closed
	for _, other := range all {
		was := checkout.ModeOf(other.View().Record)
		other.Update(func(c *checkout.Condition) { c.Record.CommitTo = mode })
		if was != mode {
			g.Go(func() error { return other.OpenAnew(ctx, false) })
		}
	}
	return errors.Join(stopped, g.Wait())
}

// stopSync turns the sync of a repository off.
func (d *Daemon) stopSync(ctx context.Context, co *checkout.Checkout) error {
	if runner, _ := co.Sync.On(); runner == nil {
		return nil
	}
	if err := d.parts.State.DeleteSync(ctx, co.Record.CommonDir); err != nil {
		return err
	}
	co.Sync.Turn(state.Sync{}, co.Record.Slug, false)
	co.Events.Publish("sync:off", co.Record.Slug, nil)
	return nil
}
