package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Options say what to watch and how long to wait. Root must be set.
type Options struct {
	// Root is the absolute path of the checkout.
	Root string
	// Dirs lists the directories below Root to watch, relative with forward
	// slashes, "." or "" for Root itself, those that are pruned left out. It
	// is asked at the start and after a loss. Nil walks Root.
	Dirs func(ctx context.Context) ([]string, error)
	// Prune reports that a directory (relative as in Dirs) and all below it is
	// not to be watched. It is asked before a watch is set, once for each
	// directory that comes up later. Nil prunes nothing. `.git` always is.
	Prune func(dir string) bool
	// Ignored tells which of some directories below Root (relative as in Dirs)
	// are not to be watched, with all below them; those it does not name are.
	// Unlike Prune it may take its time: it is asked about many at once, beside
	// the taking of events, and each directory that comes up waits for it. An
	// error means that none is. Nil ignores nothing.
	Ignored func(ctx context.Context, dirs []string) (map[string]bool, error)
	// Git are the absolute paths of git directories: that of the work tree
	// and, for a linked one, the common one. Their HEAD, index, packed-refs
	// and refs are watched, nothing else of them.
	Git []string
	// Extra are trees watched as well that may lie outside Root, such as the
	// fold/ of the main work tree seen from a linked one.
	Extra []Tree
	// Files returns how many files the checkout has; above 50,000 directories
	// without a watch are swept every 60 s instead of 30 s. May be nil.
	Files func() int

	Lone  time.Duration // a lone save is reported after this; zero means 30 ms
	Quiet time.Duration // a storm after this without events; zero means 500 ms
	Max   time.Duration // or at the latest after this; zero means 5 s
	// Sweep is the time between Reconcile batches without a cause. Zero means
	// 10 min; less than 5 min becomes 5 min.
	Sweep time.Duration
	// Poll is the time between looks at directories without a watch. Zero means
	// 30 s, 60 s in a checkout of more than 50,000 files.
	Poll time.Duration
	// MaxPaths is how many paths a batch may hold before it becomes a
	// Reconcile. Zero means 20,000: more names than that cost more than the
	// sweep they would save.
	MaxPaths int

	Log *slog.Logger // nil means slog.Default()
}

// A Tree is a directory whose files are reported under another name.
type Tree struct {
	Dir    string // absolute
	Prefix string // "fold": a/b.md below Dir is reported as fold/a/b.md
}

// State says how changes are noticed.
type State struct {
	Polling bool   // some directories are swept, not watched
	Reason  string // why; "" unless Polling
	Hint    string // what the user can do about it; "" if nothing

	Watched  int // directories
	Polled   int // directories without a watch
	Restarts int // times the watcher had to be made anew
}

// String returns "events" or "polling" with the reason.
func (s State) String() string {
	if s.Polling {
		return "polling: " + s.Reason
	}
	return "events"
}

// A Watcher watches one checkout.
type Watcher struct {
	opt  Options
	make func() (notifier, error)

	mu    sync.Mutex // guards the fields below
	state State
	anew  bool          // Relist was called
	wake  chan struct{} // cap 1: anew was set
}

// New returns a watcher; nothing is watched before [Watcher.Run].
func New(opt Options) *Watcher {
	set := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	set(&opt.Lone, 30*time.Millisecond)
	set(&opt.Quiet, 500*time.Millisecond)
	set(&opt.Max, 5*time.Second)
	set(&opt.Sweep, 10*time.Minute)
	opt.Sweep = max(opt.Sweep, 5*time.Minute)
	if opt.MaxPaths == 0 {
		opt.MaxPaths = 20_000
	}
	if opt.Log == nil {
		opt.Log = slog.Default()
	}
	return &Watcher{opt: opt, make: newSystem, wake: make(chan struct{}, 1)}
}

// State returns how changes are noticed now. It may be called at any time, from
// any goroutine.
func (w *Watcher) State() State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}

