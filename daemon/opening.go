package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/foldwatch/foldwatch/daemon/storepool"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// run keeps the checkout until ctx ends or it is removed: it opens what is needed
// for that, and opens it anew when asked to or when something failed.
// One that is added while the daemon begins to run is started twice: with those that
// were there, and as one that came.
func (co *checkout) run(parent context.Context) {
	if co.claimed.Swap(true) {
		return
	}
	ctx, cancel := context.WithCancel(usergit.WithCounter(parent, &co.count.gitProcesses))
	defer cancel()
	defer close(co.ended)
	defer co.slot.Fail(storepool.ErrStopped)
	co.mu.Lock()
	co.cancel = cancel
	co.dropIndex = co.cfg.RebuildOnStart
	co.mu.Unlock()
	close(co.began)
	var o openings
	for ctx.Err() == nil {
		turn, end, drop := co.turn(ctx)
		began := time.Now()
		err := co.opening(turn, drop)
		until := turn // who asks for another turn does not wait
		damage := co.tookDamage(ctx, err)
		if damage != nil {
			err, until = damage, ctx
		}
		if pause, failed := o.ended(time.Since(began), err, damage != nil, turn.Err() != nil); failed {
			co.fail(ctx, err)
			wait(until, pause)
		}
		end()
	}
}

// damaged is told that the database of the index is. It ends the turn, so that
// the index is made again from the files.
func (co *checkout) damaged(err error) {
	co.mu.Lock()
	defer co.mu.Unlock()
	if co.damage == nil {
		co.damage = err
		co.reopen()
	}
}

// tookDamage returns the damage that ended the last turn, nil if it was none.
// The next turn then begins with empty derived stores.
func (co *checkout) tookDamage(ctx context.Context, err error) error {
	co.mu.Lock()
	if co.damage == nil && errors.Is(err, sqlite.ErrDamaged) {
		co.damage = err
	}
	damage := co.damage
	co.damage = nil
	if damage != nil {
		co.dropIndex = true
	}
	co.mu.Unlock()
	if damage != nil {
		co.log.ErrorContext(ctx, "Index damaged", "err", damage)
		co.note("rebuilt index", fmt.Sprintf("the index was damaged and is rebuilt from the files: %v", damage))
	}
	return damage
}

// turn begins the time of one opening. What was asked for before it is part of
// it; what is asked for later ends it.
func (co *checkout) turn(parent context.Context) (ctx context.Context, end context.CancelFunc, drop bool) {
	co.mu.Lock()
	defer co.mu.Unlock()
	ctx, end = context.WithCancel(parent)
	co.reopen = end
	drop, co.dropIndex = co.dropIndex, false
	co.waiters, co.asked = append(co.waiters, co.asked...), nil
	return ctx, end, drop
}

// opening keeps the checkout, until ctx ends or something fails. A search needs the
// derived stores, a write the history too: neither waits for the other, which is
// mostly for git, if there is a place for the stores at once.
func (co *checkout) opening(ctx context.Context, drop bool) (err error) {
	if co.faults != nil {
		err = co.faults("open")
	}
	if err == nil && drop {
		err = os.RemoveAll(co.indexDir())
	}
	if err == nil {
		_, err = os.Lstat(co.rec.Path) // else what is derived would be opened for nothing
	}
	var kept *standing
	if err == nil {
		kept, err = co.keep(ctx)
	}
	if kept == nil {
		if ctx.Err() != nil { // not a failure: the next turn does what this one was to do
			co.mu.Lock()
			co.dropIndex = co.dropIndex || drop
			co.mu.Unlock()
		}
		return err
	}
	co.setClosed()
	if err := kept.close(co); err != nil {
		co.log.WarnContext(ctx, "Checkout not closed cleanly", "err", err)
	}
	return err
}

