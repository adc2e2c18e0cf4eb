package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// A Queue is where jobs are kept. *index.DB is one; its methods say what each
// does.
type Queue interface {
	Claim(ctx context.Context, owner string, now time.Time, lease time.Duration) (*index.Job, error)
	Heartbeat(ctx context.Context, id, owner string, now time.Time, lease time.Duration) error
	SetProgress(ctx context.Context, id, owner string, p index.JobProgress) error
	Complete(ctx context.Context, id, owner string, now time.Time) error
	Fail(ctx context.Context, id, owner string, now time.Time, reason string, retryAt time.Time) error
	Release(ctx context.Context, id, owner string) error
	Recover(ctx context.Context, owner string, now time.Time) (int, error)
	NextDue(ctx context.Context) (time.Time, error)
}

// A Handler does the work of one job. It must be safe to run twice with the
// same payload. It stops soon after ctx is done: the daemon ends, or the job
// was cancelled. An error is tried again unless it is [Permanent].
type Handler func(ctx context.Context, j *index.Job, progress func(index.JobProgress)) error

// A Runner takes jobs from a queue and runs them. Index and Handlers must be
// set before Run; no field may change afterwards.
type Runner struct {
	Index    Queue
	Handlers map[string]Handler // by type of job
	// Wake tells that something was queued: see NewWake and Poke. Without it,
	// nothing queued is seen before the next retry is due.
	Wake chan struct{}
	Log  *slog.Logger // nil discards
	// Owner names this runner on the leases. Empty means a random name.
	Owner string
	// Workers is how many jobs run at once. Zero means 1: one writer a
	// checkout, in the order of the queue.
	Workers int
	// Lease is how long a job may be held without a sign of life. Zero means a
	// minute; a third of it is the time between two signs.
	Lease time.Duration
	// Changed, if not nil, is told of each job that began, progressed, ended
	// or waits to be tried again. It must return soon.
	Changed func(id string)
}

// NewWake returns a channel for Wake.
func NewWake() chan struct{} { return make(chan struct{}, 1) }

// Poke wakes the runner of wake. It never blocks, and many pokes are one.
func Poke(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// Run takes and runs jobs until ctx is done, and returns when all handlers have
// returned. Jobs under way are then given back and go on at the next start. It
// sleeps while nothing is due. Errors of the queue are waited out; Run returns
// ctx.Err(), or sqlite.ErrDamaged, after which the queue must be opened anew.
func (r *Runner) Run(ctx context.Context) error {
	w := &worker{Runner: *r}
	w.defaults()
	if n, err := w.Index.Recover(ctx, w.Owner, time.Now()); err != nil {
		if errors.Is(err, sqlite.ErrDamaged) {
			return err
		}
		w.Log.WarnContext(ctx, "Jobs not recovered", "error", err)
	} else if n > 0 {
		w.Log.InfoContext(ctx, "Jobs recovered", "count", n)
	}
	g, ctx := errgroup.WithContext(ctx)
	for range w.Workers {
		g.Go(func() error { return w.loop(ctx) })
	}
	return g.Wait()
}

// A worker is a Runner that runs.
type worker struct{ Runner }

func (w *worker) defaults() {
	if w.Log == nil {
		w.Log = slog.New(slog.DiscardHandler)
	}
	if w.Owner == "" {
		w.Owner = fmt.Sprintf("runner-%016x", rand.Uint64())
	}
	if w.Workers <= 0 {
		w.Workers = 1
	}
	if w.Lease <= 0 {
		w.Lease = time.Minute
	}
	if w.Changed == nil {
		w.Changed = func(string) {}
	}
}

// loop runs one job after the other.
func (w *worker) loop(ctx context.Context) error {
	failures := 0 // of the queue, in a row
	for ctx.Err() == nil {
		j, err := w.Index.Claim(ctx, w.Owner, time.Now(), w.Lease)
		var wait time.Duration
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, sqlite.ErrDamaged):
			return err
		case err != nil:
			failures++
			wait = max(Backoff(failures, rand.Float64()), 100*time.Millisecond)
			w.Log.WarnContext(ctx, "Queue not available", "error", err, "wait", wait)
		case j != nil:
			failures = 0
			// With several workers, another may sleep while more is there.
			if w.Workers > 1 {
				Poke(w.Wake)
			}
			w.run(ctx, j)
			continue
		default:
			failures = 0
			if wait, err = w.untilDue(ctx); err != nil {
				wait = time.Second
			}
		}
		if err := w.sleep(ctx, wait); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// untilDue returns how long nothing is due; negative means until woken.
func (w *worker) untilDue(ctx context.Context) (time.Duration, error) {
	at, err := w.Index.NextDue(ctx)
	if err != nil {
		return 0, err
	}
	if at.IsZero() {
		return -1, nil
	}
	// Bounded, since the clock may be set back while we sleep.
	return min(max(time.Until(at), time.Millisecond), backoffMax), nil
}

// sleep waits for d (for ever if negative), to be woken, or for the end.
func (w *worker) sleep(ctx context.Context, d time.Duration) error {
	var due <-chan time.Time
	if d >= 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		due = t.C
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-w.Wake:
	case <-due:
	}
	return nil
}

