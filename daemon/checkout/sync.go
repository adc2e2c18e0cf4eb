package checkout

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/repos"
	"github.com/foldwatch/foldwatch/daemon/work"
	"github.com/foldwatch/foldwatch/gitops/usergit"
)

// behindMost is how long something may be unpushed before every command says so.
const behindMost = 24 * time.Hour

// holdsSync is why nothing may be synced for now; "" if it may.
func (co *Checkout) holdsSync(k *RepoHandle) string {
	switch {
	case co.View().paused:
		return "paused by the user"
	case !co.Config.AutoCommit:
		return "auto_commit is off"
	}
	if k.Tracked {
		return "memories are on your own branch now, and go with it"
	}
	if why := co.View().guarded; why != "" {
		return "the vanish guard is up: " + why
	}
	return ""
}

// Repository tells how the sync of co stands, without waiting for anything.
func (co *Checkout) Repository(ctx context.Context) wire.Repository {
	return co.Sync.Describe(ctx, wire.Repository{ID: co.Record.Key, Path: co.Record.Path, Remote: co.Record.RemoteURL}, co.Record.FoldDir, co.HoldHint)
}

// HoldHint is the command that ends what holds the sync.
func (co *Checkout) HoldHint() string {
	k := co.View().Repo
	switch {
	case co.View().paused:
		return "foldwatch resume -p " + co.Record.Slug
	case !co.Config.AutoCommit:
		return "set auto_commit = true in the user file: foldwatch config show --origin"
	}
	if k != nil && k.Tracked {
		return "foldwatch sync off"
	}
	if co.View().guarded != "" {
		return "the memories come back by themselves, and then the sync goes on; foldwatch status says what is waited for"
	}
	return "foldwatch status"
}

// Overdue is what every command says about the sync: that only the user can get it
// going, or that something was not pushed for a day. "" if neither is so.
func (co *Checkout) Overdue(ctx context.Context) string {
	r := co.Repository(ctx)
	name := "sync of " + co.Record.Slug
	switch {
	case r.Sync == "paused" && r.Reason != "" && r.Hint != "" && !co.View().paused:
		return fmt.Sprintf("%s is paused: %s; %s", name, r.Reason, r.Hint)
	case r.UnpushedSince != nil && co.Now().Sub(*r.UnpushedSince) > behindMost:
		why := ""
		if r.Reason != "" {
			why = ": " + r.Reason
		}
		return fmt.Sprintf("%s: %d memories are not pushed since %s%s; to try now: foldwatch sync -p %s",
			name, r.Unpushed, r.UnpushedSince.Format(time.DateTime), why, co.Record.Slug)
	}
	return ""
}

// A syncTree is a checkout that is open, for its sync.
type syncTree struct {
	co *Checkout
	k  *RepoHandle
}

func (t syncTree) Log() *slog.Logger          { return t.co.Log }
func (t syncTree) Slug() string               { return t.co.Record.Slug }
func (t syncTree) FoldPath() string           { return t.k.FoldPath }
func (t syncTree) Repo() *usergit.Repo        { return t.k.repo }
func (t syncTree) Memories() *repos.Store     { return t.k.Store }
func (t syncTree) Settle(ctx context.Context) { committer{t.co}.settle(ctx, t.k) }
func (t syncTree) CheckAll()                  { t.co.compareAll() }
func (t syncTree) TipMoved() {
	t.co.Add(work.Task{Kind: work.Tip, Priority: work.Soon, Moved: true})
}
func (t syncTree) Held() string              { return t.co.holdsSync(t.k) }
func (t syncTree) Note(subject, text string) { t.co.Note(subject, text) }

func (t syncTree) Renamed() { t.co.Registry.Renamed(t.co.Record.Key) }
