package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/jobs"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// drainMost is how long stores that must be closed wait for calls under way.
const drainMost = 2 * time.Second

// runsIn is the key under which the context of a job has the stores it runs in.
type runsIn struct{}

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
		needed, urgent, due := co.holds > 0 || len(co.owed) > 0 || co.unswept, co.holds > 0, co.jobsDue
		co.mu.Unlock()
		var timer <-chan time.Time
		if !due.IsZero() {
			if wait := time.Until(due); wait > 0 {
				timer = time.After(wait)
			} else {
				needed = true
			}
		}
		if needed {
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
	attached := false
	switch {
	case !first && k.generation != "" && (st.begun() || st.index.Generation != k.generation):
		co.restart()
		return errAnew
	case first:
		st.attach(co, k)
		attached = true
		co.recoverAcknowledged(ctx, st)
		if co.isPaused() {
			break
		}
		// This comes before anybody can ask for a job, which it would take for a
		// leftover.
		if err := st.index.CancelOpen(ctx, "covered by the sweep at start", co.now()); err != nil {
			return err
		}
	}
	k.generation = st.index.Generation
	if !attached {
		st.attach(co, k)
	}
	st.index.OnDamage(co.damaged)
	co.mu.Lock()
	defer co.mu.Unlock()
	co.st, co.working, co.rested, co.jobsDue, co.lastUse = st, st, false, time.Time{}, time.Now()
	close(co.opened)
	co.tellUse()
	return nil
}

// catchUp queues what is to be done in stores that were just opened.
func (co *checkout) catchUp(ctx context.Context, st *stores, first bool) error {
	if first {
		return co.firstSweep(ctx, st)
	}
	seq, err := st.index.Seq(ctx)
	if err != nil {
		return err
	}
	co.mu.Lock()
	if co.sweepDue || st.text.Seq() < seq { // the words of a change are not there: it finds them out
		co.owe(owedJob{jobSweep, prioSoon, []byte("{}"), jobSweep})
	}
	co.sweepDue = false
	co.mu.Unlock()
	if wanted, err := co.wantsVectors(ctx, st); err != nil {
		return err
	} else if wanted {
		if _, err := co.enqueueIn(ctx, st, jobEmbed, prioLater, struct{}{}, jobEmbed); err != nil {
			return err
		}
	}
	return co.payOwed(ctx, st)
}

// runJobs runs the jobs of the opened stores until they are to rest, and returns
// nil then.
func (co *checkout) runJobs(ctx context.Context, st *stores, first bool) error {
	if err := co.catchUp(ctx, st, first); err != nil {
		return err
	}
	runner := &jobs.Runner{
		Index: st.index, Wake: co.wake, Log: co.log, Owner: fmt.Sprintf("pid %d", os.Getpid()),
		Handlers: map[string]jobs.Handler{
			jobSweep: co.doSweep, jobSource: co.doSource, jobFold: co.doFold, jobTip: co.doTip, jobEmbed: co.doEmbed, jobMeasure: co.doMeasure, jobDescribe: co.doDescribe, jobRetry: co.doRetry,
			jobConsolidate: co.doConsolidate,
		},
		Changed: co.jobChanged,
	}
	// What a job queues goes where it runs, also while these stores step back.
	ctx, end := context.WithCancel(context.WithValue(ctx, runsIn{}, st))
	defer end()
	ran := make(chan error, 1)
	go func() { ran <- runner.Run(ctx) }()
	idle := time.NewTimer(co.restAfter)
	defer idle.Stop()
	for {
		select {
		case err := <-ran:
			return err
		case <-co.rouse:
			if co.seats.told(co) {
				if !co.stepBack(ctx, st, true) {
					continue
				}
				break
			}
			if err := co.payOwed(ctx, st); err != nil { // it was owed while they stepped back
				co.log.WarnContext(ctx, "Work not queued", "err", err)
				co.miss()
			}
			continue
		case <-idle.C:
			if wait := co.restAfter - time.Since(co.usedLast()); wait > 0 {
				idle.Reset(wait)
				continue
			}
			if !co.stepBack(ctx, st, false) {
				idle.Reset(co.restAfter)
				continue
			}
		}
		end()
		if err := <-ran; !errors.Is(err, context.Canceled) {
			return err
		}
		co.keepCounted(context.WithoutCancel(ctx), st)
		return nil
	}
}

// usedLast is when somebody used the stores last; now if somebody does.
func (co *checkout) usedLast() time.Time {
	co.mu.Lock()
	defer co.mu.Unlock()
	if co.holds > 0 || co.openJobs > 0 {
		return time.Now()
	}
	return co.lastUse
}

// stepBack takes the stores back from callers, so that they may rest. Where another
// checkout wants the seat, calls under way are waited for: who is asked all the time
// must leave too. Else nothing may be under way, no call, no job, and no vectors that
// are being built.
func (co *checkout) stepBack(ctx context.Context, st *stores, wanted bool) bool {
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
	if !wanted {
		if n, err := st.index.OpenJobs(ctx); err == nil && n == 0 && !st.serves().vectors.Building() {
			return true
		}
	}
	co.mu.Lock()
	defer co.mu.Unlock()
	co.st = st
	close(co.opened)
	co.seats.stay(co, co.inUse())
	jobs.Poke(co.rouse) // for what is owed since
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

// keepCounted notes what status tells of stores that rest, and when a job is due
// that is left in them. No job runs any more.
func (co *checkout) keepCounted(ctx context.Context, st *stores) {
	due, err := st.index.NextDue(ctx)
	if err != nil {
		co.log.WarnContext(ctx, "Queue not read", "err", err)
		due = time.Now() // it is looked into again
	}
	co.countsOf(ctx, st, new(wire.ProjectStatus))
	co.mu.Lock()
	defer co.mu.Unlock()
	co.rested, co.restedAt, co.jobsDue = true, co.now(), due
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
	co.working = nil
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
