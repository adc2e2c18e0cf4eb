package checkout

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

// Run keeps the checkout until ctx ends or it is removed: it opens what is needed
// for that, and opens it anew when asked to or when something failed.
// One that is added while the daemon begins to run is started twice: with those that
// were there, and as one that came.
func (co *Checkout) Run(parent context.Context) {
	if co.claimed.Swap(true) {
		return
	}
	ctx, cancel := context.WithCancel(usergit.WithCounter(parent, &co.Count.gitProcesses))
	defer cancel()
	defer close(co.ended)
	defer co.Slot.Fail(storepool.ErrStopped)
	go func() {
		select {
		case <-co.quit:
			cancel()
		case <-ctx.Done():
		}
	}()
	co.Update(func(c *Condition) { c.Opening.drop = co.Config.RebuildOnStart })
	var o openings
	for ctx.Err() == nil {
		turn, end := context.WithCancel(ctx)
		var drop bool
		co.Update(func(c *Condition) { drop = c.Opening.begin(end) })
		began := time.Now()
		err := co.open(turn, drop)
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
func (co *Checkout) damaged(err error) { co.Update(func(c *Condition) { c.Opening.damaged(err) }) }

// tookDamage returns the damage that ended the last turn, nil if it was none.
// The next turn then begins with empty derived stores.
func (co *Checkout) tookDamage(ctx context.Context, err error) (damage error) {
	co.Update(func(c *Condition) {
		if errors.Is(err, sqlite.ErrDamaged) {
			c.Opening.damaged(err)
		}
		damage = c.Opening.takeDamage()
	})
	if damage != nil {
		co.Log.ErrorContext(ctx, "Index damaged", "err", damage)
		co.Note("rebuilt index", fmt.Sprintf("the index was damaged and is rebuilt from the files: %v", damage))
	}
	return damage
}

// open keeps the checkout open, until ctx ends or something fails. A search needs the
// derived stores, a write the history too: neither waits for the other, which is
// mostly for git, if there is a place for the stores at once.
func (co *Checkout) open(ctx context.Context, drop bool) (err error) {
	if co.Faults != nil {
		err = co.Faults("open")
	}
	if err == nil && drop {
		err = os.RemoveAll(co.IndexDir())
	}
	if err == nil {
		_, err = os.Lstat(co.Record.Path) // else what is derived would be opened for nothing
	}
	var kept *RepoHandle
	if err == nil {
		kept, err = co.keep(ctx)
	}
	if kept == nil {
		if ctx.Err() != nil { // not a failure: the next turn does what this one was to do
			co.Update(func(c *Condition) { c.Opening.drop = c.Opening.drop || drop })
		}
		return err
	}
	co.setClosed()
	if err := kept.close(co); err != nil {
		co.Log.WarnContext(ctx, "Checkout not closed cleanly", "err", err)
	}
	return err
}

// keep opens everything and runs the loops. It returns why they have ended, and what
// of the checkout is open still, nil if it could not be opened.
func (co *Checkout) keep(ctx context.Context) (kept *RepoHandle, err error) {
	g, ctx := errgroup.WithContext(ctx)
	opened := make(chan struct{})
	g.Go(func() error {
		return co.Slot.Run(ctx, co.source(ctx, func(ctx context.Context) (*RepoHandle, error) {
			select {
			case <-opened:
				return kept, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}))
	})
	g.Go(func() error {
		k, err := openRepo(ctx, co)
		if err != nil {
			return err
		}
		kept = k
		co.Update(func(c *Condition) {
			c.Opening.opened(k)
			co.Slot.Fail(nil)
		})
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

// setClosed makes callers wait for the next turn, whose sweep does what was left.
func (co *Checkout) setClosed() {
	co.Update(func(c *Condition) {
		c.Opening.closed()
		c.rest, c.Tally.last = rest{}, nil
		c.work.Cancel(time.Now(), "covered by the sweep at start")
		c.work.Add(time.Now(), sweepAtStart())
	})
}

// fail says why nothing is open, until an opening succeeds.
func (co *Checkout) fail(ctx context.Context, err error) {
	co.Log.ErrorContext(ctx, "Checkout not open", "path", co.Record.Path, "err", err)
	co.Update(func(c *Condition) {
		c.Opening.fail(err)
		co.Slot.Fail(err)
	})
}

// restart opens everything anew: what decided how it was opened has changed.
func (co *Checkout) restart() { co.Update(func(c *Condition) { c.Opening.restart() }) }

// Rebuild drops the derived stores and opens them anew; the sweep that follows
// fills them.
func (co *Checkout) Rebuild(ctx context.Context) error { return co.OpenAnew(ctx, true) }

// OpenAnew opens everything anew, with the derived stores or without, also what
// could not be opened before. It returns when that is done.
func (co *Checkout) OpenAnew(ctx context.Context, drop bool) error {
	opened := make(chan struct{})
	co.Update(func(c *Condition) {
		c.Opening.drop = c.Opening.drop || drop
		c.Opening.asked = append(c.Opening.asked, opened)
		c.Opening.restart()
	})
	select {
	case <-opened:
	case <-co.ended:
	case <-co.Stopped:
	case <-ctx.Done():
		return fmt.Errorf("project %s is starting: %w", co.Record.Slug, fold.ErrUnavailable)
	}
	h, err := co.Acquire(ctx)
	if err != nil {
		return err
	}
	h.Release()
	return nil
}

func (co *Checkout) loops(ctx context.Context, k *RepoHandle) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return co.runJobs(ctx) })
	g.Go(func() error { return co.watch(ctx, k) })
	g.Go(func() error { return co.Commits.run(ctx, k) })
	g.Go(func() error { return co.loop(ctx) })
	g.Go(func() error { return co.Sync.Run(ctx, syncTree{co, k}) })
	if co.Config.DecayArchive == archiveDaily && !k.Tracked {
		g.Go(func() error { return co.archiveDaily(ctx) })
	}
	return g.Wait()
}

// openedBefore reports whether the checkout was open or registered before this turn.
func (co *Checkout) openedBefore() (before bool) {
	co.Update(func(c *Condition) { before = c.Opening.Before })
	return before
}

// Stop ends the checkout's loop and waits for it.
func (co *Checkout) Stop(ctx context.Context) error {
	co.once.Do(func() { close(co.quit) })
	stopped := co.Stopped
	for {
		select {
		case <-co.ended:
			return nil
		case <-stopped:
			if !co.claimed.Load() { // it never begins
				return fmt.Errorf("project %s is stopping: %w", co.Record.Slug, fold.ErrUnavailable)
			}
			stopped = nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
