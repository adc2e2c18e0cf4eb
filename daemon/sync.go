package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/rounds"
	"github.com/foldwatch/foldwatch/gitops/gitsync"
	"github.com/foldwatch/foldwatch/gitops/transport"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
)

// behindMost is how long something may be unpushed before every command says so.
const behindMost = 24 * time.Hour

// usedEvery is how often a sync is told that its project is worked on.
const usedEvery = 10 * time.Second

// A syncing keeps one fold/ in step with its remote, for all work trees of a
// repository: they share it. It does nothing before the user has turned it on
// (git.md G17), and its rounds hold up neither searches nor writes. It is safe for
// concurrent use, and is the rounds.Remote of its runner.
type syncing struct {
	*parts
	dir  string        // common git directory
	lead chan struct{} // held, by an element in it, by the checkout that makes the rounds

	told atomic.Int64 // when the runner was last told of use, in Unix seconds
	main defaultBranch

	mu     sync.Mutex     // guards the fields below
	rec    state.Sync     // as registered; Remote is "" while it is off
	runner *rounds.Runner // nil while it is off
	turned chan struct{}  // closed when rec.Remote changes
	co     *checkout      // that makes the rounds; nil if none is open
	kept   *repoHandle    // of co
}

// A renamedError says that the remote calls the project by another slug: it goes on
// under that, see Daemon.rename.
type renamedError struct{ to conf.Project }

func (e *renamedError) Error() string { return "the remote calls the project " + e.to.Slug }

// syncOf returns the sync of the repository with the common git directory dir.
func (p *parts) syncOf(dir string) *syncing {
	p.syncsMu.Lock()
	defer p.syncsMu.Unlock()
	y := p.syncs[dir]
	if y == nil {
		y = &syncing{parts: p, dir: dir, lead: make(chan struct{}, 1), turned: make(chan struct{})}
		p.syncs[dir] = y
	}
	return y
}

// loadSyncs takes up what the user had turned on for the registered checkouts.
func (p *parts) loadSyncs(ctx context.Context, checkouts []state.Checkout) error {
	recs, err := p.state.Syncs(ctx)
	for _, rec := range recs {
		if rec.OwnBranch {
			continue // a consent to what an earlier version did
		}
		if i := slices.IndexFunc(checkouts, func(c state.Checkout) bool { return c.CommonDir == rec.CommonDir }); i >= 0 {
			p.syncOf(rec.CommonDir).turn(rec, checkouts[i].Slug, false)
		}
	}
	return err
}

// turn turns the sync of the project called slug on as rec says, or off where that
// names no remote. Asked is that the caller goes on to ask for the first round.
func (y *syncing) turn(rec state.Sync, slug string, asked bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.rec, y.runner = rec, nil
	if rec.Remote != "" {
		pace := y.cfg.For(slug).Sync
		y.runner = rounds.NewRunner(y, rounds.Options{
			Limits: rounds.Limits{Poll: pace.Poll, Idle: pace.IdlePoll},
			Asked:  asked, Stopped: rounds.Kind(rec.Stopped), Done: y.done,
		})
	}
	close(y.turned)
	y.turned = make(chan struct{})
}

// on returns the runner and the consent, nil while the sync is off.
func (y *syncing) on() (*rounds.Runner, state.Sync) {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.runner, y.rec
}

