package checkout

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
	At    time.Time // of the next one; zero for none
	tries int       // in a row that left something
}

// after tells that so many files are left after an attempt, or after other work
// if not tried. What is waited for already is not put off.
func (r *retries) after(now time.Time, left int, tried bool) {
	switch {
	case left == 0:
		*r = retries{}
	case tried || r.At.IsZero():
		if tried {
			r.tries++
		}
		r.At = now.Add(min(retryFilesMost, retryFilesFirst<<min(r.tries, 10)))
	}
}

// watchFailures sees to it that files are tried again which failed for a reason
// that may pass.
func (co *Checkout) watchFailures(ctx context.Context, st *Stores, tried bool) {
	source, memories, err := st.Ingest.Failures(ctx, false)
	if err != nil {
		if ctx.Err() == nil {
			co.Log.WarnContext(ctx, "Failed files not counted", "err", err)
		}
		return
	}
	co.Update(func(c *Condition) { c.Retries.after(time.Now(), len(source)+len(memories), tried) })
	Poke(co.Wake) // the loop looks at the time anew
}

// retryDue returns a channel that is ready when files are to be tried again, nil
// if none are.
func (co *Checkout) retryDue() (due <-chan time.Time) {
	co.Update(func(c *Condition) {
		if !c.Retries.At.IsZero() && !c.pause.on {
			due = time.After(time.Until(c.Retries.At))
		}
	})
	return due
}

// retryFailed adds the attempt that is due.
func (co *Checkout) retryFailed() {
	co.Update(func(c *Condition) { c.Retries.At = time.Time{} }) // the attempt sets the next
	co.Add(work.Task{Kind: work.Retry, Priority: work.Later})
}

// doRetry reads again what an attempt failed on.
func (co *Checkout) doRetry(ctx context.Context, st *Stores, j work.Job) error {
	if p, ok := co.Cutter.(*chunker.Pool); ok && j.Task.All {
		p.Forgive()
	}
	defer co.endProgress()
	r, err := st.Ingest.Retry(ctx, j.Task.All, co.watched())
	co.after(st, r)
	if err != nil {
		return err
	}
	co.watchFailures(ctx, st, true)
	co.Add(work.Task{Kind: work.Embed, Priority: work.Later})
	return nil
}
