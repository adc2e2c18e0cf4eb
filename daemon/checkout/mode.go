package checkout

import (
	"context"
	"fmt"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/repos"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
)

// How the checkouts of a repository keep their memories (git.md): beside the user's
// history, in a repository of our own, or in that history, where people commit them. The
// mode is registered with each checkout and is the same for all of a repository. It
// changes by the user's word, or once by itself: see checkTracking.
const (
	ModeSidecar = "sidecar"
	ModeTracked = "tracked"
)

// ModeOf is the mode that is registered for a checkout. What else may stand there was
// written by an earlier version: branch, and auto, which is sidecar until HEAD is first
// seen to track fold/. "" is the same.
func ModeOf(rec state.Checkout) string {
	switch rec.CommitTo {
	case ModeTracked, "branch":
		return ModeTracked
	}
	return ModeSidecar
}

// mayFollow reports whether nobody has said yet which mode a checkout is to have.
func mayFollow(rec state.Checkout) bool { return rec.CommitTo == "" || rec.CommitTo == "auto" }

// MayUntrack returns why the checkout must stay in tracked mode for now: only tracked mode
// tells of memories that git took away, and in sidecar mode a linked work tree has the
// fold/ of the main one, which lacks what it has not committed.
func (co *Checkout) MayUntrack(ctx context.Context) error {
	st, err := co.Acquire(ctx)
	if err != nil {
		return err
	}
	defer st.Release()
	waiting, lost, err := st.Store.AwaitingCommit(ctx)
	if err != nil {
		return err
	}
	leftOut, err := st.Store.LeftOut(ctx)
	switch {
	case err != nil:
		return err
	case leftOut > 0:
		return fold.WithHint(fmt.Errorf("%d files of %s are left out of the work tree %s by a sparse checkout, and untrack would record them as deleted: %w", leftOut, co.Record.FoldDir, co.Record.Path, fold.ErrConflict),
			"git sparse-checkout disable, or git sparse-checkout add "+co.Record.FoldDir+"; then untrack again")
	case lost > 0:
		return fold.WithHint(fmt.Errorf("%d memories written in %s are lost, and untrack would end the matter: %w", lost, co.Record.Path, fold.ErrConflict),
			"in that folder: foldwatch restore --lost lists them, restore ID brings one back, restore --lost --forget gives them up")
	case co.Record.Linked && waiting > 0:
		return fold.WithHint(fmt.Errorf("%d memories of the work tree %s are not committed, and it would share those of the main work tree: %w", waiting, co.Record.Path, fold.ErrConflict),
			"in that folder: foldwatch commit; then untrack again")
	}
	return nil
}

// tracked says which branches track the folder of memories.
type tracked struct {
	Main     bool     // HEAD of the work tree in which the folder lies
	branches []string // all that do
}

// Tracking asks git which branches track the folder of memories (git.md G18).
func Tracking(ctx context.Context, l *usergit.Repo, foldDir string) (t tracked, err error) {
	head, branches, err := l.TracksFold(ctx, foldDir)
	t = tracked{head, branches}
	if err != nil || !l.Linked || l.MainTree == "" {
		return t, err
	}
	main, err := usergit.Locate(ctx, l.MainTree)
	if err != nil {
		return t, err
	}
	t.Main, _, err = main.TracksFold(ctx, foldDir)
	return t, err
}

// follows reports whether a checkout goes over to tracked mode by itself: HEAD tracks a
// fold/ that is ours, for the first time since it was registered.
func (co *Checkout) follows(t tracked, foldPath string) bool {
	if !t.Main || !mayFollow(co.View().Record) {
		return false
	}
	_, ours, err := repos.ProjectAt(foldPath)
	return err == nil && ours
}

// ModeNotice is the subject of what is said where a checkout has gone over by itself.
const ModeNotice = "mode"

