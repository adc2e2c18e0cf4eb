package checkout

import (
	"context"
	"fmt"
	"time"

	"github.com/foldwatch/foldwatch/daemon/repos"
	"github.com/foldwatch/foldwatch/meta/fold"
)

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

// follows reports whether a checkout goes over to tracked mode by itself: HEAD tracks a
// fold/ that is ours, for the first time since it was registered.
func (co *Checkout) follows(t BranchState, foldPath string) bool {
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
	if err := co.State.PutCheckout(ctx, co.View().Record); err != nil {
		return err
	}
	co.Note(ModeNotice, fmt.Sprintf("your branch tracks %s/, so its memories are yours to commit, pull and push with the branch: foldwatch commit helps. "+
		"To have them kept beside the branch instead: foldwatch untrack", co.Record.FoldDir))
	co.Registry.Tracked(co.Record.Key)
	return nil
}

// checkTracking follows which branches track fold/ (git.md G18), and what of the
// acknowledged memories the user's git has taken (T4).
func (w worker) checkTracking(ctx context.Context, st *Stores) error {
	st.heads = st.headStamps()
	if st.Tracked {
		w.FindLost(ctx, st.RepoHandle)
		w.noteDriver(st.RepoHandle)
		return nil
	}
	t, err := Tracking(ctx, st.repo, w.Record.FoldDir)
	if err != nil {
		return err
	}
	if w.follows(t, st.FoldPath) {
		if err := w.goOver(ctx); err != nil {
			return err
		}
		w.restart()
		return nil
	}
	w.noteTracked(st.RepoHandle, t)
	return nil
}

// noteTracked says what the user should know of branches that track fold/.
func (co *Checkout) noteTracked(k *RepoHandle, t BranchState) {
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
