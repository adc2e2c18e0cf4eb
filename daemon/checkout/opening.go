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
	co.Update(func(c *Condition) {
		c.Opening.run(cancel)
		c.Opening.drop = co.Config.RebuildOnStart
	})
	var o openings
	for ctx.Err() == nil {
		t := turn{co}
		until, end := context.WithCancel(ctx)
		var drop bool
		co.Update(func(c *Condition) { drop = c.Opening.begin(end) })
		began := time.Now()
		err := t.open(until, drop)
		asked := until.Err() != nil
		damage := t.tookDamage(ctx, err)
		if damage != nil {
			err, until = damage, ctx // the pause is not cut short by who asks for another turn
		}
		if pause, failed := o.ended(time.Since(began), err, damage != nil, asked); failed {
			t.fail(ctx, err)
			wait(until, pause)
		}
		end()
	}
}

// tookDamage returns the damage that ended the last turn, nil if it was none.
// The next turn then begins with empty derived stores.
func (t turn) tookDamage(ctx context.Context, err error) (damage error) {
	t.Update(func(c *Condition) {
		if errors.Is(err, sqlite.ErrDamaged) {
			c.Opening.damaged(err)
		}
		damage = c.Opening.takeDamage()
	})
	if damage != nil {
		t.Log.ErrorContext(ctx, "Index damaged", "err", damage)
		t.Note("rebuilt index", fmt.Sprintf("the index was damaged and is rebuilt from the files: %v", damage))
	}
	return damage
}

// A turn is the time from one attempt to open a checkout to the next.
type turn struct{ *Checkout }

// open keeps the checkout open, until ctx ends or something fails. A search needs the
// derived stores, a write the history too: neither waits for the other, which is
// mostly for git, if there is a place for the stores at once.
func (t turn) open(ctx context.Context, drop bool) (err error) {
	if t.Faults != nil {
		err = t.Faults("open")
	}
	if err == nil && drop {
		err = os.RemoveAll(t.IndexDir())
	}
	if err == nil {
		_, err = os.Lstat(t.Record.Path) // else what is derived would be opened for nothing
	}
	var kept *RepoHandle
	if err == nil {
		kept, err = t.keep(ctx)
	}
	if kept == nil {
		if ctx.Err() != nil { // not a failure: the next turn does what this one was to do
			t.Update(func(c *Condition) { c.Opening.drop = c.Opening.drop || drop })
		}
		return err
	}
	t.setClosed()
	if err := kept.close(); err != nil {
		t.Log.WarnContext(ctx, "Checkout not closed cleanly", "err", err)
	}
	return err
}

// keep opens everything and runs the loops. It returns why they have ended, and what
// of the checkout is open still, nil if it could not be opened.
func (t turn) keep(ctx context.Context) (kept *RepoHandle, err error) {
	g, ctx := errgroup.WithContext(ctx)
	opened := make(chan struct{})
	g.Go(func() error {
		return t.Slot.Run(ctx, t.source(ctx, func(ctx context.Context) (*RepoHandle, error) {
			select {
			case <-opened:
				return kept, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}))
	})
	g.Go(func() error {
		k, err := openRepo(ctx, t.Checkout)
		if err != nil {
			return err
		}
		kept = k
		t.Update(func(c *Condition) {
			c.Opening.opened(k)
			t.Slot.Fail(nil)
		})
		close(opened)
		return t.loops(ctx, k)
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
func (t turn) setClosed() {
	t.Update(func(c *Condition) {
		c.Opening.closed()
		c.rest, c.Tally.last = rest{}, nil
		c.work.Cancel(time.Now(), "covered by the sweep at start")
		c.work.Add(time.Now(), sweepAtStart())
	})
}

// fail says why nothing is open, until an opening succeeds.
func (t turn) fail(ctx context.Context, err error) {
	t.Log.ErrorContext(ctx, "Checkout not open", "path", t.Record.Path, "err", err)
	t.Update(func(c *Condition) {
		c.Opening.fail(err)
		t.Slot.Fail(err)
	})
}

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

func (t turn) loops(ctx context.Context, k *RepoHandle) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return worker(t).runJobs(ctx) })
	g.Go(func() error { return loop(t).watch(ctx, k) })
	g.Go(func() error { return committer(t).run(ctx, k) })
	g.Go(func() error { return loop(t).run(ctx) })
	g.Go(func() error { return t.Sync.Run(ctx, syncTree{t.Checkout, k}) })
	if t.Config.DecayArchive == archiveDaily && !k.Tracked {
		g.Go(func() error { return t.archiveDaily(ctx) })
	}
	return g.Wait()
}

// Stop ends the checkout's loop and waits for it.
func (co *Checkout) Stop(ctx context.Context) error {
	co.Update(func(c *Condition) { c.Opening.stop() })
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
