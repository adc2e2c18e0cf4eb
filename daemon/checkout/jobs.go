package checkout

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/storepool"
	"github.com/foldwatch/foldwatch/daemon/work"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// runJobs does the work that is due, in stores that are opened for it, until ctx ends
// or the turn cannot go on.
func (w worker) runJobs(ctx context.Context) error {
	for ctx.Err() == nil {
		var at time.Time
		var some bool
		w.read(func(c *Condition) { at, some = c.work.Due() })
		var due <-chan time.Time
		if wait := time.Until(at); some && wait <= 0 {
			if err := w.runDue(ctx); err != nil {
				return err
			}
			continue
		} else if some {
			due = time.After(wait)
		}
		select {
		case <-ctx.Done():
		case <-w.rouse:
		case <-due:
		}
	}
	return ctx.Err()
}

// runDue does the work that is due, one job after the other, or as much of it as can
// be done before others need the place of the stores.
func (w worker) runDue(ctx context.Context) error {
	var urgent bool
	w.read(func(c *Condition) { urgent = c.work.Urgent(time.Now()) })
	if urgent {
		w.Slot.Hurry()
	}
	l, err := w.Slot.Acquire(ctx, storepool.Task)
	if err != nil { // the daemon stops
		<-ctx.Done()
		return ctx.Err()
	}
	defer l.Release()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-l.Wanted():
			stop()
		case <-ctx.Done():
		}
	}()
	for ctx.Err() == nil {
		var j work.Job
		var ok bool
		w.Update(func(c *Condition) { j, ok = c.work.Start(time.Now()) })
		if !ok {
			return nil
		}
		if err := w.runJob(ctx, l.Stores, j); err != nil {
			return err
		}
	}
	return nil
}

// runJob does one job and notes how it went.
func (w worker) runJob(ctx context.Context, st *Stores, j work.Job) error {
	err := w.attempt(ctx, st, j)
	now := time.Now()
	brokenOff := err != nil && ctx.Err() != nil // the daemon stops, or the stores are to rest
	if brokenOff {
		w.Update(func(c *Condition) { c.work.GiveBack() })
		return nil
	}
	w.Update(func(c *Condition) {
		j = c.work.End(now, err)
		w.Count.took(j, now)
	})
	w.tellEnd(ctx, j, err, now)
	if errors.Is(err, sqlite.ErrDamaged) {
		return err
	}
	if j.Status == work.Failed { // its attempts are used up, but the work is still to be done
		if err := w.Gone(); err != nil {
			return err
		}
		w.sweepAgain(now, j)
	}
	return nil
}

// attempt does the work of one job. A panic is an error of that job only.
func (w worker) attempt(ctx context.Context, st *Stores, j work.Job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			w.Log.ErrorContext(ctx, "Job panicked", "job", j.ID, "type", j.Task.Kind, "stack", string(debug.Stack()))
			err = fmt.Errorf("job %s panicked: %v", j.Task.Kind, p)
		}
	}()
	if w.Faults != nil {
		if err := w.Faults("job"); err != nil {
			return err
		}
	}
	switch j.Task.Kind {
	case work.Sweep:
		return w.doSweep(ctx, st, j)
	case work.Source:
		return w.doSource(ctx, st, j)
	case work.Fold:
		return w.doFold(ctx, st, j)
	case work.Tip:
		return w.doTip(ctx, st, j)
	case work.Embed:
		return w.doEmbed(ctx, st)
	case work.Measure:
		return w.doMeasure(ctx, st)
	case work.Describe:
		return w.doDescribe(ctx, st)
	case work.Retry:
		return w.doRetry(ctx, st, j)
	case work.Consolidate:
		return w.doConsolidate(ctx, st)
	}
	return fmt.Errorf("job type %q: %w", j.Task.Kind, fold.ErrNotFound)
}

// tellEnd tells how an attempt ended: the log, those who listen, and status.
func (w worker) tellEnd(ctx context.Context, j work.Job, err error, now time.Time) {
	log := w.Log.With("job", j.ID, "type", j.Task.Kind, "attempt", j.Attempts, "took", now.Sub(j.Started))
	switch j.Status {
	case work.Completed:
		log.DebugContext(ctx, "Job completed")
		w.Events.Publish("job:completed", w.Record.Slug, map[string]any{"job_id": j.ID, "job_type": j.Task.Kind})
		w.Note("job "+string(j.Task.Kind), "")
		return
	case work.Failed:
		log.WarnContext(ctx, "Job failed", "err", err)
		w.Events.Publish("job:failed", w.Record.Slug, map[string]any{"job_id": j.ID, "job_type": j.Task.Kind, "error": j.Error})
	default:
		log.InfoContext(ctx, "Job will be tried again", "err", err, "wait", j.Task.At.Sub(now))
	}
	w.Note("job "+string(j.Task.Kind), fmt.Sprintf("the last %s failed: %s; it is tried again by itself%s", j.Task.Kind, j.Error, HintAfter(err)))
}

// sweepAgain has a sweep do, after a while, what a job could not.
func (w worker) sweepAgain(now time.Time, j work.Job) {
	if w.View().paused {
		w.miss()
		return
	}
	w.Update(func(c *Condition) {
		c.work.Again(now, work.Task{Kind: work.Sweep, Priority: work.Soon, At: now.Add(retryMost)}, j.Error)
	})
}

// wireJob is a job as users see it.
func (co *Checkout) wireJob(j work.Job) wire.Job {
	out := wire.Job{
		ID: j.ID, Type: string(j.Task.Kind), Project: co.Record.Slug, Status: string(j.Status), Priority: j.Task.Priority, Attempts: j.Attempts,
		Error: j.Error, Progress: j.Progress, CreatedAt: j.Created.UTC(),
	}
	for of, t := range map[**time.Time]time.Time{&out.StartedAt: j.Started, &out.EndedAt: j.Ended, &out.NextRetry: j.Task.At} {
		if !t.IsZero() {
			t = t.UTC()
			*of = &t
		}
	}
	return out
}

// Jobs returns the jobs of the checkout, newest first.
func (co *Checkout) Jobs() (out []wire.Job) {
	co.read(func(c *Condition) {
		for _, j := range c.work.Jobs() {
			out = append(out, co.wireJob(j))
		}
	})
	return out
}
