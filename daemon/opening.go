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
	go func() {
		select {
		case <-co.quit:
			cancel()
		case <-ctx.Done():
		}
	}()
	co.update(func(c *condition) { c.opening.drop = co.cfg.RebuildOnStart })
	var o openings
	for ctx.Err() == nil {
		turn, end := context.WithCancel(ctx)
		var drop bool
		co.update(func(c *condition) { drop = c.opening.begin(end) })
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
func (co *checkout) damaged(err error) { co.update(func(c *condition) { c.opening.damaged(err) }) }

// tookDamage returns the damage that ended the last turn, nil if it was none.
// The next turn then begins with empty derived stores.
func (co *checkout) tookDamage(ctx context.Context, err error) (damage error) {
	co.update(func(c *condition) {
		if errors.Is(err, sqlite.ErrDamaged) {
			c.opening.damaged(err)
		}
		damage = c.opening.takeDamage()
	})
	if damage != nil {
		co.log.ErrorContext(ctx, "Index damaged", "err", damage)
		co.note("rebuilt index", fmt.Sprintf("the index was damaged and is rebuilt from the files: %v", damage))
	}
	return damage
}

// open keeps the checkout open, until ctx ends or something fails. A search needs the
// derived stores, a write the history too: neither waits for the other, which is
// mostly for git, if there is a place for the stores at once.
func (co *checkout) open(ctx context.Context, drop bool) (err error) {
	if co.faults != nil {
		err = co.faults("open")
	}
	if err == nil && drop {
		err = os.RemoveAll(co.indexDir())
	}
	if err == nil {
		_, err = os.Lstat(co.rec.Path) // else what is derived would be opened for nothing
	}
	var kept *repoHandle
	if err == nil {
		kept, err = co.keep(ctx)
	}
	if kept == nil {
		if ctx.Err() != nil { // not a failure: the next turn does what this one was to do
			co.update(func(c *condition) { c.opening.drop = c.opening.drop || drop })
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
func (co *checkout) keep(ctx context.Context) (kept *repoHandle, err error) {
	g, ctx := errgroup.WithContext(ctx)
	opened := make(chan struct{})
	g.Go(func() error {
		return co.slot.Run(ctx, co.source(ctx, func(ctx context.Context) (*repoHandle, error) {
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
		co.update(func(c *condition) {
			c.opening.opened(k)
			co.slot.Fail(nil)
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
func (co *checkout) setClosed() {
	co.update(func(c *condition) {
		c.opening.closed()
		c.rest, c.tally.last = rest{}, nil
		c.work.Cancel(time.Now(), "covered by the sweep at start")
		c.work.Add(time.Now(), sweepAtStart())
	})
}

// fail says why nothing is open, until an opening succeeds.
func (co *checkout) fail(ctx context.Context, err error) {
	co.log.ErrorContext(ctx, "Checkout not open", "path", co.rec.Path, "err", err)
	co.update(func(c *condition) {
		c.opening.fail(err)
		co.slot.Fail(err)
	})
}

// restart opens everything anew: what decided how it was opened has changed.
func (co *checkout) restart() { co.update(func(c *condition) { c.opening.restart() }) }

// rebuild drops the derived stores and opens them anew; the sweep that follows
// fills them.
func (co *checkout) rebuild(ctx context.Context) error { return co.openAnew(ctx, true) }

// openAnew opens everything anew, with the derived stores or without, also what
// could not be opened before. It returns when that is done.
func (co *checkout) openAnew(ctx context.Context, drop bool) error {
	opened := make(chan struct{})
	co.update(func(c *condition) {
		c.opening.drop = c.opening.drop || drop
		c.opening.asked = append(c.opening.asked, opened)
		c.opening.restart()
	})
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

func (co *checkout) loops(ctx context.Context, k *repoHandle) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return co.runJobs(ctx) })
	g.Go(func() error { return co.watch(ctx, k) })
	g.Go(func() error { return co.commits.run(ctx, k) })
	g.Go(func() error { return co.loop(ctx) })
	g.Go(func() error { return co.sync.Run(ctx, syncTree{co, k}) })
	if co.cfg.DecayArchive == archiveDaily && !k.tracked {
		g.Go(func() error { return co.archiveDaily(ctx) })
	}
	return g.Wait()
}

// openedBefore reports whether the checkout was open or registered before this turn.
func (co *checkout) openedBefore() (before bool) {
	co.update(func(c *condition) { before = c.opening.before })
	return before
}

// stop ends the checkout's loop and waits for it.
func (co *checkout) stop(ctx context.Context) error {
	co.once.Do(func() { close(co.quit) })
	stopped := co.stopped
	for {
		select {
		case <-co.ended:
			return nil
		case <-stopped:
			if !co.claimed.Load() { // it never begins
				return fmt.Errorf("project %s is stopping: %w", co.rec.Slug, fold.ErrUnavailable)
			}
			stopped = nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