// run does one job and tells the queue how it went.
func (w *worker) run(ctx context.Context, j *index.Job) {
	log := w.Log.With("job", j.ID, "type", j.Type, "attempt", j.Attempts)
	w.Changed(j.ID)
	begun := time.Now()
	lost, err := w.attempt(ctx, j)
	// The answer must be stored although the daemon stops.
	done, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	took := time.Since(begun)
	var serr error
	switch {
	case lost:
		log.InfoContext(ctx, "Job taken away", "took", took)
	case err == nil:
		serr = w.Index.Complete(done, j.ID, w.Owner, time.Now())
		log.DebugContext(ctx, "Job completed", "took", took)
	case ctx.Err() != nil:
		serr = w.Index.Release(done, j.ID, w.Owner)
	case isPermanent(err) || j.Attempts >= j.MaxAttempts:
		serr = w.Index.Fail(done, j.ID, w.Owner, time.Now(), reason(err), time.Time{})
		log.WarnContext(ctx, "Job failed", "error", err, "took", took)
	default:
		wait := Backoff(j.Attempts, rand.Float64())
		serr = w.Index.Fail(done, j.ID, w.Owner, time.Now(), reason(err), time.Now().Add(wait))
		log.InfoContext(ctx, "Job will be tried again", "error", err, "wait", wait)
	}
	// A job whose end could not be stored is found again when its lease ends.
	if serr != nil && !errors.Is(serr, fold.ErrConflict) {
		log.WarnContext(ctx, "Job's end not stored", "error", serr)
	}
	w.Changed(j.ID)
}

// reason returns err as it is stored: one failure must not fill the disk.
func reason(err error) string {
	s := err.Error()
	if len(s) > 2000 {
		s = s[:2000] + "…"
	}
	return s
}

// attempt runs the handler and renews the lease meanwhile. It reports lost if
// the job was cancelled or taken by another: its result then counts no more.
func (w *worker) attempt(ctx context.Context, j *index.Job) (lost bool, err error) {
	handler, ok := w.Handlers[j.Type]
	if !ok {
		return false, Permanent(fmt.Errorf("job type %q: %w", j.Type, fold.ErrNotFound))
	}
	hctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	var beat sync.WaitGroup
	beat.Go(func() {
		if w.renew(hctx, j, ended) {
			lost = true
			cancel()
		}
	})
	err = w.handle(hctx, handler, j)
	close(ended)
	cancel()
	beat.Wait()
	return lost, err
}

// renew keeps the lease until ended, and reports whether it was lost.
func (w *worker) renew(ctx context.Context, j *index.Job, ended <-chan struct{}) bool {
	tick := time.NewTicker(w.Lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return false
		case <-ctx.Done():
			// Stopping: the handler returns soon, or the lease runs out.
			return false
		case <-tick.C:
		}
		err := w.Index.Heartbeat(ctx, j.ID, w.Owner, time.Now(), w.Lease)
		if errors.Is(err, fold.ErrConflict) {
			return true
		}
		if err != nil && ctx.Err() == nil {
			w.Log.WarnContext(ctx, "Lease not renewed", "job", j.ID, "error", err)
		}
	}
}

// handle calls the handler. A panic is an error of that job only.
func (w *worker) handle(ctx context.Context, h Handler, j *index.Job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			w.Log.ErrorContext(ctx, "Job panicked", "job", j.ID, "type", j.Type, "stack", string(debug.Stack()))
			err = fmt.Errorf("job %s panicked: %v", j.Type, p)
		}
	}()
	return h(ctx, j, func(p index.JobProgress) {
		if err := w.Index.SetProgress(ctx, j.ID, w.Owner, p); err != nil && ctx.Err() == nil {
			w.Log.DebugContext(ctx, "Progress not stored", "job", j.ID, "error", err)
		}
		w.Changed(j.ID)
	})
}