// Relist has the directories listed again, after what is ignored has changed:
// those that came are watched, those that are now ignored are not any more. It
// does not block, and may be called from any goroutine.
func (w *Watcher) Relist() {
	w.mu.Lock()
	w.anew = true
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Run sends batches to out until ctx is done, and returns nil then. While the
// receiver is busy, changes go on being collected, within bounds. The first
// batch is a Reconcile with the reason "start", sent as soon as the watches
// stand: what changed before is not known. It returns an error only if the
// root cannot be read at the start.
func (w *Watcher) Run(ctx context.Context, out chan<- Batch) error {
	if fi, err := os.Stat(w.opt.Root); err != nil {
		return fmt.Errorf("watch: %w", err)
	} else if !fi.IsDir() {
		return fmt.Errorf("watch %s: not a directory", w.opt.Root)
	}
	ctx, cancel := context.WithCancel(ctx)
	l := newLoop(w)
	defer l.close()
	defer cancel()
	l.open(ctx)
	l.settle.lost(time.Now(), "start")
	return l.run(ctx, out)
}

// A directory in which .git came up is looked at once more after nestedAfter, and
// then after twice as long each time, up to nestedMost: git takes it for a
// repository only when that has a commit, and people write before they commit.
const (
	nestedAfter = 2 * time.Second
	nestedMost  = 256 * time.Second
)

// A loop is the state of one Run; only its goroutine touches it.
type loop struct {
	*Watcher
	n       notifier // nil while there is none
	dirs    dirSet
	settle  settler
	sweepAt time.Time
	pollAt  time.Time // zero if every directory has its watch
	retryAt time.Time // when to make a notifier; zero if there is one
	backoff time.Duration
	why     string // why there is no notifier
	listErr bool   // the directories could not be listed
	network string // kind of file system that tells no events; "" if it does

	restUntil time.Time // when events are taken again; zero if they are

	nested   []string      // directories that become repositories, to be looked at again
	nestedAt time.Time     // when; zero if there are none
	nestedIn time.Duration // how long that was from the look before

	fresh    map[string]place // directories that came up, not yet asked about
	asking   bool             // a goroutine asks
	unlisted bool             // it is to look for directories that were not listed
	verdicts chan verdict     // cap 1: what it found
}

func newLoop(w *Watcher) *loop {
	return &loop{
		Watcher: w,
		dirs:    newDirSet(),
		settle:  settler{lone: w.opt.Lone, quiet: w.opt.Quiet, max: w.opt.Max, limit: w.opt.MaxPaths},
		sweepAt: time.Now().Add(w.opt.Sweep),
		network: onNetwork(w.opt.Root),
		fresh:   map[string]place{}, verdicts: make(chan verdict, 1),
	}
}

func (l *loop) close() {
	if l.asking {
		<-l.verdicts
	}
	if l.n != nil {
		_ = l.n.Close()
	}
}

func (l *loop) run(ctx context.Context, out chan<- Batch) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var ready *Batch
	for {
		var events <-chan fsnotify.Event
		var errs <-chan error
		if l.n != nil {
			events, errs = l.n.Events(), l.n.Errors()
			if !l.restUntil.IsZero() {
				events = nil
			}
		}
		var send chan<- Batch
		var next Batch
		if ready != nil {
			send, next = out, *ready
		}
		l.ask(ctx)
		timer.Reset(time.Until(l.nextTimer(ready == nil)))
		select {
		case <-ctx.Done():
			return nil
		case ev, ok := <-events:
			if !ok {
				l.died(errors.New("its channel was closed"))
			} else {
				l.event(ev)
				l.eventsThere(events)
			}
		case err, ok := <-errs:
			if !ok {
				l.died(errors.New("its channel was closed"))
			} else {
				l.failed(err)
			}
		case send <- next:
			ready = nil
		case <-l.wake:
			l.relist(ctx)
		case v := <-l.verdicts:
			l.judged(v)
		case <-timer.C:
			ready = l.tick(ctx, ready)
		}
	}
}

const (
	// stormRest is how long no event is taken once all that are there were, in a
	// storm. The system gathers them meanwhile, up to 16,384 on Linux: that costs
	// much less than to wake up for each of thousands.
	stormRest = 5 * time.Millisecond
	// stormTries is how often another goroutine may go first that may have a
	// further event at hand.
	stormTries = 16
)

