package checkout

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// How long changes in fold/ settle before they are committed (git.md G4, G7),
// how old the mirror may get, and how often the journal becomes one commit of
// the published branch.
const (
	settleMost  = time.Second
	crowdMost   = 5 * time.Second // where a crowd of searches waits: fewer commits make fewer trees
	mirrorAfter = 30 * time.Second
	squashEvery = 24 * time.Hour
	guardLook   = 5 * time.Second // between looks at files that vanished
)

// A committer turns settled changes of one fold folder into journal commits,
// and keeps the mirror and the daily commit. Nothing ticks while nothing
// changes.
type committer struct{ *Checkout }

// addSeen notes what the watcher saw. Of a folder that came, the files in it are
// taken; of one that went, nobody knows any more what it held.
func (c committer) addSeen(k *RepoHandle, paths []string) {
	for _, p := range paths {
		if fold.ValidPath(p) == nil || disk.IsTemp(p) || path.Ext(p) != "" {
			if _, err := k.fold.Lstat(p); errors.Is(err, fs.ErrNotExist) && !disk.IsTemp(p) {
				k.Store.SawGone(p)
				c.toCommit((*uncommitted).sawGone)
			}
			c.changed([]string{p})
			continue
		}
		files, err := k.filesBelow(p)
		if err != nil {
			c.toCommit((*uncommitted).sawGone)
			c.compareAll()
			return
		}
		c.changed(files)
	}
}

// due returns when the pending changes shall be committed; false if there are
// none.
func (c committer) due() (at time.Time, some bool) {
	longest, quiet := settleMost, c.Config.Commit.Quiet
	if quiet <= 0 {
		quiet = 300 * time.Millisecond
	}
	if c.Limiter.Crowded() {
		longest = crowdMost
	}
	c.read(func(co *Condition) { at, some = co.history.due(quiet, longest) })
	return at, some
}

// rest waits until the commit that is being made has ended. One that begins later
// minds what the user wants by then.
func (c committer) rest(ctx context.Context) error {
	select {
	case c.committing <- struct{}{}:
		<-c.committing
		return nil
	case <-ctx.Done():
		return fmt.Errorf("a commit is being made: %w", fold.ErrUnavailable)
	}
}

// run commits until ctx ends, and then what is still pending, so that a clean
// stop leaves nothing to do.
func (c committer) run(ctx context.Context, k *RepoHandle) error {
	var mirror <-chan time.Time
	squash := time.NewTimer(c.untilSquash(k))
	defer squash.Stop()
	for {
		var commit <-chan time.Time
		if at, ok := c.due(); ok && c.wantsCommits() {
			commit = time.After(time.Until(at))
		}
		select {
		case <-ctx.Done():
			c.finish(k)
			return ctx.Err()
		case <-c.commitWake:
			var lost bool
			c.Update(func(co *Condition) { lost = co.history.takeLost() })
			if lost {
				c.FindLost(ctx, k)
			}
		case <-commit:
			if c.commit(ctx, k) && mirror == nil {
				mirror = time.After(mirrorAfter)
			}
		case <-mirror:
			mirror = nil
			c.warn(ctx, "mirror not updated", k.Store.Mirror(ctx))
		case <-squash.C:
			c.squash(ctx, k)
			squash.Reset(squashEvery)
		}
	}
}

// finish commits and mirrors within the five seconds a stop may take.
func (c committer) finish(k *RepoHandle) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if c.wantsCommits() {
		c.commit(ctx, k)
	}
	c.warn(ctx, "mirror not updated", k.Store.Mirror(ctx))
}

func (c committer) warn(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		c.Log.WarnContext(ctx, "History is behind", "why", what, "err", err)
	}
}

