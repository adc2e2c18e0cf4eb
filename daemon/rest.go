package daemon

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/work"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// drainMost is how long stores that must be closed wait for calls under way.
const drainMost = 2 * time.Second

// errAnew says that stores were found begun anew where they had been left: all
// that is known of them is to be learned again.
var errAnew = errors.New("the index was begun anew")

// keepStores opens the stores whenever they are needed, runs the jobs in them, and
// lets them rest when nobody needs them or another checkout does. It begins with
// first, nil if that was not opened. It runs until ctx ends or something fails.
func (co *checkout) keepStores(ctx context.Context, k *standing, first *stores) error {
	st := first
	for begin := true; ; begin = false {
		var err error
		if st == nil {
			if st, err = co.openAgain(ctx); err != nil {
				return err
			}
		}
		if err = co.publish(ctx, k, st, begin); err == nil {
			err = co.runJobs(ctx, st, begin)
		}
		if cerr := co.closeStores(ctx, st); err == nil {
			err = cerr
		}
		if err != nil {
			return err
		}
		st = nil
		co.log.DebugContext(ctx, "Stores rest")
	}
}

// openAgain waits until the stores are needed, takes a seat and opens them.
func (co *checkout) openAgain(ctx context.Context) (*stores, error) {
	for {
		co.mu.Lock()
		due, work := co.work.Due()
		wait, urgent := time.Until(due), co.holds > 0 || co.work.Urgent(time.Now())
		co.mu.Unlock()
		var timer <-chan time.Time
		if work {
			timer = time.After(wait)
		}
		if urgent || work && wait <= 0 {
			if err := co.seats.take(ctx, co, urgent); err != nil {
				return nil, err
			}
			st, err := openDerived(ctx, co)
			if err != nil {
				co.seats.leave(co)
			}
			return st, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-co.rouse:
		case <-timer:
		}
	}
}

// publish gives the opened stores to all who wait for them. After the first opening
// of a turn, what a crash left is covered by one sweep.
func (co *checkout) publish(ctx context.Context, k *standing, st *stores, first bool) error {
	switch {
	case !first && k.generation != "" && (st.begun() || st.index.Generation != k.generation):
		co.restart()
		return errAnew
	case first:
		st.attach(co, k)
		co.recoverAcknowledged(ctx, st)
	default:
		st.attach(co, k)
	}
	k.generation = st.index.Generation
	st.index.OnDamage(co.damaged)
	co.mu.Lock()
	defer co.mu.Unlock()
	co.st, co.rested, co.lastUse = st, false, time.Now()
	close(co.opened)
	co.tellUse()
	return nil
}

// catchUp adds what is to be done in stores that were just opened again.
func (co *checkout) catchUp(ctx context.Context, st *stores) error {
	seq, err := st.index.Seq(ctx)
	if err != nil {
		return err
	}
	wanted, err := co.wantsVectors(ctx, st)
	if err != nil {
		return err
	}
	co.mu.Lock()
	due := co.sweepDue || st.text.Seq() < seq // the words of a change are not there: it finds them out
	co.sweepDue = false
	co.mu.Unlock()
	if due {
		co.add(work.Task{Kind: work.Sweep, Priority: work.Soon})
	}
	if wanted {
		co.add(work.Task{Kind: work.Embed, Priority: work.Later})
	}
	return nil
}

// runJobs runs the jobs, one after the other, until the stores are to rest, and
// returns nil then.
func (co *checkout) runJobs(ctx context.Context, st *stores, first bool) (err error) {
	if !first {
		if err := co.catchUp(ctx, st); err != nil {
			return err
		}
	}
	ctx, stop := context.WithCancel(ctx)
	var ended <-chan error // of the job that runs; nil if none does
	defer func() {
		stop()
		if ended != nil {
			err = cmp.Or(<-ended, err)
		}
	}()
	idle := time.NewTimer(co.restAfter)
	defer idle.Stop()
	for {
		if ended == nil {
			ended = co.startJob(ctx, st)
		}
		var due <-chan time.Time
		if ended == nil {
			due = co.workDue()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			if ended = nil; err != nil {
				return err
			}
			continue
		case <-due:
			continue
		case <-co.rouse:
			if !co.seats.told(co) || !co.stepBack(true, st) {
				continue
			}
		case <-idle.C:
			if wait := co.restAfter - time.Since(co.usedLast()); wait > 0 {
				idle.Reset(wait)
				continue
			}
			if !co.stepBack(false, st) {
				idle.Reset(co.restAfter)
				continue
			}
		}
		whole := context.WithoutCancel(ctx)
		stop()
		if ended != nil {
			err, ended = <-ended, nil
		}
		if err == nil {
			co.keepCounted(whole, st)
		}
		return err
	}
}

// usedLast is when somebody used the stores last; now if somebody does.
func (co *checkout) usedLast() time.Time {
	co.mu.Lock()
	defer co.mu.Unlock()
	if now := time.Now(); co.holds > 0 || co.work.Busy(now) {
		return now
	}
	return co.lastUse
}

// stepBack takes the stores back from callers, so that they may rest. Where another
// checkout wants the seat, calls under way are waited for: who is asked all the time
// must leave too. Else nothing may be under way, no call, no job, and no vectors that
// are being built.
func (co *checkout) stepBack(wanted bool, st *stores) bool {
	co.mu.Lock()
	if co.holds > 0 && !wanted {
		co.mu.Unlock()
		return false
	}
	co.st, co.opened = nil, make(chan struct{})
	co.mu.Unlock()
	if wanted && co.drained() {
		return true
	}
	building := st.serves().vectors.Building()
	co.mu.Lock()
	defer co.mu.Unlock()
	if !wanted && !building && !co.work.Busy(time.Now()) {
		return true
	}
	co.st = st
	close(co.opened)
	co.seats.stay(co, co.inUse())
	return false
}

// drained waits until calls under way have let go of the stores, within bounds. No
// more may begin.
func (co *checkout) drained() bool {
	late := time.NewTimer(drainMost)
	defer late.Stop()
	for co.users.Load() > 0 {
		select {
		case <-co.unused:
		case <-late.C:
			return co.users.Load() == 0
		}
	}
	return true
}

// keepCounted notes what status tells of stores that rest. No job runs any more.
func (co *checkout) keepCounted(ctx context.Context, st *stores) {
	co.countsOf(ctx, st, new(wire.ProjectStatus))
	co.mu.Lock()
	defer co.mu.Unlock()
	co.rested, co.restedAt = true, co.now()
}

// closeStores takes the stores from callers and jobs, closes them and gives the
// seat back. Calls that are under way are waited for, within bounds. It returns an
// error if they turned out to be damaged.
func (co *checkout) closeStores(ctx context.Context, st *stores) error {
	st.index.OnDamage(nil)
	co.mu.Lock()
	if co.st != nil {
		co.st, co.opened = nil, make(chan struct{})
	}
	co.mu.Unlock()
	co.drained()
	if st.standing != nil {
		st.in.Rest()
	}
	err := st.close(co)
	co.seats.leave(co)
	if err != nil {
		co.log.WarnContext(ctx, "Stores not closed cleanly", "err", err)
	}
	if errors.Is(err, sqlite.ErrDamaged) {
		return err
	}
	return nil
}
