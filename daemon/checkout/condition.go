package checkout

import (
	"maps"
	"math/rand/v2"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/embedding"
	"github.com/foldwatch/foldwatch/daemon/watch"
	"github.com/foldwatch/foldwatch/daemon/work"
	"github.com/foldwatch/foldwatch/meta/state"
)

// A Condition is all that changes about a checkout while the daemon runs. It has neither
// clock nor lock: time is an argument, and only Checkout.Update changes it.
type Condition struct {
	Record  state.Checkout // as registered now; its key, slug and paths never change
	Opening opening
	work    *work.Queue
	settled chan struct{} // closed when no work is left that changes what search finds by words
	pace    pace
	Retries retries
	history uncommitted
	pause   pause
	rest    rest
	model   embedding.Pause
	Tally   tally
	notices map[string]string // by subject; replaced, never changed
	watcher *watch.Watcher    // nil before the repository was opened
}

func newCondition(rec state.Checkout) Condition {
	c := Condition{
		Record: rec, Opening: opening{State: "starting"}, work: work.New(rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))),
		settled: make(chan struct{}), Tally: newTally(), pause: pause{on: rec.Paused, until: rec.PausedUntil},
	}
	c.work.Add(time.Now(), sweepAtStart())
	return c
}

// A View is a condition as others see it: a copy that never changes.
type View struct {
	Record   state.Checkout
	Repo     *RepoHandle // nil while nothing is open
	state    string      // for users: starting, indexing, ready, failed, missing
	Failed   error       // why nothing is open
	paused   bool
	until    time.Time // when the pause ends by itself; zero if it does not
	resting  bool      // the stores are closed, since nobody asked
	Busy     int       // jobs that change what search finds by words
	settled  <-chan struct{}
	progress *wire.Progress // nil if nothing is under way
	Notices  map[string]string
	guarded  string // why nothing is committed: memories vanished; "" if none did
	Watcher  *watch.Watcher
}

// view makes the copy, after what follows from a change was done.
func (c *Condition) view() *View {
	busy := c.work.ForSearch()
	select {
	case <-c.settled:
		if busy > 0 {
			c.settled = make(chan struct{})
		}
	default:
		if busy == 0 {
			close(c.settled)
		}
	}
	v := &View{
		Record: c.Record, Repo: c.Opening.repo, state: c.Opening.State, Failed: c.Opening.failed, paused: c.pause.on, resting: !c.rest.since.IsZero(),
		Busy: busy, settled: c.settled, progress: c.pace.progress(), Notices: c.notices, guarded: c.history.guarded, Watcher: c.watcher,
	}
	v.until, _ = c.pause.ends()
	return v
}

// note sets what status tells about one subject; "" takes it back.
func (c *Condition) note(subject, text string) {
	if c.notices[subject] == text {
		return
	}
	c.notices = maps.Clone(c.notices)
	if text == "" {
		delete(c.notices, subject)
		return
	}
	if c.notices == nil {
		c.notices = map[string]string{}
	}
	c.notices[subject] = text
}

// A rest is the time in which the stores are closed, since nobody asked for them.
type rest struct {
	since    time.Time // zero if they are open
	sweepDue bool      // a sweep is to be made when they are opened: it was put off meanwhile
}

// putsOff reports whether a sweep that only makes sure waits until the stores are opened
// for something else, as it does for a while.
func (r *rest) putsOff(now time.Time) bool {
	if r.since.IsZero() || now.Sub(r.since) > sweepAtLeast {
		return false
	}
	r.sweepDue = true
	return true
}

// sweepAtStart finds whatever changed before a turn.
func sweepAtStart() work.Task {
	return work.Task{Kind: work.Sweep, Priority: work.Soon, AtStart: true}
}

// sweepAtLeast is how often a checkout is swept whose stores rest, although
// nothing was seen to have changed in it.
const sweepAtLeast = 6 * time.Hour
