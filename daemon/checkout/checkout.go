// Package checkout keeps one registered work tree: it owns what changes about it, opens and
// lends its indexes, does the work that the watcher and its users cause, and commits what
// settled. Nothing in it knows of other checkouts.
package checkout

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/limiter"
	"github.com/foldwatch/foldwatch/daemon/repos"
	"github.com/foldwatch/foldwatch/daemon/storepool"
	"github.com/foldwatch/foldwatch/daemon/watch"
	"github.com/foldwatch/foldwatch/daemon/work"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
)

// A Checkout is one registered work tree. What changes about it is its condition, which
// has one way in, Update, and one way out, View. Its methods are safe for concurrent use.
type Checkout struct {
	*Shared
	Log     *slog.Logger   // of its own: that of Shared is everybody's
	Record  state.Checkout // as registered at the start; as it is now: View().Record
	Project conf.Project   // to be written where there is none; "" slug otherwise

	mu       sync.Mutex // held by Update
	cond     Condition
	snapshot atomic.Pointer[View]

	batches    chan watch.Batch
	Wake       chan struct{} // pokes the loop: a pause began or ended, or the time of a retry changed
	rouse      chan struct{} // pokes the worker
	relist     atomic.Bool   // what is indexed changed: watches follow a sweep that begins from now on
	commitWake chan struct{} // pokes the committer
	committing chan struct{} // holds one while a commit is made
	Sync       *repos.Sync   // of its repository
	Slot       *storepool.Slot[*Stores]
	Count      Counts // what was done for it

	claimed atomic.Bool   // by Run, which begins once
	ended   chan struct{} // closed when Run returned
}

// New returns the checkout that is registered as rec. Run keeps it.
func New(rec state.Checkout, p *Shared) *Checkout {
	co := &Checkout{
		Shared: p, Record: rec, cond: newCondition(rec), batches: make(chan watch.Batch), Wake: make(chan struct{}, 1), rouse: make(chan struct{}, 1),
		Slot: storepool.NewSlot[*Stores](p.Pool), commitWake: make(chan struct{}, 1), committing: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	co.Log = p.Log.With("project", rec.Slug)
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

// read shows the condition to look, which must neither change it nor wait: for what is not
// in views.
func (co *Checkout) read(look func(c *Condition)) {
	co.mu.Lock()
	defer co.mu.Unlock()
	look(&co.cond)
}

// View is the condition as it is.
func (co *Checkout) View() *View { return co.snapshot.Load() }

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

// Written is told of every path below fold/ that this daemon wrote. It is
// called in the middle of a write, also while the stores are being closed: so
// it only notes what there is to do, and waits for nothing.
func (co *Checkout) Written(paths []string) {
	if len(paths) == 0 {
		return
	}
	co.changed(paths)
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

// followRules has the watches follow what is indexed, after a sweep before which
// that changed.
func (co *Checkout) followRules() {
	if w := co.View().Watcher; w != nil {
		w.Relist()
	}
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

// Add adds what is to be done and returns the id of its job. It waits for nothing:
// stores that rest are opened for it.
func (co *Checkout) Add(t work.Task) (id string) {
	co.Update(func(c *Condition) { id = c.work.Add(time.Now(), t) })
	if t.Priority >= work.Urgent {
		co.Sync.Used()
		co.Slot.Hurry()
	}
	Poke(co.rouse)
	return id
}

// Settled waits until every change that was known at the call is searchable.
func (co *Checkout) Settled(ctx context.Context) error {
	select {
	case <-co.View().settled:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for pending changes: %w", fold.ErrUnavailable)
	}
}

// Busy reports whether work is left that changes what search finds by words.
func (co *Checkout) Busy() bool { return co.View().Busy > 0 }

// IndexDir is where the derived stores of the checkout lie.
func (co *Checkout) IndexDir() string { return filepath.Join(co.Dirs.State, "index", co.Record.Key) }

// cutting returns how the user wants the files of the checkout to be cut, and how
// many lines before a chunk are embedded with it.
func (co *Checkout) cutting() (cut chunker.Options, overlap int) {
	cfg := co.Config.For(co.Record.Slug)
	c := cfg.Chunk
	return chunker.Options{
		MinLines: c.MinLines, MaxLines: c.MaxLines, LineSize: c.LineSize, MaxBytes: cfg.MaxFileKB << 10, Whole: !c.Enabled,
	}, c.LineOverlap
}

// restart opens everything anew: what decided how it was opened has changed.
func (co *Checkout) restart() { co.Update(func(c *Condition) { c.Opening.restart() }) }

// damaged is told that the database of the index is. It ends the turn, so that
// the index is made again from the files.
func (co *Checkout) damaged(err error) { co.Update(func(c *Condition) { c.Opening.damaged(err) }) }

// openedBefore reports whether the checkout was open or registered before this turn.
func (co *Checkout) openedBefore() (before bool) {
	co.Update(func(c *Condition) { before = c.Opening.Before })
	return before
}

// toCommit changes what is to be committed.
func (co *Checkout) toCommit(change func(todo *uncommitted, now time.Time)) {
	co.Update(func(c *Condition) { change(&c.history, time.Now()) })
	Poke(co.commitWake)
}

// changed notes paths of files below fold/ that changed, to be committed.
func (co *Checkout) changed(paths []string) {
	valid := slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return fold.ValidPath(p) != nil })
	co.toCommit(func(todo *uncommitted, now time.Time) { todo.add(now, valid...) })
}

// compareAll asks for a full scan of fold/: at start, after a sweep, after a bulk write.
func (co *Checkout) compareAll() { co.toCommit((*uncommitted).addAll) }

// wantsCommits reports whether the user wants commits at present.
func (co *Checkout) wantsCommits() bool { return co.Config.AutoCommit && !co.View().paused }
