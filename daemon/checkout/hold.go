package checkout

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
type Lease struct {
	*Stores
	Checkout *Checkout
	lease    *storepool.Lease[*Stores]
}

// letGo ends the hold. The second call does nothing.
func (h *Lease) Release() { h.lease.Release() }

// holdOpen returns the opened stores, waiting until they are. Stores that rest are
// opened for it. The caller lets go of them, soon, and waits for no other hold
// meanwhile.
func (co *Checkout) Acquire(ctx context.Context) (*Lease, error) {
	co.Sync.Used()
	l, err := co.Slot.Acquire(ctx, storepool.Call)
	switch {
	case err == nil:
		return &Lease{l.Stores, co, l}, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("project %s is starting: %w", co.Record.Slug, fold.ErrUnavailable)
	case errors.Is(err, storepool.ErrStopped):
		return nil, fmt.Errorf("project %s is stopping: %w", co.Record.Slug, fold.ErrUnavailable)
	}
	return nil, fmt.Errorf("project %s: %w", co.Record.Slug, err)
}

// holdAny holds the stores of the first of the checkouts whose stores can be opened.
func AcquireAny(ctx context.Context, cos []*Checkout) (*Lease, error) {
	var first error
	for _, co := range cos {
		h, err := co.Acquire(ctx)
		if err == nil {
			return h, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// Lend hands out the way to search the stores, which stay held.
func (h *Lease) Lend(context.Context) (*recall.Service, func(), error) {
	return h.Recall, func() {}, nil
}

// holdIfOpen holds the stores if they are open, and returns nil if they are not. It
// does not count as a use, after which they stay open for a while.
func (co *Checkout) Look() *Lease {
	if l := co.Slot.Look(); l != nil {
		return &Lease{l.Stores, co, l}
	}
	return nil
}
