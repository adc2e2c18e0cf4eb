package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/repos"
	"github.com/foldwatch/foldwatch/daemon/work"
	"github.com/foldwatch/foldwatch/gitops/usergit"
)

// behindMost is how long something may be unpushed before every command says so.
const behindMost = 24 * time.Hour

// holdsSync is why nothing may be synced for now; "" if it may.
func (co *checkout) holdsSync(k *repoHandle) string {
	switch {
	case co.view().paused:
		return "paused by the user"
	case !co.cfg.AutoCommit:
		return "auto_commit is off"
	}
	if k.tracked {
		return "memories are on your own branch now, and go with it"
	}
	if why := co.view().guarded; why != "" {
		return "the vanish guard is up: " + why
	}
	return ""
}

// repository tells how the sync of co stands, without waiting for anything.
func (co *checkout) repository(ctx context.Context) wire.Repository {
	return co.sync.Describe(ctx, wire.Repository{ID: co.rec.Key, Path: co.rec.Path, Remote: co.rec.RemoteURL}, co.rec.FoldDir, co.holdHint)
}

// holdHint is the command that ends what holds the sync.
func (co *checkout) holdHint() string {
	k := co.view().repo
	switch {
	case co.view().paused:
		return "foldwatch resume -p " + co.rec.Slug
	case !co.cfg.AutoCommit:
		return "set auto_commit = true in the user file: foldwatch config show --origin"
	}
	if k != nil && k.tracked {
		return "foldwatch sync off"
	}
	if co.view().guarded != "" {
		return "the memories come back by themselves, and then the sync goes on; foldwatch status says what is waited for"
	}
	return "foldwatch status"
}

// overdue is what every command says about the sync: that only the user can get it
// going, or that something was not pushed for a day. "" if neither is so.
func (co *checkout) overdue(ctx context.Context) string {
	r := co.repository(ctx)
	name := "sync of " + co.rec.Slug
	switch {
	case r.Sync == "paused" && r.Reason != "" && r.Hint != "" && !co.view().paused:
		return fmt.Sprintf("%s is paused: %s; %s", name, r.Reason, r.Hint)
	case r.UnpushedSince != nil && co.now().Sub(*r.UnpushedSince) > behindMost:
		why := ""
		if r.Reason != "" {
			why = ": " + r.Reason
		}
		return fmt.Sprintf("%s: %d memories are not pushed since %s%s; to try now: foldwatch sync -p %s",
			name, r.Unpushed, r.UnpushedSince.Format(time.DateTime), why, co.rec.Slug)
	}
	return ""
}

// A syncTree is a checkout that is open, for its sync.
type syncTree struct {
	co *checkout
	k  *repoHandle
}

func (t syncTree) Slug() string               { return t.co.rec.Slug }
func (t syncTree) FoldPath() string           { return t.k.foldPath }
func (t syncTree) Repo() *usergit.Repo        { return t.k.layout }
func (t syncTree) Memories() *repos.Store     { return t.k.store }
func (t syncTree) Settle(ctx context.Context) { t.co.commits.settle(ctx, t.k) }
func (t syncTree) CheckAll()                  { t.co.commits.addAll() }
func (t syncTree) TipMoved() {
	t.co.add(work.Task{Kind: work.Tip, Priority: work.Soon, Moved: true})
}
func (t syncTree) Held() string              { return t.co.holdsSync(t.k) }
func (t syncTree) Note(subject, text string) { t.co.note(subject, text) }

func (t syncTree) Renamed() {
	t.co.errand(func(ctx context.Context) {
		if err := t.co.parts.rename(ctx, t.co.rec.Key); err != nil {
			t.co.log.WarnContext(ctx, "Project not renamed", "err", err)
		}
	})
}

// errand has the daemon do what a checkout cannot, such as ending itself.
func (co *checkout) errand(do func(context.Context)) {
	go func() {
		select {
		case co.errands <- do:
		case <-co.stopped:
		}
	}()
}