// commit takes what is pending into the journal. It reports whether a commit
// was made.
func (c committer) commit(ctx context.Context, k *RepoHandle) bool {
	c.committing <- struct{}{}
	defer func() { <-c.committing }()
	if !c.wantsCommits() || c.guard(ctx, k) {
		return false
	}
	var paths []string
	var all bool
	c.Update(func(co *Condition) { paths, all = co.history.take() })
	var res gitops.Recorded
	var err error
	if all {
		c.Count.foldScans.Add(1)
		res, err = k.Store.CommitAll(ctx)
	} else {
		res, err = k.Store.Commit(ctx, paths, "")
	}
	if err != nil && !k.Store.Present() {
		c.restart() // another checkout stands there now: it is opened instead
		return false
	}
	if err != nil {
		c.Log.WarnContext(ctx, "Not committed", "err", err)
		c.Note("commit", "memories are not committed: "+err.Error()+"; they are safe on disk and in the log, and it is tried again")
		c.Update(func(co *Condition) { co.history.putBack(time.Now(), paths, all, 10*time.Second) })
		return false
	}
	c.Note("commit", "")
	c.toCommit(func(todo *uncommitted, now time.Time) {
		switch {
		case res.Later:
			todo.putBack(now, paths, all, time.Second)
			return
		case res.Guarded:
			todo.lookAt(now.Add(guardLook))
		case k.Tracked: // also what the journal does not take for a deletion may be lost
			todo.lost = true
		}
		todo.unsettled(now, res.Unsettled)
	})
	if res.Later || res.Guarded || res.Oid == "" {
		return false
	}
	c.Count.commits.Add(1)
	if !k.Tracked {
		c.Sync.Changed()
	}
	c.Events.Publish("memory:committed", c.Record.Slug, map[string]any{"rev": res.Oid, "count": len(res.Written) + len(res.Removed)})
	return true
}

// guard reports whether memory files vanished that may come back (git.md G8),
// and restores them when git has been quiet for long enough.
func (c committer) guard(ctx context.Context, k *RepoHandle) bool {
	v, err := k.Store.Guard(ctx)
	if err != nil {
		c.warn(ctx, "vanish guard failed", err)
		return false
	}
	why := ""
	if v.Guarded {
		why = v.Reason
	}
	c.Update(func(co *Condition) { co.history.guarded = why })
	c.Sync.Hold()
	if !v.Guarded {
		c.Note("vanished", "")
		return false
	}
	text := fmt.Sprintf("%s; nothing of it is committed or given up: the files are restored by themselves", v.Reason)
	if v.Waits != "" {
		text += " (" + v.Waits + ")"
	}
	c.Note("vanished", text+". If they were meant to go: foldwatch memory rm --missing")
	if v.Waits == "" {
		c.restore(ctx, k)
		return false
	}
	c.toCommit(func(todo *uncommitted, now time.Time) { todo.lookAt(now.Add(guardLook)) })
	return true
}

// restore brings vanished files back.
func (c committer) restore(ctx context.Context, k *RepoHandle) {
	if _, err := k.Store.RestoreVanished(ctx); err != nil { // which logs what it did
		c.warn(ctx, "vanished memories not restored", err)
		return
	}
	c.unguard()
}

// unguard is told that the guard was lowered: commits and syncs go on at once.
func (c committer) unguard() {
	c.Note("vanished", "")
	c.toCommit(func(todo *uncommitted, _ time.Time) { todo.lower() })
	c.Sync.Hold()
}

// settleAtMost is how long a sync waits for files that are just being written, or
// have just gone, and settleLook how often it looks.
const (
	settleAtMost = goneQuiet + time.Second
	settleLook   = 100 * time.Millisecond
)

// settle commits what is pending, so that a sync has it. Files that are still being
// written, and deletions that may be the first of many, are waited for, within
// bounds.
func (c committer) settle(ctx context.Context, k *RepoHandle) {
	late := time.NewTimer(settleAtMost)
	defer late.Stop()
	for c.wantsCommits() {
		c.commit(ctx, k)
		var left bool
		c.read(func(co *Condition) { left = co.history.some() })
		if !left {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-late.C:
			return
		case <-time.After(settleLook):
		}
	}
}

// untilSquash is how long until the next daily commit.
func (c committer) untilSquash(k *RepoHandle) time.Duration {
	last, err := k.Store.Syncer().SquashedAt()
	if err != nil || last.IsZero() {
		return time.Minute
	}
	return max(time.Minute, last.Add(squashEvery).Sub(c.Now()))
}

func (c committer) squash(ctx context.Context, k *RepoHandle) {
	if k.Tracked { // the journal stays here
		_, err := k.Store.Repack(ctx)
		c.warn(ctx, "history not repacked", err)
		return
	}
	if _, err := k.Store.Syncer().Squash(ctx); err != nil {
		c.warn(ctx, "daily commit failed", err)
		return
	}
	_, err := k.Store.Repack(ctx)
	c.warn(ctx, "history not repacked", err)
}

// Unguard is told that the vanish guard was lowered: commits and syncs go on at once.
func (co *Checkout) Unguard() { committer{co}.unguard() }
