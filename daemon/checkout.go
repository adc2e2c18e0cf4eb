package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/ingest/selection"
	"github.com/foldwatch/foldwatch/daemon/storepool"
	"github.com/foldwatch/foldwatch/daemon/watch"
	"github.com/foldwatch/foldwatch/daemon/work"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
)

// A checkout is one registered work tree: its loop, its stores, what status
// says of it.
type checkout struct {
	*parts
	log     *slog.Logger   // of its own: that of parts is shared
	rec     state.Checkout // as registered; Name and FileMemories as they are now: record
	project conf.Project   // to be written where there is none; "" slug otherwise

	batches chan watch.Batch
	wake    chan struct{} // pokes loop: a pause began or ended, or the time of a retry changed
	commits *committer
	sync    *syncing // of its repository
	count   counts   // what was done for it

	mu       sync.Mutex         // guards the fields below
	changed  wire.ProjectUpdate // of rec since it was registered or read
	mode     string             // that was set since; "" if none was
	kept     *standing          // nil between turns
	stood    bool               // it was opened before, or registered by an earlier start
	failed   error
	work     *work.Queue
	tally    tally
	sweepDue bool      // at the next opening: nothing was seen to have changed
	rested   bool      // the stores rest
	restedAt time.Time // since when
	state    string
	pace     pace
	retries  retries
	late     lateness                // of vectors
	asking   context.CancelCauseFunc // ends what a model is asked for now; nil if nothing is
	notices  map[string]string       // by subject
	idle     chan struct{}           // closed when no work is left that changes what search finds by words
	watcher  *watch.Watcher          // nil before the stores are open
	pause    pause
	cancel   context.CancelFunc // ends run
	reopen   context.CancelFunc // ends the turn
	// dropIndex says that the next turn begins with empty derived stores.
	dropIndex bool
	damage    error           // of the index, found in this turn
	asked     []chan struct{} // wait for a turn that begins from now on
	waiters   []chan struct{} // wait for this turn to be open, or to have failed

	slot    *storepool.Slot[*stores]
	rouse   chan struct{} // pokes runJobs
	claimed atomic.Bool   // by run, which begins once
	began   chan struct{} // closed when run began
	relist  atomic.Bool   // what is indexed changed: watches follow a sweep that begins from now on
	ended   chan struct{} // closed when run returned
}

func newCheckout(rec state.Checkout, p *parts) *checkout {
	co := &checkout{
		parts: p, rec: rec, batches: make(chan watch.Batch), wake: make(chan struct{}, 1),
		slot: storepool.NewSlot[*stores](p.pool), state: "starting", notices: map[string]string{},
		work: work.New(rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))), idle: make(chan struct{}),
		rouse: make(chan struct{}, 1), began: make(chan struct{}),
		ended: make(chan struct{}), tally: newTally(),
		pause: pause{on: rec.Paused, until: rec.PausedUntil},
	}
	co.work.Add(time.Now(), sweepAtStart())
	co.log = p.log.With("project", rec.Slug)
	co.commits = newCommitter(co)
	co.sync = p.syncOf(rec.CommonDir)
	return co
}

// loop takes what the watcher reports and adds the work.
func (co *checkout) loop(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-co.wake:
		case <-co.retryDue():
			co.retryFailed()
		case <-co.pauseEnds():
			if err := co.setPaused(ctx, false, time.Time{}); err != nil {
				co.log.WarnContext(ctx, "Pause not ended", "err", err)
				co.extendPause(retryMost)
			}
		case b := <-co.batches:
			if err := co.gone(); err != nil { // what went with it is not deleted one by one
				return err
			}
			if co.isPaused() {
				co.miss()
				continue
			}
			co.take(b)
		}
	}
}

// gone returns an error if the checkout is certainly not there, or not the one that
// was opened.
func (co *checkout) gone() error {
	if _, err := os.Lstat(co.rec.Path); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the checkout is missing: %w", err)
	}
	if k := co.keeps(); k != nil && !k.sidecar.store.Present() {
		return errReplaced
	}
	return nil
}

// errReplaced ends a turn, so that the checkout that stands there now is opened.
var errReplaced = errors.New("the checkout was removed and made anew")

// hintAfter is what to do about err, to be put behind it.
func hintAfter(err error) string {
	if hint := fold.Hint(err); hint != "" {
		return ": " + hint
	}
	return ""
}

// miss notes that changes came during a pause, after which a sweep finds them.
func (co *checkout) miss() {
	co.mu.Lock()
	defer co.mu.Unlock()
	co.pause.missed = true
}

