package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/rounds"
	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/conf"
)

// pullMost bounds how long a sync that had to leave the branch alone waits until it
// looks again by itself.
const pullMost = 10 * time.Minute

// branchRound is Round where memories are on the user's own branch: what is pending is
// committed onto it, and branch and remote are brought together as far as that is ours
// to do (git.md B7). What is not is no failure: the round says why, and the next is
// made when git rests, the remote moves, or we have something new.
func (y *syncing) branchRound(ctx context.Context, co *checkout, k *standing, in rounds.Ask) (out rounds.Outcome, err error) {
	co.commits.ontoBranch(ctx, k)
	store, opt := k.sidecar.store, y.options()
	opt.Publish, opt.Resync = in.Publish, in.Resync
	did, err := store.SyncBranch(ctx, opt)
	out.Published, out.Pushed = did.Pushed, did.Sent
	out.Merged, out.Conflicts = did.Merged, did.Conflicts
	for _, p := range did.Paths {
		if p != conf.ProjectFile {
			out.Received++
		}
	}
	out.Received = max(0, out.Received-out.Merged)
	co.commits.noteSynced(did)
	if err != nil {
		if bad, ok := errors.AsType[*gitops.SyncError](err); ok && bad.Kind == gitops.SyncGuarded {
			co.commits.addAll() // has the guard looked at, which holds the sync
		}
		return out, failed(err)
	}
	if len(did.Paths) > 0 {
		co.commits.warn(ctx, "mirror not updated", store.Mirror(ctx))
	}
	after, err := store.BranchState(ctx)
	out.Left = err == nil && after.Unpushed > 0
	return out, err
}

// noteSynced keeps why branch and remote are not in step, and has the committer look
// when they may be brought so.
func (c *committer) noteSynced(did gitops.BranchSynced) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.branch.remote, c.branch.pull = did.Wait, time.Time{}
	if did.Branch != "" {
		c.branch.name = did.Branch
	}
	if did.Wait.Waits() && !did.Yours {
		c.branch.pull = time.Now().Add(min(max(did.Wait.After, time.Second), pullMost))
		c.nudge()
	}
}

// ownBranch tells in r how the sync of the user's own branch stands.
func (co *checkout) ownBranch(ctx context.Context, k *standing, r *wire.Repository) {
	st, err := k.sidecar.store.BranchState(ctx)
	if err != nil {
		co.log.WarnContext(ctx, "Branch not compared with the remote", "err", err)
		return
	}
	r.LastPush, r.Unpushed, r.Theirs = timeOrNil(st.Pushed), st.Unpushed, len(st.Theirs)
	c := co.commits
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Branch = c.branch.name; st.Branch != "" {
		r.Branch = st.Branch
	}
	if w := c.branch.remote; r.Reason == "" && w.Waits() {
		r.Reason, r.Hint = w.Reason, w.Hint
	}
}

// onRemote reports whether the remote's branch, as it was last seen, holds a memory.
func (k *standing) onRemote(ctx context.Context, path string, b []byte) (bool, error) {
	if k.isOnto() {
		return k.sidecar.store.OnRemoteBranch(ctx, path, b)
	}
	return k.sidecar.store.OnRemote(path, b)
}
