package rounds

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Remote makes polls and rounds. One call runs at a time.
type Remote interface {
	// Poll reports whether the remote has moved since it was last synced.
	Poll(ctx context.Context) (moved bool, err error)
	// Round makes one round. An error other than *Error counts as Offline.
	Round(ctx context.Context, in Ask) (Outcome, error)
}

// An Ask is how a round is to be made.
type Ask struct {
	Publish bool // push what is new here
	Resync  bool // take over a remote whose history was replaced
}

// An Outcome is what a round did.
type Outcome struct {
	Published bool // the remote took something
	Pushed    int  // memories that went to it
	Received  int  // that came from it
	Merged    int  // of those that came, changed on both sides
	Conflicts int  // of those merged, where both sides were kept
	Left      bool // something is still to be published
}

// Options say how a Runner works. The zero value works.
type Options struct {
	Limits  Limits
	Asked   bool // the first deed is one that the user is about to ask for
	Stopped Kind // pause that was in force when the daemon stopped
	// Done is called after each deed, with its error. May be nil.
	Done func(d Deed, out Outcome, err error)
	// Random returns a number in [0, 1). Nil means math/rand.
	Random func() float64
}

// A Runner makes the polls and rounds of one remote, as its Table decides. It is safe for
// concurrent use.
type Runner struct {
	remote Remote
	opt    Options
	wake   chan struct{}

	mu      sync.Mutex // guards the fields below; not held during a deed
	table   Table
	waiters []waiter // callers of Ask whose round has not begun
	resync  bool     // one of them asked for it
	last    *Error   // of the last deed; nil if it succeeded
	synced  time.Time
}

type waiter chan answer

type answer struct {
	out Outcome
	err error
}

// NewRunner returns a runner for remote, which does nothing before Run.
func NewRunner(remote Remote, opt Options) *Runner {
	if opt.Random == nil {
		opt.Random = rand.Float64
	}
	r := &Runner{remote: remote, opt: opt, wake: make(chan struct{}, 1), table: NewTable(opt.Limits)}
	if opt.Asked {
		r.table = r.table.Began().Synced(time.Now(), false, false, false, opt.Random()).Used(time.Now())
	}
	if opt.Stopped != "" {
		r.table = r.table.Stopped(opt.Stopped)
	}
	return r
}

// change applies an event and wakes Run.
func (r *Runner) change(event func(Table) Table) {
	r.mu.Lock()
	r.table = event(r.table)
	r.refuseWaiters()
	r.mu.Unlock()
	r.poke()
}

func (r *Runner) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Changed says that there is something to publish.
func (r *Runner) Changed() { r.change(func(t Table) Table { return t.Changed(time.Now()) }) }

// Used says that the project is in use.
func (r *Runner) Used() { r.change(func(t Table) Table { return t.Used(time.Now()) }) }

// Told says that the remote has something new.
func (r *Runner) Told() { r.change(Table.Told) }

// Hooked is Told for a webhook.
func (r *Runner) Hooked() { r.change(func(t Table) Table { return t.Hooked(time.Now()) }) }

// Held sets why nothing may be done for now; "" if it may again. It reports whether that
// is new.
func (r *Runner) Held(why string) (news bool) {
	r.change(func(t Table) Table {
		news = t.held != why
		return t.Held(why)
	})
	return news
}

// Ask waits for a round made now and returns its outcome. It ends pauses as Table.Asked
// does; for a pause that stays it returns its *Error at once. It returns
// fold.ErrUnavailable while the runner is held, or if Run or ctx ends before the round.
func (r *Runner) Ask(ctx context.Context, resync bool) (Outcome, error) {
	w := make(waiter, 1)
	r.mu.Lock()
	t := r.table.Asked(resync)
	if f := r.refusal(t); f != nil {
		r.mu.Unlock()
		return Outcome{}, f
	}
	r.table = t
	r.waiters = append(r.waiters, w)
	r.resync = r.resync || resync
	r.mu.Unlock()
	r.poke()
	select {
	case a := <-w:
		return a.out, a.err
	case <-ctx.Done():
		return Outcome{}, fmt.Errorf("wait for the sync: %w", errors.Join(fold.ErrUnavailable, ctx.Err()))
	}
}

