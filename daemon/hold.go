package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/foldwatch/foldwatch/daemon/recall"
	"github.com/foldwatch/foldwatch/daemon/storepool"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A hold keeps the stores of a checkout open until it is let go: what goes on in
// them never sees them closed.
type hold struct {
	*stores
	co    *checkout
	lease *storepool.Lease[*stores]
}

// letGo ends the hold. The second call does nothing.
func (h *hold) letGo() { h.lease.Release() }

// holdOpen returns the opened stores, waiting until they are. Stores that rest are
// opened for it. The caller lets go of them, soon, and waits for no other hold
// meanwhile.
func (co *checkout) holdOpen(ctx context.Context) (*hold, error) {
	co.sync.Used()
	l, err := co.slot.Acquire(ctx, storepool.Call)
	switch {
	case err == nil:
		return &hold{l.Stores, co, l}, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("project %s is starting: %w", co.rec.Slug, fold.ErrUnavailable)
	case errors.Is(err, storepool.ErrStopped):
		return nil, fmt.Errorf("project %s is stopping: %w", co.rec.Slug, fold.ErrUnavailable)
	}
	return nil, fmt.Errorf("project %s: %w", co.rec.Slug, err)
}

// holdAny holds the stores of the first of the checkouts whose stores can be opened.
func holdAny(ctx context.Context, cos []*checkout) (*hold, error) {
	var first error
	for _, co := range cos {
		h, err := co.holdOpen(ctx)
		if err == nil {
			return h, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// lend hands out the way to search the stores, which stay held.
func (h *hold) lend(context.Context) (*recall.Door, func(), error) {
	return h.recall, func() {}, nil
}

// holdIfOpen holds the stores if they are open, and returns nil if they are not. It
// does not count as a use, after which they stay open for a while.
func (co *checkout) holdIfOpen() *hold {
	if l := co.slot.Look(); l != nil {
		return &hold{l.Stores, co, l}
	}
	return nil
}