// run makes the rounds for as long as co is open, unless another work tree of the
// repository does.
func (y *syncing) run(ctx context.Context, co *checkout, k *repoHandle) error {
	select {
	case y.lead <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	y.mu.Lock()
	y.co, y.kept = co, k
	y.mu.Unlock()
	defer func() {
		y.mu.Lock()
		y.co, y.kept = nil, nil
		y.mu.Unlock()
		<-y.lead
	}()
	for {
		y.mu.Lock()
		runner, turned := y.runner, y.turned
		y.mu.Unlock()
		y.hold()
		running, end := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if runner != nil {
				_ = runner.Run(running) // it ends with running, and with no other error
			}
		}()
		select {
		case <-ctx.Done():
		case <-turned:
		}
		end()
		<-ended
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// leader returns the checkout that makes the rounds, nil if none is open.
func (y *syncing) leader() (*checkout, *repoHandle) {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.co, y.kept
}

// errSyncEnds is what a round is told that has lost its checkout.
var errSyncEnds = fmt.Errorf("the checkout was closed: %w", fold.ErrUnavailable)

func (y *syncing) options() gitsync.SyncOptions {
	_, rec := y.on()
	return gitsync.SyncOptions{Remote: rec.Remote, Local: rec.Given, PlainHTTP: rec.Given}
}

// Poll asks the remote whether others have pushed.
func (y *syncing) Poll(ctx context.Context) (moved bool, err error) {
	_, k := y.leader()
	if k == nil {
		return false, errSyncEnds
	}
	store := k.sidecar.store
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
func (y *syncing) Round(ctx context.Context, in rounds.Ask) (out rounds.Outcome, err error) {
	co, k := y.leader()
	if k == nil {
		return out, errSyncEnds
	}
	co.commits.settle(ctx, k)
	if out, err = y.syncMemories(ctx, co, k, in); err == nil {
		err = y.fetchTold(ctx, co, k)
	}
	return out, err
}

// syncMemories is the part of Round that is about memories.
func (y *syncing) syncMemories(ctx context.Context, co *checkout, k *repoHandle, in rounds.Ask) (out rounds.Outcome, err error) {
	store := k.sidecar.store
	before, err := store.Syncer().State(ctx)
	if err != nil {
		return out, err
	}
	if p, found, err := projectAt(k.foldPath); err == nil && found && p.Slug != co.rec.Slug {
		// A crash, or another project of that name, kept the project from being
		// renamed: under two names nothing is synced, or all would be there twice.
		return out, &renamedError{p}
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
	if did.Project != nil && did.Project.Slug != co.rec.Slug {
		return out, &renamedError{*did.Project}
	}
	if err != nil {
		if bad, ok := errors.AsType[*transport.Error](err); ok && bad.Kind == transport.Guarded {
			co.commits.addAll() // has the guard looked at, which holds the sync
		}
		return out, failed(err)
	}
	if len(did.Paths) > 0 || did.Pushed {
		co.commits.warn(ctx, "mirror not updated", store.Mirror(ctx))
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

// done keeps how a poll or round went, and tells whoever listens.
func (y *syncing) done(deed rounds.Deed, out rounds.Outcome, err error) {
	co, _ := y.leader()
	if co == nil {
		return
	}
	ctx := context.Background()
	if to, ok := errors.AsType[*renamedError](err); ok {
		co.log.InfoContext(ctx, "Remote names the project", "to", to.to.Slug)
		y.errand(func(ctx context.Context, d *Daemon) {
			if _, err := d.rename(ctx, co.rec.Key, false); err != nil {
				co.log.WarnContext(ctx, "Project not renamed", "err", err)
			}
		})
		return
	}
	now := y.now().UTC()
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
		if serr := y.state.SetSyncStatus(ctx, rec); serr != nil {
			co.log.WarnContext(ctx, "Sync not noted", "err", serr)
		}
	}
	y.tell(ctx, co, deed, out, err, was.Reason != rec.Reason)
}

// tell publishes the event of a deed. A failure that goes on is told once.
func (y *syncing) tell(ctx context.Context, co *checkout, deed rounds.Deed, out rounds.Outcome, err error, news bool) {
	switch {
	case err != nil && news:
		data := map[string]any{"error": err.Error()}
		bad, ok := errors.AsType[*rounds.Error](err)
		if ok {
			data["kind"] = string(bad.Kind)
		}
		co.bus.Publish("sync:failed", co.rec.Slug, data)
		level := slog.LevelWarn
		if bad != nil && bad.Kind == rounds.Guarded {
			level = slog.LevelInfo // nothing failed: memories are kept from loss
		}
		co.log.Log(ctx, level, "Not synced", "err", err)
	case err == nil && deed == rounds.Round:
		co.bus.Publish("sync:completed", co.rec.Slug, map[string]any{"pushed": out.Pushed, "received": out.Received, "merged": out.Merged, "conflicts": out.Conflicts})
		if out.Pushed+out.Received+out.Merged > 0 {
			co.log.InfoContext(ctx, "Synced", "pushed", out.Pushed, "received", out.Received, "merged", out.Merged, "conflicts", out.Conflicts)
		}
	}
}

// changed is told of a commit of the journal.
func (y *syncing) changed() {
	y.mu.Lock()
	runner := y.runner
	first := runner != nil && y.rec.Behind.IsZero()
	if first {
		y.rec.Behind = y.now().UTC()
	}
	rec := y.rec
	y.mu.Unlock()
	if runner == nil {
		return
	}
	if first {
		if err := y.state.SetSyncStatus(context.Background(), rec); err != nil {
			y.log.Warn("Sync not noted", "err", err)
		}
	}
	runner.Changed()
}

// used is told that somebody works on the project.
func (y *syncing) used() {
	now := time.Now().Unix()
	if last := y.told.Load(); now-last < int64(usedEvery/time.Second) || !y.told.CompareAndSwap(last, now) {
		return
	}
	if runner, _ := y.on(); runner != nil {
		runner.Used()
	}
}

// Told has the registered remote fetched, as soon as the pauses and waits of the sync
// allow.
func (y *syncing) Told() {
	if runner, _ := y.on(); runner != nil {
		runner.Told()
	}
}

// hold has the rounds wait while nothing may be committed, or memories have
// vanished that may come back (git.md G8).
func (y *syncing) hold() {
	co, k := y.leader()
	runner, _ := y.on()
	if runner == nil || co == nil {
		return
	}
	switch why := co.holdsSync(k); {
	case !runner.Held(why):
	case why != "":
		co.log.Info("Sync held", "why", why)
	default:
		co.log.Info("Sync goes on")
	}
}

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

// unpushed is why a write is not pushed, "" if it is going to be.
func (y *syncing) unpushed() string {
	runner, rec := y.on()
	if runner == nil || rec.Reason == "" {
		return ""
	}
	return "not pushed: " + rec.Reason
}

// repository tells how the sync of co stands, without waiting for anything.
func (co *checkout) repository(ctx context.Context) wire.Repository {
	runner, rec := co.sync.on()
	r := wire.Repository{ID: co.rec.Key, Path: co.rec.Path, Remote: co.rec.RemoteURL, Branch: "foldwatch", Sync: "off"}
	if runner == nil {
		r.Kind = kindOf(r.Remote)
		return r
	}
	r.Remote, r.Sync, r.Reason, r.Hint, r.Stopped = rec.Remote, "on", rec.Reason, rec.Hint, rec.Stopped
	r.Kind = kindOf(r.Remote)
	r.LastSync, r.UnpushedSince = timeOrNil(rec.Synced), timeOrNil(rec.Behind)
	s := runner.Standing()
	if s.Paused {
		r.NextTry = timeOrNil(s.Pause.Until)
		if s.Pause.Until.IsZero() {
			r.Sync = "paused"
		}
		if s.Pause.Held != "" {
			r.Reason, r.Hint = s.Pause.Held, co.holdHint()
		}
	}
	if _, k := co.sync.leader(); k != nil {
		st, err := k.sidecar.store.Syncer().State(ctx)
		if err == nil {
			r.LastPush, r.Unpushed = timeOrNil(st.Pushed), st.Unpushed
			if st.RemoteTip == "" && r.Unpushed > 0 {
				r.Unpushed-- // the project file is no memory
			}
		}
		for path, why := range st.Held {
			r.Held = append(r.Held, wire.FileProblem{Path: co.rec.FoldDir + "/" + path, State: "quarantined", Reason: why})
		}
	}
	if _, k := co.sync.leader(); k != nil {
		r.Ahead = co.ahead(ctx, k)
	}
	if r.Unpushed == 0 {
		r.UnpushedSince = nil
	}
	return r
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

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// kindOf names what serves a remote.
func kindOf(remote string) string {
	if remote == "" {
		return "none"
	}
	var host string
	if u, err := url.Parse(remote); err == nil && u.Host != "" {
		host = u.Hostname()
	} else if at, _, ok := strings.Cut(remote, ":"); ok && !strings.Contains(at, "/") {
		_, host, _ = strings.Cut(at, "@")
		if host == "" {
			host = at
		}
	} else {
		return "local"
	}
	switch {
	case strings.HasPrefix(remote, "file://"):
		return "local"
	case host == "github.com" || strings.HasPrefix(host, "github."):
		return "github"
	case host == "gitlab.com" || strings.HasPrefix(host, "gitlab."):
		return "gitlab"
	}
	return "git"
}

// errand has the daemon do what a checkout cannot, such as ending itself.
func (y *syncing) errand(do func(context.Context, *Daemon)) {
	go func() {
		select {
		case y.errands <- do:
		case <-y.stopped:
		}
	}()
}
