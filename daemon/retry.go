package daemon

import (
	"context"
	"time"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/work"
)

// How long files that could not be read or cut wait before the next attempt by
// itself: doubled with each, up to a bound.
const (
	retryFilesFirst = 30 * time.Second
	retryFilesMost  = time.Hour
)

// retries are the attempts at files that failed. It has neither clock nor lock.
type retries struct {
	at    time.Time // of the next one; zero for none
	tries int       // in a row that left something
}

// after tells that so many files are left after an attempt, or after other work
// if not tried. What is waited for already is not put off.
func (r *retries) after(now time.Time, left int, tried bool) {
	switch {
	case left == 0:
		*r = retries{}
	case tried || r.at.IsZero():
		if tried {
			r.tries++
		}
		r.at = now.Add(min(retryFilesMost, retryFilesFirst<<min(r.tries, 10)))
	}
}

// watchFailures sees to it that files are tried again which failed for a reason
// that may pass.
func (co *checkout) watchFailures(ctx context.Context, st *stores, tried bool) {
	source, memories, err := st.in.Failures(ctx, false)
	if err != nil {
		if ctx.Err() == nil {
			co.log.WarnContext(ctx, "Failed files not counted", "err", err)
		}
		return
	}
	co.update(func(c *condition) { c.retries.after(time.Now(), len(source)+len(memories), tried) })
	poke(co.wake) // the loop looks at the time anew
}

// retryDue returns a channel that is ready when files are to be tried again, nil
// if none are.
func (co *checkout) retryDue() (due <-chan time.Time) {
	co.update(func(c *condition) {
		if !c.retries.at.IsZero() && !c.pause.on {
			due = time.After(time.Until(c.retries.at))
		}
	})
	return due
}

// retryFailed adds the attempt that is due.
func (co *checkout) retryFailed() {
	co.update(func(c *condition) { c.retries.at = time.Time{} }) // the attempt sets the next
	co.add(work.Task{Kind: work.Retry, Priority: work.Later})
}

// doRetry reads again what an attempt failed on.
func (co *checkout) doRetry(ctx context.Context, st *stores, j work.Job) error {
	if p, ok := co.cutter.(*chunker.Pool); ok && j.Task.All {
		p.Forgive()
	}
	defer co.endProgress()
	r, err := st.in.Retry(ctx, j.Task.All, co.watched())
	co.after(st, r)
	if err != nil {
		return err
	}
	co.watchFailures(ctx, st, true)
	co.add(work.Task{Kind: work.Embed, Priority: work.Later})
	return nil
}
