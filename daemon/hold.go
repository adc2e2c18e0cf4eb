package daemon

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/daemon/recall"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A hold keeps the stores of a checkout open until it is let go: what goes on in
// them never sees them closed.
type hold struct {
	*stores
	co  *checkout
	end func()
}

// letGo ends the hold. The second call does nothing.
func (h *hold) letGo() { h.end() }

// holdOpen returns the opened stores, waiting until they are. Stores that rest are
// opened for it. The caller lets go of them, soon, and waits for no other hold
// meanwhile.
func (co *checkout) holdOpen(ctx context.Context) (*hold, error) {
	co.mu.Lock()
	co.holds++ // from now on they do not come to rest
	co.lastUse = time.Now()
	co.tellUse()
	opened := co.opened
	co.mu.Unlock()
	co.sync.used()
	h, err := co.waitOpen(ctx, opened)
	if err != nil {
		co.mu.Lock()
		co.holds--
		co.tellUse()
		co.mu.Unlock()
	}
	return h, err
}

func (co *checkout) waitOpen(ctx context.Context, opened <-chan struct{}) (*hold, error) {
	select {
	case <-opened:
	default:
		poke(co.rouse)
		co.seats.hurry(co)
	}
	for {
		over := false
		select {
		case <-opened:
		case <-co.ended:
			over = true
		case <-co.stopped: // what is open may still be used, but nothing is opened any more
			over = true
		case <-ctx.Done():
			return nil, fmt.Errorf("project %s is starting: %w", co.rec.Slug, fold.ErrUnavailable)
		}
		co.mu.Lock()
		st, failed := co.st, co.failed
		opened = co.opened
		if st != nil {
			co.users.Add(1)
		}
		co.mu.Unlock()
		switch {
		case st != nil:
			return co.newHold(st, true), nil
		case failed != nil:
			return nil, fmt.Errorf("project %s: %w", co.rec.Slug, failed)
		case over:
			return nil, fmt.Errorf("project %s is stopping: %w", co.rec.Slug, fold.ErrUnavailable)
		}
		// Closed again before this one looked: what is kept is opened anew.
	}
}

func (co *checkout) newHold(st *stores, use bool) *hold {
	return &hold{stores: st, co: co, end: sync.OnceFunc(func() {
		co.mu.Lock()
		co.holds--
		if use {
			co.lastUse = time.Now()
		}
		co.tellUse()
		co.mu.Unlock()
		co.users.Add(-1)
		select {
		case co.unused <- struct{}{}:
		default:
		}
	})}
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
	co.mu.Lock()
	defer co.mu.Unlock()
	if co.st == nil {
		return nil
	}
	co.holds++
	co.users.Add(1)
	co.tellUse()
	return co.newHold(co.st, false)
}

// isOpen reports whether the stores are open now.
func (co *checkout) isOpen() bool {
	co.mu.Lock()
	defer co.mu.Unlock()
	return co.st != nil
}

// tellUse tells what the stores are open for. co.mu is held.
func (co *checkout) tellUse() { co.seats.used(co, co.inUse()) }

// inUse is what the stores are open for. co.mu is held.
func (co *checkout) inUse() use {
	return use{holds: co.holds, work: co.work.Busy(time.Now()), last: co.lastUse}
}
