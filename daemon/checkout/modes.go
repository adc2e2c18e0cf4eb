package checkout

import (
	"context"

	"github.com/foldwatch/foldwatch/gitops/usergit"
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

// A BranchState says which branches track the folder of memories.
type BranchState struct {
	Main     bool     // HEAD of the work tree in which the folder lies
	branches []string // all that do
}

// Tracking asks git which branches track the folder of memories (git.md G18).
func Tracking(ctx context.Context, l *usergit.Repo, foldDir string) (t BranchState, err error) {
	head, branches, err := l.TracksFold(ctx, foldDir)
	t = BranchState{head, branches}
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
