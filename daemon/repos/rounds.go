package repos

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/rounds"
	"github.com/foldwatch/foldwatch/gitops/transport"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
)

// Poll asks the remote whether others have pushed.
func (y *Sync) Poll(ctx context.Context) (moved bool, err error) {
	t := y.leader()
	if t == nil {
		return false, errSyncEnds
	}
	store := t.Memories()
	tip, err := store.Syncer().RemoteTip(ctx, y.options())
	if err != nil {
		return false, failed(err)
	}
	st, err := store.Syncer().State(ctx)
	return err == nil && tip != st.RemoteTip, err
}

// Round commits what is pending, brings memories and the remote together, and
// fetches what webhooks told of. What comes enters the index as any change in fold/
// does.
func (y *Sync) Round(ctx context.Context, in rounds.Ask) (out rounds.Outcome, err error) {
	t := y.leader()
	if t == nil {
		return out, errSyncEnds
	}
	t.Settle(ctx)
	if out, err = y.syncMemories(ctx, t, in); err == nil {
		err = y.fetchTold(ctx, t)
	}
	return out, err
}

// syncMemories is the part of Round that is about memories.
func (y *Sync) syncMemories(ctx context.Context, t Tree, in rounds.Ask) (out rounds.Outcome, err error) {
	store := t.Memories()
	before, err := store.Syncer().State(ctx)
	if err != nil {
		return out, err
	}
	if p, found, err := ProjectAt(t.FoldPath()); err == nil && found && p.Slug != t.Slug() {
		// A crash, or another project of that name, kept the project from being
		// renamed: under two names nothing is synced, or all would be there twice.
		return out, &RenamedError{p}
	}
	opt := y.options()
	opt.Publish, opt.Resync = in.Publish, in.Resync
	did, err := store.Syncer().Sync(ctx, opt)
	if did.Pushed {
		out.Published, out.Pushed = true, before.Unpushed
		if before.RemoteTip == "" && out.Pushed > 1 {
			out.Pushed-- // the project file is no memory
		}
	}
	out.Merged, out.Conflicts = did.Merged, did.Conflicts
	for _, p := range did.Paths {
		if p != conf.ProjectFile {
			out.Received++
		}
	}
	out.Received = max(0, out.Received-out.Merged)
	if did.Project != nil && did.Project.Slug != t.Slug() {
		return out, &RenamedError{*did.Project}
	}
	if err != nil {
		if bad, ok := errors.AsType[*transport.Error](err); ok && bad.Kind == transport.Guarded {
			t.CheckAll() // has the guard looked at, which holds the sync
		}
		return out, failed(err)
	}
	if len(did.Paths) > 0 || did.Pushed {
		if err := store.Mirror(ctx); err != nil && ctx.Err() == nil {
			t.Log().WarnContext(ctx, "History is behind", "why", "mirror not updated", "err", err)
		}
	}
	after, err := store.Syncer().State(ctx)
	out.Left = err == nil && after.Unpushed > 0
	return out, err
}

// failed says what an error of the transport means for the next round.
func failed(err error) error {
	if err == nil {
		return nil
	}
	bad, ok := errors.AsType[*transport.Error](err)
	if !ok {
		return err
	}
	kind := rounds.Kind(bad.Kind)
	switch bad.Kind {
	case transport.Untrusted:
		kind = rounds.Refused
	case transport.Guarded:
		kind = rounds.Guarded
	case transport.Missing:
		kind = rounds.Missing
	}
	return &rounds.Error{Kind: kind, RetryAfter: bad.RetryAfter, Err: err}
}

// fetchTold fetches the default branch of the remote where a webhook said that it
// moved, beside the user's repository. What came is read by a job.
func (y *Sync) fetchTold(ctx context.Context, t Tree) error {
	due, err := y.State.DueDeliveries(ctx, y.dir)
	if err != nil || len(due) == 0 {
		return err
	}
	name, tip, err := y.main.at(ctx, t.Repo())
	if err != nil {
		return err
	}
	var done []string
	moved, merged := false, false
	for _, d := range due {
		var in wire.Delivery
		_ = json.Unmarshal([]byte(d.Work), &in) // what cannot be read is done with
		if in.Merged == nil {
			done = append(done, d.IDs...)
		}
		merged = merged || in.Merged != nil
		moved = moved || in.Event == wire.EventTag || in.Ref == "refs/heads/"+name
	}
	if moved && tip != "" {
		was := t.Memories().Upstream().Fetched(name)
		is, err := t.Memories().Upstream().Fetch(ctx, name, tip, y.options().Transport())
		bad, _ := errors.AsType[*transport.Error](err)
		switch {
		case bad != nil && (bad.Kind == transport.Refused || bad.Kind == transport.Untrusted || bad.Kind == transport.Missing):
			// The user's own commits are at fault: memories are synced all the same.
			t.Note(aheadNotice, "the branch "+name+" of the remote is not fetched: "+bad.Error())
		case err != nil:
			return failed(err)
		default:
			t.Note(aheadNotice, "")
		}
		if err == nil && is.Tip != was.Tip {
			t.Log().InfoContext(ctx, "Default branch fetched", "branch", name, "rev", is.Tip)
		}
	}
	if moved || merged {
		t.TipMoved()
	}
	return y.State.DeliveriesDone(ctx, done)
}

