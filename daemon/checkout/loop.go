package checkout

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/daemon/ingest/selection"
	"github.com/foldwatch/foldwatch/daemon/limiter"
	"github.com/foldwatch/foldwatch/daemon/watch"
	"github.com/foldwatch/foldwatch/daemon/work"
)

// A loop takes what the watcher of a checkout reports, and what is due by the clock.
type loop struct{ *Checkout }

// run runs the loop until ctx ends, or the checkout is not there any more.
func (l loop) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.Wake:
		case <-l.retryDue():
			l.retryFailed()
		case <-l.pauseEnds():
			if err := l.SetPaused(ctx, false, time.Time{}); err != nil {
				l.Log.WarnContext(ctx, "Pause not ended", "err", err)
				l.extendPause(retryMost)
			}
		case b := <-l.batches:
			if err := l.Gone(); err != nil { // what went with it is not deleted one by one
				return err
			}
			if l.View().paused {
				l.miss()
				continue
			}
			l.take(b)
		}
	}
}

// sweepMissed adds a sweep if changes were missed.
func (l loop) sweepMissed() {
	var missed bool
	l.Update(func(c *Condition) { missed = c.pause.takeMissed() })
	if missed {
		l.Add(work.Task{Kind: work.Sweep, Priority: work.Soon})
	}
}

// take adds the work of one batch.
func (l loop) take(b watch.Batch) {
	if len(b.Paths) <= limiter.SaveMost {
		defer l.Limiter.Save()()
	}
	if dirs := l.polledSource(b); dirs != nil {
		l.Add(work.Task{Kind: work.Source, Priority: work.Soon, Paths: dirs})
		return
	}
	rules := slices.ContainsFunc(b.Paths, selection.DecidesFiles)
	// A folder that is moved away tells of none of its files.
	foldGone := slices.Contains(b.Paths, l.Record.FoldDir) && !l.foldThere()
	if b.Reconcile || rules || foldGone {
		if rules {
			l.relist.Store(true)
		}
		if b.Reason == "sweep" && l.putsOffSweep() {
			return
		}
		l.Add(work.Task{Kind: work.Sweep, Priority: work.Soon})
		if b.Reconcile {
			return
		}
	}
	var source, memories []string
	for _, p := range b.Paths {
		if strings.HasPrefix(p, ".git/") {
			continue // told of for what it says of other files
		}
		if rel, ok := l.belowFold(p); ok {
			memories = append(memories, rel)
		} else if p != l.Record.FoldDir {
			source = append(source, p)
		}
	}
	if len(memories) > 0 {
		if k := l.View().Repo; k != nil {
			committer(l).addSeen(k, memories)
		}
		l.addMemories(memories)
	}
	if len(source) > 0 {
		l.Add(work.Task{Kind: work.Source, Priority: work.Urgent, Paths: source})
	}
	if b.Git {
		l.Add(work.Task{Kind: work.Tip, Priority: work.Soon, Moved: true})
	}
}

// foldThere reports whether the folder of memories is there.
func (l loop) foldThere() bool {
	k := l.View().Repo
	if k == nil {
		return true // not known
	}
	_, err := os.Lstat(k.FoldPath)
	return !errors.Is(err, fs.ErrNotExist)
}

// putsOffSweep reports whether a sweep that only makes sure can wait until the
// stores are opened for something else.
func (l loop) putsOffSweep() (off bool) {
	if l.Slot.IsOpen() {
		return false
	}
	l.Update(func(c *Condition) { off = c.rest.putsOff(l.Now()) })
	return off
}

// polledSource returns the folders of source that b is to have compared, "." for
// all; nil if it is about something else too.
func (l loop) polledSource(b watch.Batch) []string {
	if b.Reason != "polling" || len(b.Dirs) == 0 || len(b.Paths) > 0 || b.Git {
		return nil
	}
	dirs := make([]string, len(b.Dirs))
	for i, d := range b.Dirs {
		if _, ok := l.belowFold(d); ok || d == l.Record.FoldDir {
			return nil // memories are compared by a sweep
		}
		dirs[i] = path.Clean(d)
	}
	return dirs
}

// belowFold returns p relative to the fold folder, if it lies there. The
// watcher reports paths of a fold folder outside the checkout under its name
// too.
func (l loop) belowFold(p string) (string, bool) {
	return strings.CutPrefix(p, l.Record.FoldDir+"/")
}

func (l loop) watch(ctx context.Context, k *RepoHandle) error {
	opt := watch.Options{Root: k.repo.WorkTree, Log: l.Log, Prune: l.prune, Dirs: k.Ingest.Dirs, Ignored: k.Ingest.Unwatched, Git: gitDirs(k), Files: l.files}
	if k.repo.WorkTree == "" { // bare: only the memories are there to watch
		opt.Root, opt.Dirs = k.repo.StateDir(), func(context.Context) ([]string, error) { return nil, nil }
		opt.Ignored = nil
	}
	opt.Extra = []watch.Tree{{Dir: k.FoldPath, Prefix: l.Record.FoldDir}}
	w := watch.New(opt)
	l.Update(func(c *Condition) { c.watcher = w })
	return w.Run(ctx, l.batches)
}

// prune keeps the watcher out of folders that nothing is indexed from, without
// asking git.
func (l loop) prune(dir string) bool {
	switch filepath.Base(dir) {
	case ".git", ".obsidian", ".trash":
		return true
	}
	k := l.View().Repo
	return k != nil && k.Ingest.Rules().PrunesDir(dir)
}

// files is how many source files the checkout has, for the pace of polling.
func (l loop) files() int {
	if k := l.View().Repo; k != nil {
		return k.Ingest.Listed()
	}
	return 0
}

// pauseEnds returns a channel that is ready when a pause is to end by itself, nil if
// none is.
func (l loop) pauseEnds() <-chan time.Time {
	if v := l.View(); v.paused && !v.until.IsZero() {
		return time.After(time.Until(v.until))
	}
	return nil
}

// extendPause has a pause that could not be ended last a while longer.
func (l loop) extendPause(d time.Duration) {
	l.Update(func(c *Condition) { c.pause.until = time.Now().Add(d) })
}

// SetPaused stops or resumes watching and committing, and remembers it.
func (co *Checkout) SetPaused(ctx context.Context, paused bool, until time.Time) error {
	if err := co.State.SetPaused(ctx, co.Record.Key, paused, until); err != nil {
		return err
	}
	co.Update(func(c *Condition) { c.pause.on, c.pause.until = paused, until })
	if k := co.View().Repo; k != nil {
		k.Store.HoldCommits(!co.wantsCommits())
	}
	co.Sync.Hold()
	Poke(co.Wake)
	if paused { // whoever asked for it finds the history at rest
		return committer{co}.rest(ctx)
	}
	Poke(co.commitWake)
	loop{co}.sweepMissed()
	return nil
}

// retryDue returns a channel that is ready when files are to be tried again, nil
// if none are.
func (l loop) retryDue() (due <-chan time.Time) {
	l.read(func(c *Condition) {
		if !c.Retries.At.IsZero() && !c.pause.on {
			due = time.After(time.Until(c.Retries.At))
		}
	})
	return due
}

// retryFailed adds the attempt that is due.
func (l loop) retryFailed() {
	l.Update(func(c *Condition) { c.Retries.At = time.Time{} }) // the attempt sets the next
	l.Add(work.Task{Kind: work.Retry, Priority: work.Later})
}
