package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foldwatch/foldwatch/daemon/limiter"
	"github.com/foldwatch/foldwatch/daemon/repos"

	"github.com/foldwatch/foldwatch/daemon/ingest/selection"
	"github.com/foldwatch/foldwatch/daemon/storepool"
	"github.com/foldwatch/foldwatch/daemon/watch"
	"github.com/foldwatch/foldwatch/daemon/work"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
)

// A checkout is one registered work tree. What changes about it is its condition, which
// has one way in, update, and one way out, view.
type checkout struct {
	*parts
	log     *slog.Logger   // of its own: that of parts is shared
	rec     state.Checkout // as registered at the start; as it is now: view().rec
	project conf.Project   // to be written where there is none; "" slug otherwise

	mu       sync.Mutex // held by update
	cond     condition
	snapshot atomic.Pointer[view]

	batches chan watch.Batch
	wake    chan struct{} // pokes loop: a pause began or ended, or the time of a retry changed
	rouse   chan struct{} // pokes runJobs
	relist  atomic.Bool   // what is indexed changed: watches follow a sweep that begins from now on
	commits *committer
	sync    *repos.Sync // of its repository
	slot    *storepool.Slot[*stores]
	count   counts // what was done for it

	claimed atomic.Bool   // by run, which begins once
	quit    chan struct{} // closed by stop
	once    sync.Once     // closes quit
	ended   chan struct{} // closed when run returned
}

func newCheckout(rec state.Checkout, p *parts) *checkout {
	co := &checkout{
		parts: p, rec: rec, cond: newCondition(rec), batches: make(chan watch.Batch), wake: make(chan struct{}, 1), rouse: make(chan struct{}, 1),
		slot: storepool.NewSlot[*stores](p.pool), quit: make(chan struct{}), ended: make(chan struct{}),
	}
	co.log = p.log.With("project", rec.Slug)
	co.commits = newCommitter(co)
	co.sync = p.syncs.Of(rec.CommonDir)
	co.update(func(*condition) {})
	return co
}

// update changes the condition. Changes come one after the other; change must not wait.
func (co *checkout) update(change func(c *condition)) {
	co.mu.Lock()
	defer co.mu.Unlock()
	change(&co.cond)
	co.snapshot.Store(co.cond.view())
}

// view is the condition as it is.
func (co *checkout) view() *view { return co.snapshot.Load() }

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
			if co.view().paused {
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
	if k := co.view().repo; k != nil && !k.store.Present() {
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
func (co *checkout) miss() { co.update(func(c *condition) { c.pause.missed = true }) }

// sweepMissed adds a sweep if changes were missed.
func (co *checkout) sweepMissed() {
	var missed bool
	co.update(func(c *condition) { missed = c.pause.takeMissed() })
	if missed {
		co.add(work.Task{Kind: work.Sweep, Priority: work.Soon})
	}
}

// take adds the work of one batch.
func (co *checkout) take(b watch.Batch) {
	if len(b.Paths) <= limiter.SaveMost {
		defer co.desk.Save()()
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
		if k := co.view().repo; k != nil {
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
	k := co.view().repo
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
func (co *checkout) putsOffSweep() (off bool) {
	if co.slot.IsOpen() {
		return false
	}
	co.update(func(c *condition) { off = c.rest.putsOff(co.now()) })
	return off
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
	if co.desk.Crowded() {
		t.At = time.Now().Add(limiter.GatherWrites)
	}
	co.add(t)
}

// belowFold returns p relative to the fold folder, if it lies there. The
// watcher reports paths of a fold folder outside the checkout under its name
// too.
func (co *checkout) belowFold(p string) (string, bool) {
	return strings.CutPrefix(p, co.rec.FoldDir+"/")
}

func (co *checkout) watch(ctx context.Context, k *repoHandle) error {
	opt := watch.Options{Root: k.layout.WorkTree, Log: co.log, Prune: co.prune, Dirs: k.in.Dirs, Ignored: k.in.Unwatched, Git: gitDirs(k), Files: co.files}
	if k.layout.WorkTree == "" { // bare: only the memories are there to watch
		opt.Root, opt.Dirs = k.layout.StateDir(), func(context.Context) ([]string, error) { return nil, nil }
		opt.Ignored = nil
	}
	opt.Extra = []watch.Tree{{Dir: k.foldPath, Prefix: co.rec.FoldDir}}
	w := watch.New(opt)
	co.update(func(c *condition) { c.watcher = w })
	return w.Run(ctx, co.batches)
}

// prune keeps the watcher out of folders that nothing is indexed from, without
// asking git.
func (co *checkout) prune(dir string) bool {
	switch filepath.Base(dir) {
	case ".git", ".obsidian", ".trash":
		return true
	}
	k := co.view().repo
	return k != nil && k.in.Rules().PrunesDir(dir)
}

// files is how many source files the checkout has, for the pace of polling.
func (co *checkout) files() int {
	if k := co.view().repo; k != nil {
		return k.in.Listed()
	}
	return 0
}

// followRules has the watches follow what is indexed, after a sweep before which
// that changed.
func (co *checkout) followRules() {
	if w := co.view().watcher; w != nil {
		w.Relist()
	}
}

func gitDirs(k *repoHandle) []string {
	dirs := []string{k.layout.GitDir}
	if k.layout.CommonDir != k.layout.GitDir {
		dirs = append(dirs, k.layout.CommonDir)
	}
	return dirs
}

// pauseEnds returns a channel that is ready when a pause is to end by itself, nil if
// none is.
func (co *checkout) pauseEnds() <-chan time.Time {
	if v := co.view(); v.paused && !v.until.IsZero() {
		return time.After(time.Until(v.until))
	}
	return nil
}

// extendPause has a pause that could not be ended last a while longer.
func (co *checkout) extendPause(d time.Duration) {
	co.update(func(c *condition) { c.pause.until = time.Now().Add(d) })
}

// setPaused stops or resumes watching and committing, and remembers it.
func (co *checkout) setPaused(ctx context.Context, paused bool, until time.Time) error {
	if err := co.parts.state.SetPaused(ctx, co.rec.Key, paused, until); err != nil {
		return err
	}
	co.update(func(c *condition) { c.pause.on, c.pause.until = paused, until })
	if k := co.view().repo; k != nil {
		k.store.HoldCommits(!co.commits.wanted())
	}
	co.sync.Hold()
	poke(co.wake)
	if paused { // whoever asked for it finds the history at rest
		return co.commits.rest(ctx)
	}
	poke(co.commits.poke)
	co.sweepMissed()
	return nil
}

// note sets what status tells about one subject; "" takes it back.
func (co *checkout) note(subject, text string) {
	co.update(func(c *condition) { c.note(subject, text) })
}

// setState sets what users are told that the checkout does.
func (co *checkout) setState(state string) {
	co.update(func(c *condition) {
		if state != c.opening.state {
			co.bus.Publish("indexing:"+state, co.rec.Slug, nil)
		}
		c.opening.state = state
	})
}