// done keeps how a poll or round went, and tells whoever listens.
func (y *Sync) done(deed rounds.Deed, out rounds.Outcome, err error) {
	t := y.leader()
	if t == nil {
		return
	}
	ctx := context.Background()
	if to, ok := errors.AsType[*RenamedError](err); ok {
		t.Log().InfoContext(ctx, "Remote names the project", "to", to.To.Slug)
		t.Renamed()
		return
	}
	now := y.Now().UTC()
	y.mu.Lock()
	was := y.rec
	rec := was
	rec.Stopped, rec.Reason, rec.Hint = "", "", ""
	if err == nil {
		rec.Synced = now
		if deed == rounds.Round && !out.Left {
			rec.Behind = time.Time{}
		} else if out.Left && rec.Behind.IsZero() {
			rec.Behind = now
		}
	} else {
		rec.Reason, rec.Hint = err.Error(), fold.Hint(err)
		if bad, ok := errors.AsType[*rounds.Error](err); ok {
			switch bad.Kind {
			case rounds.Auth, rounds.Refused, rounds.Rewritten, rounds.Policy:
				rec.Stopped = string(bad.Kind)
			}
		}
	}
	y.rec = rec
	y.mu.Unlock()
	same := was
	same.Synced = rec.Synced
	if deed == rounds.Round || same != rec { // polls that find nothing write nothing
		if serr := y.State.SetSyncStatus(ctx, rec); serr != nil {
			t.Log().WarnContext(ctx, "Sync not noted", "err", serr)
		}
	}
	y.tell(ctx, t, deed, out, err, was.Reason != rec.Reason)
}

// tell publishes the event of a deed. A failure that goes on is told once.
func (y *Sync) tell(ctx context.Context, t Tree, deed rounds.Deed, out rounds.Outcome, err error, news bool) {
	switch {
	case err != nil && news:
		data := map[string]any{"error": err.Error()}
		bad, ok := errors.AsType[*rounds.Error](err)
		if ok {
			data["kind"] = string(bad.Kind)
		}
		y.Events.Publish("sync:failed", t.Slug(), data)
		level := slog.LevelWarn
		if bad != nil && bad.Kind == rounds.Guarded {
			level = slog.LevelInfo // nothing failed: memories are kept from loss
		}
		t.Log().Log(ctx, level, "Not synced", "err", err)
	case err == nil && deed == rounds.Round:
		y.Events.Publish("sync:completed", t.Slug(), map[string]any{"pushed": out.Pushed, "received": out.Received, "merged": out.Merged, "conflicts": out.Conflicts})
		if out.Pushed+out.Received+out.Merged > 0 {
			t.Log().InfoContext(ctx, "Synced", "pushed", out.Pushed, "received", out.Received, "merged", out.Merged, "conflicts", out.Conflicts)
		}
	}
}

// Load takes up what the user had turned on for the registered checkouts.
func (s *Syncs) Load(ctx context.Context, checkouts []state.Checkout) error {
	recs, err := s.opt.State.Syncs(ctx)
	for _, rec := range recs {
		if rec.OwnBranch {
			continue // a consent to what an earlier version did
		}
		if i := slices.IndexFunc(checkouts, func(c state.Checkout) bool { return c.CommonDir == rec.CommonDir }); i >= 0 {
			s.Of(rec.CommonDir).Turn(rec, checkouts[i].Slug, false)
		}
	}
	return err
}

// Turn turns the sync of the project called slug on as rec says, or off where that
// names no remote. Asked is that the caller goes on to ask for the first round.
func (y *Sync) Turn(rec state.Sync, slug string, asked bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.rec, y.runner = rec, nil
	if rec.Remote != "" {
		pace := y.Config.For(slug).Sync
		y.runner = rounds.NewRunner(y, rounds.Options{
			Limits: rounds.Limits{Poll: pace.Poll, Idle: pace.IdlePoll},
			Asked:  asked, Stopped: rounds.Kind(rec.Stopped), Done: y.done,
		})
	}
	close(y.turned)
	y.turned = make(chan struct{})
}