// sweepMissed adds a sweep if changes were missed.
func (co *checkout) sweepMissed() {
	co.mu.Lock()
	missed := co.pause.takeMissed()
	co.mu.Unlock()
	if missed {
		co.add(work.Task{Kind: work.Sweep, Priority: work.Soon})
	}
}

// take adds the work of one batch.
func (co *checkout) take(b watch.Batch) {
	if len(b.Paths) <= saveMost {
		defer co.desk.save()()
	}
	if dirs := co.polledSource(b); dirs != nil {
		co.add(work.Task{Kind: work.Source, Priority: work.Soon, Paths: dirs})
		return
	}
	rules := slices.ContainsFunc(b.Paths, selection.DecidesFiles)
	// A folder that is moved away tells of none of its files.
	foldGone := slices.Contains(b.Paths, co.rec.FoldDir) && !co.foldThere()
	if b.Reconcile || rules || foldGone {
		if rules {
			co.relist.Store(true)
		}
		if b.Reason == "sweep" && co.putsOffSweep() {
			return
		}
		co.add(work.Task{Kind: work.Sweep, Priority: work.Soon})
		if b.Reconcile {
			return
		}
	}
	var source, memories []string
	for _, p := range b.Paths {
		if strings.HasPrefix(p, ".git/") {
			continue // told of for what it says of other files
		}
		if rel, ok := co.belowFold(p); ok {
			memories = append(memories, rel)
		} else if p != co.rec.FoldDir {
			source = append(source, p)
		}
	}
	if len(memories) > 0 {
		if k := co.keeps(); k != nil {
			co.commits.addSeen(k, memories)
		}
		co.addMemories(memories)
	}
	if len(source) > 0 {
		co.add(work.Task{Kind: work.Source, Priority: work.Urgent, Paths: source})
	}
	if b.Git {
		co.add(work.Task{Kind: work.Tip, Priority: work.Soon, Moved: true})
	}
}

// foldThere reports whether the folder of memories is there.
func (co *checkout) foldThere() bool {
	k := co.keeps()
	if k == nil {
		return true // not known
	}
	_, err := os.Lstat(k.foldPath)
	return !errors.Is(err, fs.ErrNotExist)
}

// sweepAtLeast is how often a checkout is swept whose stores rest, although
// nothing was seen to have changed in it.
const sweepAtLeast = 6 * time.Hour

// putsOffSweep reports whether a sweep that only makes sure can wait until the
// stores are opened for something else.
func (co *checkout) putsOffSweep() bool {
	co.mu.Lock()
	defer co.mu.Unlock()
	if co.slot.IsOpen() || !co.rested || co.now().Sub(co.restedAt) > sweepAtLeast {
		return false
	}
	co.sweepDue = true
	return true
}

// polledSource returns the folders of source that b is to have compared, "." for
// all; nil if it is about something else too.
func (co *checkout) polledSource(b watch.Batch) []string {
	if b.Reason != "polling" || len(b.Dirs) == 0 || len(b.Paths) > 0 || b.Git {
		return nil
	}
	dirs := make([]string, len(b.Dirs))
	for i, d := range b.Dirs {
		if _, ok := co.belowFold(d); ok || d == co.rec.FoldDir {
			return nil // memories are compared by a sweep
		}
		dirs[i] = path.Clean(d)
	}
	return dirs
}

// written is told of every path below fold/ that this daemon wrote. It is
// called in the middle of a write, also while the stores are being closed: so
// it only notes what there is to do, and waits for nothing.
func (co *checkout) written(paths []string) {
	if len(paths) == 0 {
		return
	}
	co.commits.add(paths)
	co.addMemories(paths)
}

// addMemories adds the work of memory files that changed, beside a crowd of searches
// together with what comes a moment later.
func (co *checkout) addMemories(paths []string) {
	t := work.Task{Kind: work.Fold, Priority: work.Urgent, Paths: paths}
	if co.desk.crowded() {
		t.At = time.Now().Add(gatherWrites)
	}
	co.add(t)
}

// belowFold returns p relative to the fold folder, if it lies there. The
// watcher reports paths of a fold folder outside the checkout under its name
// too.
func (co *checkout) belowFold(p string) (string, bool) {
	return strings.CutPrefix(p, co.rec.FoldDir+"/")
}

// record returns what is registered, with what was changed since.
func (co *checkout) record() state.Checkout {
	co.mu.Lock()
	defer co.mu.Unlock()
	rec := co.rec
	if co.changed.Name != nil {
		rec.Name = *co.changed.Name
	}
	if co.changed.FileMemories != nil {
		rec.FileMemories = *co.changed.FileMemories
	}
	if co.mode != "" {
		rec.CommitTo = co.mode
	}
	return rec
}

