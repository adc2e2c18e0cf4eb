package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/foldwatch/foldwatch/gitops/usergit"
)

// How a checkout keeps its memories (git.md).
const (
	modeSidecar = "sidecar" // in a repository of our own, beside the user's history
	modeTracked = "tracked" // in the user's history: they commit them
)

// tracked says which branches track the folder of memories.
type tracked struct {
	main     bool     // HEAD of the work tree in which the folder lies
	branches []string // all that do
}

// tracking asks git which branches track the folder of memories (git.md G18).
func tracking(ctx context.Context, l *usergit.Repo, foldDir string) (t tracked, err error) {
	head, branches, err := l.TracksFold(ctx, foldDir)
	t = tracked{head, branches}
	if err != nil || !l.Linked {
		return t, err
	}
	if l.MainTree == "" { // bare: fold/ lies in the git directory
		t.main = false
		return t, nil
	}
	main, err := usergit.Locate(ctx, l.MainTree)
	if err != nil {
		return t, err
	}
	t.main, _, err = main.TracksFold(ctx, foldDir)
	return t, err
}

// isTracked reports whether the checkout is in tracked mode.
func (co *checkout) isTracked(t tracked) bool {
	switch co.record().CommitTo {
	case modeTracked, "branch":
		return true
	case modeSidecar:
		return false
	}
	return t.main
}

// checkTracking follows which branches track fold/ (git.md G18).
func (co *checkout) checkTracking(ctx context.Context, st *stores) error {
	st.heads = st.headStamps()
	t, err := tracking(ctx, st.layout, co.rec.FoldDir)
	if err != nil {
		return err
	}
	co.noteTracked(st.standing, t)
	return nil
}

// noteTracked says what the user should know of branches that track fold/.
func (co *checkout) noteTracked(k *standing, t tracked) {
	text := ""
	if !k.tracked && len(t.branches) > 0 {
		text = fmt.Sprintf("branch %s tracks %s/: switching to it lets git overwrite memories; the journal keeps every version. "+
			"Ways out: git rm -r --cached %s on that branch, or register with --fold-dir NAME", t.branches[0], co.rec.FoldDir, co.rec.FoldDir)
	}
	co.note("tracked", text)
	co.noteDriver(k)
}

// driverNotice is the subject of what noteDriver says.
const driverNotice = "merge driver"

// noteDriver offers, in tracked mode, to have git merge memories by their meaning
// (git.md T5). The command is the user's to run: we write no configuration of git.
func (co *checkout) noteDriver(k *standing) {
	text := ""
	if k.tracked {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		merges, err := k.layout.MergesMemories(ctx, co.rec.FoldDir)
		if err != nil {
			co.log.Warn("Merge driver not looked for", "err", err)
			return
		}
		if !merges {
			text = "git merges memories line by line here, and so may leave conflicts in them. To have it merge them as foldwatch does: foldwatch merge-driver install"
		}
	}
	co.note(driverNotice, text)
}

// mode is what status calls the mode of the checkout.
func (k *standing) mode() string {
	if k.tracked {
		return modeTracked
	}
	return modeSidecar
}
