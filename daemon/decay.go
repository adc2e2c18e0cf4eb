package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Decay tells which memories have faded, and with Archive moves them out of
// fold/, as one commit of its own that Undo takes back.
func (d *Daemon) Decay(ctx context.Context, sc fold.Scope, slug string, in wire.DecayRequest) (wire.DecayReply, error) {
	open := d.open
	if in.Archive && !in.DryRun {
		open = d.openToWrite
	}
	st, err := open(ctx, sc, slug)
	if err != nil {
		return wire.DecayReply{}, err
	}
	defer st.Release()
	if in.Threshold == 0 {
		in.Threshold = rank.Faded
	}
	if !(in.Threshold > 0 && in.Threshold <= 1) {
		return wire.DecayReply{}, fmt.Errorf("threshold %v is not between 0 and 1: %w", in.Threshold, fold.ErrInvalid)
	}
	return st.Decay(ctx, in)
}

// Undo takes back what one commit changed, as a new one.
func (d *Daemon) Undo(ctx context.Context, sc fold.Scope, slug string, in wire.Undo) (wire.Undone, error) {
	st, err := d.openToWrite(ctx, sc, slug)
	if err != nil {
		return wire.Undone{}, err
	}
	defer st.Release()
	paths, err := st.Store.Undo(ctx, in.Rev)
	for _, p := range paths {
		id, own := fold.OwnPath(p)
		if !own {
			continue
		}
		_, rerr := st.Store.Read(p)
		gone := errors.Is(rerr, fs.ErrNotExist) || errors.Is(rerr, fold.ErrNotFound)
		err = errors.Join(err, st.Checkout.Back(ctx, id, gone))
	}
	return wire.Undone{Rev: in.Rev, Paths: append([]string{}, paths...)}, err
}