// goOver registers tracked mode for a checkout that is being opened, and has the others
// of its repository follow.
func (co *Checkout) goOver(ctx context.Context) error {
	co.Update(func(c *Condition) { c.Record.CommitTo = ModeTracked })
	if err := co.Shared.State.PutCheckout(ctx, co.View().Record); err != nil {
		return err
	}
	co.Note(ModeNotice, fmt.Sprintf("your branch tracks %s/, so its memories are yours to commit, pull and push with the branch: foldwatch commit helps. "+
		"To have them kept beside the branch instead: foldwatch untrack", co.Record.FoldDir))
	co.errand(func(ctx context.Context) {
		if err := co.Shared.Track(ctx, co); err != nil {
			co.Log.WarnContext(ctx, "Mode not changed", "err", err)
		}
	})
	return nil
}

// checkTracking follows which branches track fold/ (git.md G18), and what of the
// acknowledged memories the user's git has taken (T4).
func (co *Checkout) checkTracking(ctx context.Context, st *Stores) error {
	st.heads = st.headStamps()
	if st.Tracked {
		co.FindLost(ctx, st.RepoHandle)
		co.noteDriver(st.RepoHandle)
		return nil
	}
	t, err := Tracking(ctx, st.repo, co.Record.FoldDir)
	if err != nil {
		return err
	}
	if co.follows(t, st.FoldPath) {
		if err := co.goOver(ctx); err != nil {
			return err
		}
		co.restart()
		return nil
	}
	co.noteTracked(st.RepoHandle, t)
	return nil
}

// noteTracked says what the user should know of branches that track fold/.
func (co *Checkout) noteTracked(k *RepoHandle, t tracked) {
	text := ""
	if !k.Tracked && len(t.branches) > 0 {
		text = fmt.Sprintf("branch %s tracks %s/: switching to it lets git overwrite memories; the journal keeps every version. "+
			"Ways out: foldwatch track, or git rm -r --cached %s on that branch", t.branches[0], co.Record.FoldDir, co.Record.FoldDir)
	}
	co.Note("tracked", text)
	co.noteDriver(k)
}

// DriverNotice is the subject of what noteDriver says.
const DriverNotice = "merge driver"

// noteDriver offers, in tracked mode, to have git merge memories by their meaning
// (git.md T5). The command is the user's to run: we write no configuration of git.
func (co *Checkout) noteDriver(k *RepoHandle) {
	text := ""
	if k.Tracked {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		merges, err := k.repo.MergesMemories(ctx, co.Record.FoldDir)
		if err != nil {
			co.Log.Warn("Merge driver not looked for", "err", err)
			return
		}
		if !merges {
			text = "git merges memories line by line here, and so may leave conflicts in them. To have it merge them as foldwatch does: foldwatch merge-driver install"
		}
	}
	co.Note(DriverNotice, text)
}

// mode is what status calls the mode of the checkout.
func (k *RepoHandle) mode() string {
	if k.Tracked {
		return ModeTracked
	}
	return ModeSidecar
}

// LostNotice is the subject of what findLost says.
const LostNotice = "lost"

// FindLost looks which acknowledged memories are nowhere any more (git.md T4), and says
// so: they are brought back, or forgotten, by the user only.
func (co *Checkout) FindLost(ctx context.Context, k *RepoHandle) {
	if !k.Tracked {
		return
	}
	n, err := k.Store.FindLost(ctx)
	if err != nil {
		if ctx.Err() == nil {
			co.Log.WarnContext(ctx, "Lost memories not looked for", "err", err)
		}
		return
	}
	text := ""
	if n > 0 {
		what := "1 memory that was written here is gone: git took it away before it was committed"
		if n > 1 {
			what = fmt.Sprintf("%d memories that were written here are gone: git took them away before they were committed", n)
		}
		text = what + ". To list what is lost: foldwatch restore --lost"
	}
	co.Note(LostNotice, text)
}

// blockedInTracked is why a write of tracked mode is not committed yet.
const blockedInTracked = "not committed yet: foldwatch commit, or git commit, does that"

// InHistory completes what is said of a memory in tracked mode, whose file at path has
// the bytes b: HEAD has them or not, and so has the remote's branch.
func (k *RepoHandle) InHistory(ctx context.Context, path string, b []byte, state *wire.WriteState) {
	committed, pushed, err := k.Store.InUserHistory(ctx, path, b)
	state.Committed, state.Pushed = err == nil && committed, err == nil && pushed
	if err == nil && !committed && state.BlockedReason == "" {
		state.BlockedReason = blockedInTracked
	}
}
