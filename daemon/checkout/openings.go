package checkout

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// An opening is how far a checkout is opened, in the turn that runs now: the time from
// one attempt to open it to the next. It has neither clock nor lock.
type opening struct {
	State  string      // for users
	repo   *RepoHandle // nil while nothing is open
	Before bool        // it was opened before, or registered by an earlier start
	failed error       // why the last attempt failed; nil while none has

	quit    context.CancelFunc // ends Run; nil before it began
	stopped bool               // Run is to end
	end     context.CancelFunc // ends the turn; nil before the first
	drop    bool               // the next turn begins with empty derived stores
	damage  error              // of the index, found in this turn
	asked   []chan struct{}    // wait for a turn that begins from now on
	waiting []chan struct{}    // wait for this turn to be open, or to have failed
}

// run notes how to end Run, and ends it where that was asked for before it began.
func (o *opening) run(quit context.CancelFunc) {
	o.quit = quit
	if o.stopped {
		quit()
	}
}

// stop ends Run.
func (o *opening) stop() {
	o.stopped = true
	if o.quit != nil {
		o.quit()
	}
}

// begin begins a turn, which end ends, and reports whether it begins with empty derived
// stores. What was asked for before is part of it; what is asked for later ends it.
func (o *opening) begin(end context.CancelFunc) (drop bool) {
	drop, o.drop = o.drop, false
	o.end = end
	o.waiting, o.asked = append(o.waiting, o.asked...), nil
	return drop
}

// restart ends the turn: what decided how it was opened has changed.
func (o *opening) restart() {
	if o.end != nil { // else the first one is still to come
		o.end()
	}
}

// damaged ends the turn because the database of the index is damaged.
func (o *opening) damaged(err error) {
	if o.damage == nil {
		o.damage = err
		o.restart()
	}
}

// takeDamage returns the damage that ended the turn, nil if none did. The next turn then
// makes the derived stores anew.
func (o *opening) takeDamage() error {
	damage := o.damage
	o.damage = nil
	o.drop = o.drop || damage != nil
	return damage
}

// opened notes what is open now.
func (o *opening) opened(k *RepoHandle) {
	o.repo, o.Before, o.State, o.failed = k, true, "starting", nil
	o.answer()
}

// closed notes that nothing is open, until the next turn has opened it.
func (o *opening) closed() { o.repo, o.State, o.failed = nil, "starting", nil }

// fail notes why nothing is open.
func (o *opening) fail(err error) {
	o.failed, o.State = err, "failed"
	if missing(err) {
		o.State = "missing"
	}
	o.answer()
}

// answer lets go on who waits for the turn.
func (o *opening) answer() {
	for _, w := range o.waiting {
		close(w)
	}
	o.waiting = nil
}

// How long a checkout that could not be opened waits before the next attempt:
// doubled with each, up to a bound. One whose folder is not there is looked for
// more often, since whoever mounts it again waits for it. After openFor in good
// order the next failure is a first one again.
const (
	retryFirst   = time.Second
	retryMissing = 30 * time.Second
	retryMost    = time.Minute
	openFor      = time.Minute
)

// Openings counts the attempts at a checkout that failed. It has neither clock nor lock.
type openings struct {
	failures int // in a row
}

// ended takes the end of a turn: how long it took, why it ended, whether the index
// turned out to be damaged, and whether somebody asked for the end. It reports whether
// that was a failure, and how long to wait before the next turn.
func (o *openings) ended(took time.Duration, err error, damaged, asked bool) (wait time.Duration, failed bool) {
	if took > openFor {
		o.failures = 0
	}
	if asked && !damaged {
		o.failures = 0
		return 0, false
	}
	o.failures++
	if damaged && o.failures == 1 { // nothing to wait for: all of it can be made again
		return 0, false
	}
	most := retryMost
	if missing(err) {
		most = retryMissing
	}
	return min(most, retryFirst<<min(o.failures-1, 10)), true
}

func missing(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, fold.ErrNotFound)
}