// eventsThere takes the events that are there already, and lets the loop rest in a
// storm. A lone save is taken up without it.
func (l *loop) eventsThere(events <-chan fsnotify.Event) {
	if !l.settle.pending || !l.settle.storm() {
		return
	}
	for tries := 0; tries < stormTries; {
		select {
		case ev, ok := <-events:
			if !ok {
				return // the loop will see it
			}
			l.event(ev)
			tries = 0
		default:
			tries++
			runtime.Gosched()
		}
	}
	l.restUntil = time.Now().Add(stormRest)
}

// nextTimer returns when the loop must act without an event. While a batch
// waits for its receiver, none is taken.
func (l *loop) nextTimer(free bool) time.Time {
	at := l.sweepAt
	earlier := func(t time.Time) {
		if !t.IsZero() && t.Before(at) {
			at = t
		}
	}
	earlier(l.pollAt)
	earlier(l.retryAt)
	earlier(l.nestedAt)
	earlier(l.restUntil)
	if due, ok := l.settle.due(); ok && free {
		earlier(due)
	}
	return at
}

// tick does what is due and returns the batch that waits for its receiver.
func (l *loop) tick(ctx context.Context, ready *Batch) *Batch {
	now := time.Now()
	if !now.Before(l.restUntil) {
		l.restUntil = time.Time{}
	}
	if !l.retryAt.IsZero() && !now.Before(l.retryAt) {
		l.open(ctx)
		if l.n != nil {
			l.settle.lost(now, "restart")
		}
	}
	if !l.pollAt.IsZero() && !now.Before(l.pollAt) {
		l.retryFailed(ctx)
		l.settle.poll(now, l.dirs.polled())
		l.schedulePoll(now)
	}
	if !l.nestedAt.IsZero() && !now.Before(l.nestedAt) {
		for _, name := range l.nested {
			l.settle.add(now, name)
		}
		if l.nestedIn *= 2; l.nestedIn <= nestedMost {
			l.nestedAt = now.Add(l.nestedIn)
		} else {
			l.nested, l.nestedAt = nil, time.Time{}
		}
	}
	if !now.Before(l.sweepAt) {
		l.settle.lost(now, "sweep")
		l.sweepAt = now.Add(l.opt.Sweep)
	}
	due, ok := l.settle.due()
	if !ok || ready != nil || now.Before(due) {
		return ready
	}
	if l.settle.has("overflow") || l.settle.has("too many paths") || l.settle.has("lost watch") {
		// Directories may have come up unseen.
		l.watchAll(ctx)
	}
	b := l.settle.take(now)
	if b.Reconcile && b.Reason != "polling" {
		l.sweepAt = now.Add(l.opt.Sweep)
	}
	return &b
}

// open makes a notifier and sets every watch. Where that cannot be, everything
// is swept, and tried again later.
func (l *loop) open(ctx context.Context) {
	n, err := l.make()
	if err != nil {
		if why := reasonOf(err); why != l.why {
			l.why = why
			l.opt.Log.WarnContext(ctx, "Cannot watch, sweeping instead", "err", err)
		}
		l.backoff = min(max(2*l.backoff, time.Second), pollEvery)
		l.retryAt = time.Now().Add(l.backoff)
		l.report()
		l.schedulePoll(time.Now())
		return
	}
	l.n, l.why, l.retryAt, l.backoff = n, "", time.Time{}, 0
	l.dirs = newDirSet()
	l.watchAll(ctx)
	l.opt.Log.DebugContext(ctx, "Watching", "dirs", len(l.dirs.watched))
}

// died is called when the notifier has ended by itself.
func (l *loop) died(err error) {
	l.opt.Log.Warn("The watcher ended, making a new one", "err", err)
	_ = l.n.Close()
	l.n, l.dirs = nil, newDirSet()
	l.why = "the watcher ended: " + err.Error()
	l.retryAt = time.Now()
	l.mu.Lock()
	l.state.Restarts++
	l.mu.Unlock()
	l.settle.lost(time.Now(), "restart")
	l.report()
}

// failed is called with what the notifier reports as an error. Whatever it is,
// events may be lost.
func (l *loop) failed(err error) {
	if errors.Is(err, fsnotify.ErrEventOverflow) {
		l.settle.lost(time.Now(), "overflow")
		return
	}
	l.opt.Log.Debug("The watcher reports an error", "err", err)
	l.settle.lost(time.Now(), "lost watch")
}
