package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
	c.branch.remote, c.branch.yours, c.branch.pull = did.Wait, did.Yours, time.Time{}
	if did.Branch != "" {
		c.branch.name = did.Branch
	}
	if did.Wait.Waits() && !did.Yours {
		c.branch.pull = time.Now().Add(min(max(did.Wait.After, time.Second), pullMost))
		c.nudge()
	}
}

// notPushed says why memories are not pushed although the branch and the remote's are
// in step, and what ends that: they are not on the branch yet.
func (c *committer) notPushed(dir string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, name := c.branch.wait, firstOf(c.branch.name, "the branch")
	if !w.Waits() {
		return []string{"not pushed yet: they are about to be committed onto " + name + ", and are pushed then by themselves"}
	}
	notices := []string{fmt.Sprintf("not pushed yet: they are not committed onto %s: %s", name, w.Reason)}
	if w.Hint != "" {
		return append(notices, "to go on: "+w.Hint)
	}
	return append(notices, fmt.Sprintf("that, and the push, follow by themselves; at once if you do it: git add %s && git commit && git push", dir))
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
	if r.Branch = c.branch.name; st.Branch != "" {
		r.Branch = st.Branch
	}
	w, ended := c.branch.remote, false
	if c.branch.yours {
		w, ended = standsNow(w, st)
	}
	if r.Reason == "" && w.Waits() {
		r.Reason, r.Hint = w.Reason, w.Hint
	}
	c.mu.Unlock()
	if ended {
		co.sync.Told()
	}
}

// waitsForUser reports whether branch and remote are not in step until the user acts.
func (c *committer) waitsForUser() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.branch.yours && c.branch.remote.Waits()
}

// standsNow is what is left of a wait that the user ends with git, and whether it is not
// what the last sync said: a pull, or a push, may have come since.
func standsNow(w gitops.Wait, st gitops.BranchState) (gitops.Wait, bool) {
	pulls, pushes := strings.HasPrefix(w.Hint, "git pull"), strings.HasSuffix(w.Hint, "git push")
	switch {
	case pulls && !st.Pulled, !pulls && !pushes, !pulls && !st.Level:
		return w, false
	case pulls && pushes && !st.Level:
		return gitops.Wait{Reason: st.Branch + " has commits of yours that the remote has not", Hint: "git push"}, true
	}
	return gitops.Wait{}, true
}

// onRemote reports whether the remote's branch, as it was last seen, holds a memory.
func (k *standing) onRemote(ctx context.Context, path string, b []byte) (bool, error) {
	if k.isOnto() {
		return k.sidecar.store.OnRemoteBranch(ctx, path, b)
	}
	return k.sidecar.store.OnRemote(path, b)
}
