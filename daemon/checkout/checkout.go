// Package checkout keeps one registered work tree: it owns what changes about it, opens and
// lends its indexes, does the work that the watcher and its users cause, and commits what
// settled. Nothing in it knows of other checkouts.
package checkout

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

// A Checkout is one registered work tree. What changes about it is its condition, which
// has one way in, update, and one way out, view.
type Checkout struct {
	*Shared
	Log     *slog.Logger   // of its own: that of parts is shared
	Record  state.Checkout // as registered at the start; as it is now: view().rec
	Project conf.Project   // to be written where there is none; "" slug otherwise

	mu       sync.Mutex // held by update
	cond     Condition
	snapshot atomic.Pointer[view]

	batches chan watch.Batch
	Wake    chan struct{} // pokes loop: a pause began or ended, or the time of a retry changed
	rouse   chan struct{} // pokes runJobs
	relist  atomic.Bool   // what is indexed changed: watches follow a sweep that begins from now on
	Commits *committer
	Sync    *repos.Sync // of its repository
	Slot    *storepool.Slot[*Stores]
	Count   counts // what was done for it

	claimed atomic.Bool   // by run, which begins once
	quit    chan struct{} // closed by stop
	once    sync.Once     // closes quit
	ended   chan struct{} // closed when run returned
}

func New(rec state.Checkout, p *Shared) *Checkout {
	co := &Checkout{
		Shared: p, Record: rec, cond: newCondition(rec), batches: make(chan watch.Batch), Wake: make(chan struct{}, 1), rouse: make(chan struct{}, 1),
		Slot: storepool.NewSlot[*Stores](p.Pool), quit: make(chan struct{}), ended: make(chan struct{}),
	}
	co.Log = p.Log.With("project", rec.Slug)
	co.Commits = newCommitter(co)
	co.Sync = p.Syncs.Of(rec.CommonDir)
	co.Update(func(*Condition) {})
	return co
}

// Update changes the condition. Changes come one after the other; change must not wait.
func (co *Checkout) Update(change func(c *Condition)) {
	co.mu.Lock()
	defer co.mu.Unlock()
	change(&co.cond)
	co.snapshot.Store(co.cond.view())
}

// View is the condition as it is.
func (co *Checkout) View() *view { return co.snapshot.Load() }

// loop takes what the watcher reports and adds the work.
func (co *Checkout) loop(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-co.Wake:
		case <-co.retryDue():
			co.retryFailed()
		case <-co.pauseEnds():
			if err := co.SetPaused(ctx, false, time.Time{}); err != nil {
				co.Log.WarnContext(ctx, "Pause not ended", "err", err)
				co.extendPause(retryMost)
			}
		case b := <-co.batches:
			if err := co.Gone(); err != nil { // what went with it is not deleted one by one
				return err
			}
			if co.View().paused {
				co.miss()
				continue
			}
			co.take(b)
		}
	}
}

// Gone returns an error if the checkout is certainly not there, or not the one that
// was opened.
func (co *Checkout) Gone() error {
	if _, err := os.Lstat(co.Record.Path); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the checkout is missing: %w", err)
	}
	if k := co.View().Repo; k != nil && !k.Store.Present() {
		return errReplaced
	}
	return nil
}

// errReplaced ends a turn, so that the checkout that stands there now is opened.
var errReplaced = errors.New("the checkout was removed and made anew")

// HintAfter is what to do about err, to be put behind it.
func HintAfter(err error) string {
	if hint := fold.Hint(err); hint != "" {
		return ": " + hint
	}
	return ""
}

// miss notes that changes came during a pause, after which a sweep finds them.
func (co *Checkout) miss() { co.Update(func(c *Condition) { c.pause.missed = true }) }

// sweepMissed adds a sweep if changes were missed.
func (co *Checkout) sweepMissed() {
	var missed bool
	co.Update(func(c *Condition) { missed = c.pause.takeMissed() })
	if missed {
		co.Add(work.Task{Kind: work.Sweep, Priority: work.Soon})
	}
}

// take adds the work of one batch.
func (co *Checkout) take(b watch.Batch) {
	if len(b.Paths) <= limiter.SaveMost {
		defer co.Limiter.Save()()
	}
	if dirs := co.polledSource(b); dirs != nil {
		co.Add(work.Task{Kind: work.Source, Priority: work.Soon, Paths: dirs})
		return
	}
	rules := slices.ContainsFunc(b.Paths, selection.DecidesFiles)
	// A folder that is moved away tells of none of its files.
	foldGone := slices.Contains(b.Paths, co.Record.FoldDir) && !co.foldThere()
	if b.Reconcile || rules || foldGone {
		if rules {
			co.relist.Store(true)
		}
		if b.Reason == "sweep" && co.putsOffSweep() {
			return
		}
		co.Add(work.Task{Kind: work.Sweep, Priority: work.Soon})
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
		} else if p != co.Record.FoldDir {
			source = append(source, p)
		}
	}
	if len(memories) > 0 {
		if k := co.View().Repo; k != nil {
			co.Commits.addSeen(k, memories)
		}
		co.addMemories(memories)
	}
	if len(source) > 0 {
		co.Add(work.Task{Kind: work.Source, Priority: work.Urgent, Paths: source})
	}
	if b.Git {
		co.Add(work.Task{Kind: work.Tip, Priority: work.Soon, Moved: true})
	}
}

// foldThere reports whether the folder of memories is there.
func (co *Checkout) foldThere() bool {
	k := co.View().Repo
	if k == nil {
		return true // not known
	}
	_, err := os.Lstat(k.FoldPath)
	return !errors.Is(err, fs.ErrNotExist)
}

