// Package rounds says when a fold/ is synced with its remote, and sees to it: polls,
// rounds of fetch, merge and push, waits after a failure, and pauses that the user
// ends (git.md G16).
package rounds

import (
	"fmt"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Kind is why a poll or a round failed, as far as it decides what comes next.
type Kind string

// The kinds. What is of no kind counts as Offline.
const (
	Offline   Kind = "offline"   // not reached: tried again, with growing waits
	Missing   Kind = "missing"   // reached, but there is no such repository: the same
	Lost      Kind = "lost"      // others pushed first, every time: the same
	Guarded   Kind = "guarded"   // memories are being kept from loss here: the same
	Limited   Kind = "limited"   // the remote asks for time: not before it says
	Auth      Kind = "auth"      // it does not let us in: until the user acts
	Refused   Kind = "refused"   // we refuse what it does: until the user acts
	Rewritten Kind = "rewritten" // its history was replaced: until the user has it merged
	Policy    Kind = "policy"    // it takes no push: fetched on, published when the user acts
)

// An Error is one of a poll or a round, with what decides when the next comes.
type Error struct {
	Kind       Kind
	RetryAfter time.Duration // as the remote asked; 0 if it did not
	Err        error
}

func (f *Error) Error() string {
	if f.Err == nil {
		return string(f.Kind)
	}
	return f.Err.Error()
}

// Unwrap returns what happened.
func (f *Error) Unwrap() error { return f.Err }

// Limits are how often things happen. A zero field means its default.
type Limits struct {
	Poll    time.Duration // between polls while the project is worked on; 60 s
	Idle    time.Duration // between polls otherwise; 15 min
	Publish time.Duration // between pushes; 30 s
	Settle  time.Duration // from a change to its push, so that a burst is one; 2 s
	Active  time.Duration // how long after its last use a project counts as worked on; 10 min
	Hooked  time.Duration // between rounds that webhooks ask for; 2 s
	Backoff time.Duration // the longest wait after failures; 15 min
}

func (l Limits) orDefault() Limits {
	set := func(d *time.Duration, to time.Duration) {
		if *d <= 0 {
			*d = to
		}
	}
	set(&l.Poll, time.Minute)
	set(&l.Idle, 15*time.Minute)
	set(&l.Publish, 30*time.Second)
	set(&l.Settle, 2*time.Second)
	set(&l.Active, 10*time.Minute)
	set(&l.Hooked, 2*time.Second)
	set(&l.Backoff, 15*time.Minute)
	return l
}

const (
	backoffFirst = 5 * time.Second // bound of the wait after one failure; doubled with each
	backoffLeast = time.Second
	jitter       = 0.1 // share of the interval by which a poll comes earlier or later
)

// A Deed is what is to be done next.
type Deed int

// The deeds.
const (
	Nothing Deed = iota // until something happens
	Poll                // ask where the remote stands
	Round               // fetch, merge, and push if Plan.Publish
)

// A Plan is what is done next, and when.
type Plan struct {
	Do      Deed
	At      time.Time // zero: now
	Publish bool
}

// A Table holds what decides about the next deed. It is a value: every method returns
// the table after an event, and changes nothing. Random numbers come from the caller,
// in [0, 1).
type Table struct {
	limits Limits

	dirty     time.Time // since when something is to be published; zero if nothing is
	fresh     bool      // some of it since the round began
	due       bool      // a round is due at once, or at dueAt
	dueAt     time.Time // zero: at once
	hooked    time.Time // when the last round is, or was, due that a webhook asked for
	asked     bool      // by the user
	polled    time.Time // when the remote answered last
	pushed    time.Time
	used      time.Time // when the project was last worked on
	shift     float64   // of the next poll, in [-jitter, jitter] of its interval
	failures  int       // in a row
	notBefore time.Time // after failures
	limited   bool      // notBefore is the remote's word
	stopped   Kind      // "" unless the user must act
	mute      bool      // nothing is pushed until the user acts
	held      string    // why nothing is done for now; "" if it is
}

// NewTable returns the table of a sync that was just turned on or opened: its first
// deed is a round, at once.
func NewTable(l Limits) Table { return Table{limits: l.orDefault(), due: true} }

// Changed is told of something to publish.
func (t Table) Changed(now time.Time) Table {
	if t.dirty.IsZero() {
		t.dirty = now
	}
	t.fresh = true
	return t.Used(now)
}

// Used is told that the project is worked on: polls come more often for a while.
func (t Table) Used(now time.Time) Table {
	t.used = now
	return t
}

// Told is told that the remote has something new. It ends neither a pause nor a wait.
func (t Table) Told() Table {
	t.due, t.dueAt = true, time.Time{}
	return t
}

// Hooked is Told by a webhook, as many as may come: the first of a burst has a round
// made at once, those that follow have one round together.
func (t Table) Hooked(now time.Time) Table {
	if t.due {
		return t
	}
	at := t.hooked.Add(t.limits.Hooked)
	if t.hooked.IsZero() || !at.After(now) {
		t.hooked = now
		return t.Told()
	}
	t.due, t.dueAt, t.hooked = true, at, at
	return t
}

// Asked is told that the user wants a round now. That ends every pause but that of a
// rewritten remote, which only resync ends, and every wait but one that the remote
// asked for.
func (t Table) Asked(resync bool) Table {
	t.due, t.dueAt, t.asked, t.mute = true, time.Time{}, true, false
	if t.stopped != Rewritten || resync {
		t.stopped = ""
	}
	if !t.limited {
		t.failures, t.notBefore = 0, time.Time{}
	}
	return t
}

// Held says why nothing may be done for now; "" if it may again.
func (t Table) Held(why string) Table {
	t.held = why
	return t
}

// Stopped takes up a pause that was found, Auth for instance, when the daemon began.
func (t Table) Stopped(k Kind) Table {
	if k == Policy {
		t.mute = true
		return t
	}
	t.stopped = k
	return t
}

// Began is told that a round begins: what comes from now on is for the next one.
func (t Table) Began() Table {
	t.due, t.dueAt, t.asked, t.fresh = false, time.Time{}, false, false
	return t
}

// Polled is told that the remote answered, and whether it has moved.
func (t Table) Polled(now time.Time, moved bool, r float64) Table {
	t = t.answered(now, r)
	if moved {
		t = t.Told()
	}
	return t
}

// Synced is told that a round was made: whether it was to publish, whether it pushed,
// and whether something is still to be published. What it was to publish and did not
// is nothing that another round would: it waits for the next change.
func (t Table) Synced(now time.Time, publish, pushed, left bool, r float64) Table {
	t = t.answered(now, r)
	if pushed {
		t.pushed = now
	}
	left = left && (pushed || !publish)
	switch {
	case !left && !t.fresh:
		t.dirty = time.Time{}
	case t.dirty.IsZero():
		t.dirty = now
	}
	return t
}

// answered is a deed that succeeded.
func (t Table) answered(now time.Time, r float64) Table {
	t.polled, t.shift = now, (2*r-1)*jitter
	t.failures, t.notBefore, t.limited = 0, time.Time{}, false
	return t
}

// Failed is told of a poll or a round that failed. The wait after n failures is drawn
// evenly from zero to 5 s × 2^(n-1), 15 min at most: full jitter (Brooker, Exponential
// Backoff And Jitter, 2015), so that machines which lost the network together do not
// come back together.
func (t Table) Failed(now time.Time, f Error, r float64) Table {
	t.limited = false
	switch f.Kind {
	case Auth, Refused, Rewritten:
		t.stopped = f.Kind
		return t
	case Policy:
		t.mute = true // what is there is fetched on
		t.polled = now
		return t
	}
	t.failures++
	most := min(t.limits.Backoff, backoffFirst<<min(t.failures-1, 20))
	wait := max(backoffLeast, time.Duration(r*float64(most)))
	if f.RetryAfter > 0 {
		wait, t.limited = max(wait, f.RetryAfter), true
	}
	t.notBefore = now.Add(wait)
	t.due = true // what failed is to be done again
	return t
}

// Next returns what is to be done next.
func (t Table) Next() Plan {
	if t.held != "" || t.stopped != "" {
		return Plan{}
	}
	plan := Plan{Do: Poll, At: t.nextPoll()}
	if t.due {
		plan = Plan{Do: Round, At: t.dueAt}
	}
	if !t.dirty.IsZero() && !t.mute {
		at := later(t.dirty.Add(t.limits.Settle), t.nextPush())
		if t.asked {
			at = time.Time{}
		}
		if !at.After(plan.At) {
			plan = Plan{Do: Round, At: at, Publish: true}
		}
	}
	plan.At = later(plan.At, t.notBefore)
	if plan.Do == Round && !t.mute && (t.asked || !t.nextPush().After(plan.At)) {
		plan.Publish = true
	}
	return plan
}

// nextPush is when the next push may be.
func (t Table) nextPush() time.Time {
	if t.pushed.IsZero() {
		return time.Time{}
	}
	return t.pushed.Add(t.limits.Publish)
}

// nextPoll is when the remote is asked again if nothing happens.
func (t Table) nextPoll() time.Time {
	spread := func(d time.Duration) time.Duration { return d + time.Duration(t.shift*float64(d)) }
	at := t.polled.Add(spread(t.limits.Poll))
	if at.Before(t.used.Add(t.limits.Active)) {
		return later(at, t.used) // who comes back to work need not wait
	}
	return t.polled.Add(spread(max(t.limits.Idle, t.limits.Poll)))
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// A Pause is why nothing, or less than everything, is done.
type Pause struct {
	Kind     Kind // "" for a hold
	Held     string
	Until    time.Time // when it is tried again; zero if only the user, or the end of the hold, ends it
	OnlyPush bool      // what others push is still fetched
}

// Paused returns why less than everything is done; false if all is.
func (t Table) Paused() (Pause, bool) {
	switch {
	case t.stopped != "":
		return Pause{Kind: t.stopped}, true
	case t.held != "":
		return Pause{Held: t.held}, true
	case t.mute:
		return Pause{Kind: Policy, OnlyPush: true}, true
	case t.failures > 0 && t.limited:
		return Pause{Kind: Limited, Until: t.notBefore}, true
	case t.failures > 0:
		return Pause{Kind: Offline, Until: t.notBefore}, true
	}
	return Pause{}, false
}

// refuses returns why the user cannot have a round now; nil if it can be made.
func (t Table) refuses(now time.Time) *Error {
	switch {
	case t.held != "":
		return &Error{Err: fmt.Errorf("nothing is synced for now: %s: %w", t.held, fold.ErrUnavailable)}
	case t.stopped != "":
		return &Error{Kind: t.stopped}
	case t.limited && t.notBefore.After(now):
		return &Error{Kind: Limited, RetryAfter: t.notBefore.Sub(now)}
	}
	return nil
}