// keep opens everything and runs the loops. It returns why they have ended, and what
// of the checkout is open still, nil if it could not be opened.
func (co *checkout) keep(ctx context.Context) (kept *standing, err error) {
	g, ctx := errgroup.WithContext(ctx)
	opened := make(chan struct{})
	g.Go(func() error {
		return co.slot.Run(ctx, co.source(ctx, func(ctx context.Context) (*standing, error) {
			select {
			case <-opened:
				return kept, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}))
	})
	g.Go(func() error {
		k, err := openStanding(ctx, co)
		if err != nil {
			return err
		}
		kept = k
		co.setKept(k)
		close(opened)
		return co.loops(ctx, k)
	})
	err = g.Wait()
	return kept, err
}

// wait waits for d, or for the end of ctx.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

func (co *checkout) setKept(k *standing) {
	co.mu.Lock()
	defer co.mu.Unlock()
	co.kept, co.stood, co.state = k, true, "starting"
	co.failed = nil
	co.slot.Fail(nil)
	co.answer()
}

// answer lets go on who waits for the opening, which was made or has failed.
// co.mu is held.
func (co *checkout) answer() {
	for _, w := range co.waiters {
		close(w)
	}
	co.waiters = nil
}

// setClosed makes callers wait for the next turn, whose sweep does what was left.
func (co *checkout) setClosed() {
	co.mu.Lock()
	defer co.mu.Unlock()
	co.kept, co.failed, co.state = nil, nil, "starting"
	co.rested, co.tally.last = false, nil
	co.work.Cancel(time.Now(), "covered by the sweep at start")
	co.work.Add(time.Now(), sweepAtStart())
	co.workChanged()
}

// fail says why nothing is open, until an opening succeeds.
func (co *checkout) fail(ctx context.Context, err error) {
	co.log.ErrorContext(ctx, "Checkout not open", "path", co.rec.Path, "err", err)
	co.mu.Lock()
	defer co.mu.Unlock()
	co.failed, co.state = err, "failed"
	if missing(err) {
		co.state = "missing"
	}
	co.slot.Fail(err)
	co.answer()
}

// restart opens everything anew: what decided how it was opened has changed.
func (co *checkout) restart() {
	co.mu.Lock()
	defer co.mu.Unlock()
	co.reopen()
}

// rebuild drops the derived stores and opens them anew; the sweep that follows
// fills them.
func (co *checkout) rebuild(ctx context.Context) error { return co.openAnew(ctx, true) }

// openAnew opens everything anew, with the derived stores or without, also what
// could not be opened before. It returns when that is done.
func (co *checkout) openAnew(ctx context.Context, drop bool) error {
	opened := make(chan struct{})
	co.mu.Lock()
	co.dropIndex = co.dropIndex || drop
	co.asked = append(co.asked, opened)
	if co.reopen != nil { // nil before the first turn, which does it then
		co.reopen()
	}
	co.mu.Unlock()
	select {
	case <-opened:
	case <-co.ended:
	case <-co.stopped:
	case <-ctx.Done():
		return fmt.Errorf("project %s is starting: %w", co.rec.Slug, fold.ErrUnavailable)
	}
	h, err := co.holdOpen(ctx)
	if err != nil {
		return err
	}
	h.letGo()
	return nil
}

func (co *checkout) loops(ctx context.Context, k *standing) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return co.runJobs(ctx) })
	g.Go(func() error { return co.watch(ctx, k) })
	g.Go(func() error { return co.commits.run(ctx, k) })
	g.Go(func() error { return co.loop(ctx) })
	g.Go(func() error { return co.keepCounts(ctx) })
	g.Go(func() error { return co.sync.run(ctx, co, k) })
	if co.cfg.DecayArchive == archiveDaily && !k.tracked {
		g.Go(func() error { return co.archiveDaily(ctx) })
	}
	return g.Wait()
}

// hasFailed reports whether the checkout waits to be opened after a failure.
func (co *checkout) hasFailed() bool {
	co.mu.Lock()
	defer co.mu.Unlock()
	return co.failed != nil
}