// sweepAtLeast is how often a checkout is swept whose stores rest, although
// nothing was seen to have changed in it.
const sweepAtLeast = 6 * time.Hour

// putsOffSweep reports whether a sweep that only makes sure can wait until the
// stores are opened for something else.
func (co *Checkout) putsOffSweep() (off bool) {
	if co.Slot.IsOpen() {
		return false
	}
	co.Update(func(c *Condition) { off = c.rest.putsOff(co.Now()) })
	return off
}

// polledSource returns the folders of source that b is to have compared, "." for
// all; nil if it is about something else too.
func (co *Checkout) polledSource(b watch.Batch) []string {
	if b.Reason != "polling" || len(b.Dirs) == 0 || len(b.Paths) > 0 || b.Git {
		return nil
	}
	dirs := make([]string, len(b.Dirs))
	for i, d := range b.Dirs {
		if _, ok := co.belowFold(d); ok || d == co.Record.FoldDir {
			return nil // memories are compared by a sweep
		}
		dirs[i] = path.Clean(d)
	}
	return dirs
}

// Written is told of every path below fold/ that this daemon wrote. It is
// called in the middle of a write, also while the stores are being closed: so
// it only notes what there is to do, and waits for nothing.
func (co *Checkout) Written(paths []string) {
	if len(paths) == 0 {
		return
	}
	co.Commits.add(paths)
	co.addMemories(paths)
}

// addMemories adds the work of memory files that changed, beside a crowd of searches
// together with what comes a moment later.
func (co *Checkout) addMemories(paths []string) {
	t := work.Task{Kind: work.Fold, Priority: work.Urgent, Paths: paths}
	if co.Limiter.Crowded() {
		t.At = time.Now().Add(limiter.GatherWrites)
	}
	co.Add(t)
}

// belowFold returns p relative to the fold folder, if it lies there. The
// watcher reports paths of a fold folder outside the checkout under its name
// too.
func (co *Checkout) belowFold(p string) (string, bool) {
	return strings.CutPrefix(p, co.Record.FoldDir+"/")
}

func (co *Checkout) watch(ctx context.Context, k *RepoHandle) error {
	opt := watch.Options{Root: k.repo.WorkTree, Log: co.Log, Prune: co.prune, Dirs: k.Ingest.Dirs, Ignored: k.Ingest.Unwatched, Git: gitDirs(k), Files: co.files}
	if k.repo.WorkTree == "" { // bare: only the memories are there to watch
		opt.Root, opt.Dirs = k.repo.StateDir(), func(context.Context) ([]string, error) { return nil, nil }
		opt.Ignored = nil
	}
	opt.Extra = []watch.Tree{{Dir: k.FoldPath, Prefix: co.Record.FoldDir}}
	w := watch.New(opt)
	co.Update(func(c *Condition) { c.watcher = w })
	return w.Run(ctx, co.batches)
}

// prune keeps the watcher out of folders that nothing is indexed from, without
// asking git.
func (co *Checkout) prune(dir string) bool {
	switch filepath.Base(dir) {
	case ".git", ".obsidian", ".trash":
		return true
	}
	k := co.View().Repo
	return k != nil && k.Ingest.Rules().PrunesDir(dir)
}

// files is how many source files the checkout has, for the pace of polling.
func (co *Checkout) files() int {
	if k := co.View().Repo; k != nil {
		return k.Ingest.Listed()
	}
	return 0
}

// followRules has the watches follow what is indexed, after a sweep before which
// that changed.
func (co *Checkout) followRules() {
	if w := co.View().Watcher; w != nil {
		w.Relist()
	}
}

func gitDirs(k *RepoHandle) []string {
	dirs := []string{k.repo.GitDir}
	if k.repo.CommonDir != k.repo.GitDir {
		dirs = append(dirs, k.repo.CommonDir)
	}
	return dirs
}

// pauseEnds returns a channel that is ready when a pause is to end by itself, nil if
// none is.
func (co *Checkout) pauseEnds() <-chan time.Time {
	if v := co.View(); v.paused && !v.until.IsZero() {
		return time.After(time.Until(v.until))
	}
	return nil
}

// extendPause has a pause that could not be ended last a while longer.
func (co *Checkout) extendPause(d time.Duration) {
	co.Update(func(c *Condition) { c.pause.until = time.Now().Add(d) })
}

// SetPaused stops or resumes watching and committing, and remembers it.
func (co *Checkout) SetPaused(ctx context.Context, paused bool, until time.Time) error {
	if err := co.Shared.State.SetPaused(ctx, co.Record.Key, paused, until); err != nil {
		return err
	}
	co.Update(func(c *Condition) { c.pause.on, c.pause.until = paused, until })
	if k := co.View().Repo; k != nil {
		k.Store.HoldCommits(!co.Commits.wanted())
	}
	co.Sync.Hold()
	Poke(co.Wake)
	if paused { // whoever asked for it finds the history at rest
		return co.Commits.rest(ctx)
	}
	Poke(co.Commits.poke)
	co.sweepMissed()
	return nil
}

// Note sets what status tells about one subject; "" takes it back.
func (co *Checkout) Note(subject, text string) {
	co.Update(func(c *Condition) { c.note(subject, text) })
}

// setState sets what users are told that the checkout does.
func (co *Checkout) setState(state string) {
	co.Update(func(c *Condition) {
		if state != c.Opening.State {
			co.Events.Publish("indexing:"+state, co.Record.Slug, nil)
		}
		c.Opening.State = state
	})
}