// refusal returns why nobody can have a round by t, nil if they can. r.mu is held.
func (r *Runner) refusal(t Table) *Error {
	f := t.refuses(time.Now())
	if f != nil && f.Err == nil && r.last != nil {
		f.Err = r.last.Err
	}
	return f
}

// refuseWaiters answers the waiters if a round has become impossible. r.mu is held.
func (r *Runner) refuseWaiters() {
	if len(r.waiters) == 0 {
		return
	}
	if f := r.refusal(r.table); f != nil {
		r.answer(r.waiters, answer{err: f})
		r.waiters, r.resync = nil, false
	}
}

// A Standing is the state of a runner.
type Standing struct {
	Synced time.Time // when the last round succeeded; zero before the first
	Next   Plan
	Pause  Pause
	Paused bool
	Last   *Error // of the last deed; nil if it succeeded
}

// Standing returns the state of the runner.
func (r *Runner) Standing() Standing {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Standing{Synced: r.synced, Next: r.table.Next(), Last: r.last}
	s.Pause, s.Paused = r.table.Paused()
	return s
}

// Run makes polls and rounds until ctx ends, which also ends the running one. Waiters
// then get an error.
func (r *Runner) Run(ctx context.Context) error {
	defer func() {
		r.answer(r.takeWaiters(), answer{err: fmt.Errorf("the sync was ended: %w", fold.ErrUnavailable)})
	}()
	for {
		r.mu.Lock()
		plan := r.table.Next()
		r.mu.Unlock()
		if plan.Do == Nothing {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-r.wake:
			}
			continue
		}
		timer := time.NewTimer(time.Until(plan.At))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-r.wake:
			timer.Stop()
		case <-timer.C:
			r.do(ctx)
		}
	}
}

// do makes the poll or round that is due, and updates the table.
func (r *Runner) do(ctx context.Context) {
	var out Outcome
	var moved bool
	var err error
	var waiting []waiter
	r.mu.Lock()
	plan := r.table.Next() // the table may have changed since the timer was set
	if plan.At.After(time.Now()) {
		plan = Plan{}
	}
	in := Ask{Publish: plan.Publish, Resync: r.resync}
	if plan.Do == Round {
		r.table = r.table.Began()
		waiting, r.waiters, r.resync = r.waiters, nil, false
	}
	r.mu.Unlock()
	switch plan.Do {
	case Nothing:
		return
	case Poll:
		moved, err = r.remote.Poll(ctx)
	default:
		out, err = r.remote.Round(ctx, in)
	}
	if err != nil && ctx.Err() != nil { // not an error of the remote
		r.answer(waiting, answer{err: fmt.Errorf("the sync was ended: %w", fold.ErrUnavailable)})
		return
	}
	now := time.Now()
	r.mu.Lock()
	r.last = nil
	switch {
	case err != nil:
		f, ok := errors.AsType[*Error](err)
		if !ok {
			f = &Error{Kind: Offline, Err: err}
		}
		r.last = f
		r.table = r.table.Failed(now, *f, r.opt.Random())
	case plan.Do == Poll:
		r.table = r.table.Polled(now, moved, r.opt.Random())
	default:
		r.synced = now
		r.table = r.table.Synced(now, plan.Publish, out.Published, out.Left, r.opt.Random())
	}
	r.refuseWaiters()
	r.mu.Unlock()
	if r.opt.Done != nil {
		r.opt.Done(plan.Do, out, err)
	}
	r.answer(waiting, answer{out, err})
}

func (r *Runner) takeWaiters() []waiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.waiters
	r.waiters = nil
	return all
}

func (r *Runner) answer(all []waiter, a answer) {
	for _, w := range all {
		w <- a // never blocks: it has room for its one answer
	}
}