// change notes an update of what is registered and returns the outcome.
func (co *checkout) change(in wire.ProjectUpdate) state.Checkout {
	co.mu.Lock()
	if in.Name != nil {
		co.changed.Name = in.Name
	}
	if in.FileMemories != nil {
		co.changed.FileMemories = in.FileMemories
	}
	co.mu.Unlock()
	return co.record()
}

// keeps returns what of the checkout is open, or nil.
func (co *checkout) keeps() *standing {
	co.mu.Lock()
	defer co.mu.Unlock()
	return co.kept
}

func (co *checkout) watch(ctx context.Context, k *standing) error {
	opt := watch.Options{Root: k.layout.WorkTree, Log: co.log, Prune: co.prune, Dirs: k.in.Dirs, Ignored: k.in.Unwatched, Git: gitDirs(k), Files: co.files}
	if k.layout.WorkTree == "" { // bare: only the memories are there to watch
		opt.Root, opt.Dirs = k.layout.StateDir(), func(context.Context) ([]string, error) { return nil, nil }
		opt.Ignored = nil
	}
	opt.Extra = []watch.Tree{{Dir: k.foldPath, Prefix: co.rec.FoldDir}}
	w := watch.New(opt)
	co.mu.Lock()
	co.watcher = w
	co.mu.Unlock()
	return w.Run(ctx, co.batches)
}

// prune keeps the watcher out of folders that nothing is indexed from, without
// asking git.
func (co *checkout) prune(dir string) bool {
	switch filepath.Base(dir) {
	case ".git", ".obsidian", ".trash":
		return true
	}
	k := co.keeps()
	return k != nil && k.in.Rules().PrunesDir(dir)
}

// files is how many source files the checkout has, for the pace of polling.
func (co *checkout) files() int {
	if k := co.keeps(); k != nil {
		return k.in.Listed()
	}
	return 0
}

// followRules has the watches follow what is indexed, after a sweep before which
// that changed.
func (co *checkout) followRules() {
	co.mu.Lock()
	w := co.watcher
	co.mu.Unlock()
	if w != nil {
		w.Relist()
	}
}

func gitDirs(k *standing) []string {
	dirs := []string{k.layout.GitDir}
	if k.layout.CommonDir != k.layout.GitDir {
		dirs = append(dirs, k.layout.CommonDir)
	}
	return dirs
}

// pauseEnds returns a channel that is ready when a pause is to end by itself, nil if
// none is.
func (co *checkout) pauseEnds() <-chan time.Time {
	co.mu.Lock()
	defer co.mu.Unlock()
	at, ok := co.pause.ends()
	if !ok {
		return nil
	}
	return time.After(time.Until(at))
}

// extendPause has a pause that could not be ended last a while longer.
func (co *checkout) extendPause(d time.Duration) {
	co.mu.Lock()
	defer co.mu.Unlock()
	co.pause.until = time.Now().Add(d)
}

func (co *checkout) isPaused() bool {
	co.mu.Lock()
	defer co.mu.Unlock()
	return co.pause.on
}

// setPaused stops or resumes watching and committing, and remembers it.
func (co *checkout) setPaused(ctx context.Context, paused bool, until time.Time) error {
	if err := co.parts.state.SetPaused(ctx, co.rec.Key, paused, until); err != nil {
		return err
	}
	co.mu.Lock()
	co.pause.on, co.pause.until = paused, until
	k := co.kept
	co.mu.Unlock()
	if k != nil {
		k.sidecar.hold(co, !co.commits.wanted())
	}
	co.sync.hold()
	poke(co.wake)
	if paused { // whoever asked for it finds the history at rest
		return co.commits.rest(ctx)
	}
	co.commits.nudge()
	co.sweepMissed()
	return nil
}

// note sets what status tells about one subject; "" takes it back.
func (co *checkout) note(subject, text string) {
	co.mu.Lock()
	defer co.mu.Unlock()
	if text == "" {
		delete(co.notices, subject)
		return
	}
	co.notices[subject] = text
}

// noticeOf returns what is noted about subject, "" if nothing is.
func (co *checkout) noticeOf(subject string) string {
	co.mu.Lock()
	defer co.mu.Unlock()
	return co.notices[subject]
}

// noticed reports whether there is a notice on the subject.
func (co *checkout) noticed(subject string) bool {
	co.mu.Lock()
	defer co.mu.Unlock()
	return co.notices[subject] != ""
}

func (co *checkout) setState(state string) {
	co.mu.Lock()
	defer co.mu.Unlock()
	if state != co.state {
		co.bus.publish("indexing:"+state, co.rec.Slug, nil)
	}
	co.state = state
}
