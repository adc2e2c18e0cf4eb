package repos

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
	"github.com/foldwatch/foldwatch/daemon/events"
	"github.com/foldwatch/foldwatch/daemon/rounds"
	"github.com/foldwatch/foldwatch/gitops/gitsync"
	"github.com/foldwatch/foldwatch/gitops/transport"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
)

// Options are what all syncs share.
type Options struct {
	Config conf.Config
	State  *state.DB
	Events *events.Bus
	Now    func() time.Time
	Log    *slog.Logger
}

// Syncs knows the sync of every repository. It is safe for concurrent use.
type Syncs struct {
	opt Options

	mu    sync.Mutex       // guards byDir
	byDir map[string]*Sync // by common git directory
}

// NewSyncs returns syncs that are all off.
func NewSyncs(opt Options) *Syncs { return &Syncs{opt: opt, byDir: map[string]*Sync{}} }

// A Tree is an open work tree, as its sync needs it.
type Tree interface {
	Slug() string
	FoldPath() string
	Repo() *usergit.Repo
	Memories() *Store
	Settle(ctx context.Context) // commits what is pending
	CheckAll()                  // has all of fold/ compared with the journal
	TipMoved()                  // the remote's default branch was fetched, or told of
	Renamed()                   // the remote calls the project by another slug
	Held() string               // why nothing may be synced for now; "" if it may
	Note(subject, text string)  // for status
}

// usedEvery is how often a sync is told that its project is worked on.
const usedEvery = 10 * time.Second

// A Sync keeps one fold/ in step with its remote, for all work trees of a
// repository: they share it. It does nothing before the user has turned it on
// (git.md G17), and its rounds hold up neither searches nor writes. It is safe for
// concurrent use, and is the rounds.Remote of its runner.
type Sync struct {
	Options
	log  *slog.Logger
	dir  string        // common git directory
	lead chan struct{} // held, by an element in it, by the checkout that makes the rounds

	told atomic.Int64 // when the runner was last told of use, in Unix seconds
	main defaultBranch

	mu     sync.Mutex     // guards the fields below
	rec    state.Sync     // as registered; Remote is "" while it is off
	runner *rounds.Runner // nil while it is off
	turned chan struct{}  // closed when rec.Remote changes
	tree   Tree           // that makes the rounds; nil if none is open
}

// A RenamedError says that the remote calls the project by another slug: it goes on
// under that.
type RenamedError struct{ To conf.Project }

func (e *RenamedError) Error() string { return "the remote calls the project " + e.To.Slug }

// Of returns the sync of the repository with the common git directory dir.
func (s *Syncs) Of(dir string) *Sync {
	s.mu.Lock()
	defer s.mu.Unlock()
	y := s.byDir[dir]
	if y == nil {
		y = &Sync{Options: s.opt, log: s.opt.Log, dir: dir, lead: make(chan struct{}, 1), turned: make(chan struct{})}
		s.byDir[dir] = y
	}
	return y
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

// On returns the runner and the consent, nil while the sync is off.
func (y *Sync) On() (*rounds.Runner, state.Sync) {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.runner, y.rec
}

// Run makes the rounds for as long as t is open, unless another work tree of the
// repository does.
func (y *Sync) Run(ctx context.Context, t Tree) error {
	select {
	case y.lead <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	y.mu.Lock()
	y.tree = t
	y.mu.Unlock()
	defer func() {
		y.mu.Lock()
		y.tree = nil
		y.mu.Unlock()
		<-y.lead
	}()
	for {
		y.mu.Lock()
		runner, turned := y.runner, y.turned
		y.mu.Unlock()
		y.Hold()
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

// leader returns the work tree that makes the rounds, nil if none is open.
func (y *Sync) leader() Tree {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.tree
}

// errSyncEnds is what a round is told that has lost its checkout.
var errSyncEnds = fmt.Errorf("the checkout was closed: %w", fold.ErrUnavailable)

func (y *Sync) options() gitsync.SyncOptions {
	_, rec := y.On()
	return gitsync.SyncOptions{Remote: rec.Remote, Local: rec.Given, PlainHTTP: rec.Given}
}

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
			y.log.WarnContext(ctx, "History is behind", "why", "mirror not updated", "err", err)
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

// done keeps how a poll or round went, and tells whoever listens.
func (y *Sync) done(deed rounds.Deed, out rounds.Outcome, err error) {
	t := y.leader()
	if t == nil {
		return
	}
	ctx := context.Background()
	if to, ok := errors.AsType[*RenamedError](err); ok {
		y.log.InfoContext(ctx, "Remote names the project", "to", to.To.Slug)
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
			y.log.WarnContext(ctx, "Sync not noted", "err", serr)
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
		y.log.Log(ctx, level, "Not synced", "err", err)
	case err == nil && deed == rounds.Round:
		y.Events.Publish("sync:completed", t.Slug(), map[string]any{"pushed": out.Pushed, "received": out.Received, "merged": out.Merged, "conflicts": out.Conflicts})
		if out.Pushed+out.Received+out.Merged > 0 {
			y.log.InfoContext(ctx, "Synced", "pushed", out.Pushed, "received", out.Received, "merged", out.Merged, "conflicts", out.Conflicts)
		}
	}
}

// Changed is told of a commit of the journal.
func (y *Sync) Changed() {
	y.mu.Lock()
	runner := y.runner
	first := runner != nil && y.rec.Behind.IsZero()
	if first {
		y.rec.Behind = y.Now().UTC()
	}
	rec := y.rec
	y.mu.Unlock()
	if runner == nil {
		return
	}
	if first {
		if err := y.State.SetSyncStatus(context.Background(), rec); err != nil {
			y.log.Warn("Sync not noted", "err", err)
		}
	}
	runner.Changed()
}

// Used is told that somebody works on the project.
func (y *Sync) Used() {
	now := time.Now().Unix()
	if last := y.told.Load(); now-last < int64(usedEvery/time.Second) || !y.told.CompareAndSwap(last, now) {
		return
	}
	if runner, _ := y.On(); runner != nil {
		runner.Used()
	}
}

// Told has the registered remote fetched, as soon as the pauses and waits of the sync
// allow.
func (y *Sync) Told() {
	if runner, _ := y.On(); runner != nil {
		runner.Told()
	}
}

// Hold has the rounds wait while nothing may be committed, or memories have
// vanished that may come back (git.md G8).
func (y *Sync) Hold() {
	t := y.leader()
	runner, _ := y.On()
	if runner == nil || t == nil {
		return
	}
	switch why := t.Held(); {
	case !runner.Held(why):
	case why != "":
		y.log.Info("Sync held", "why", why)
	default:
		y.log.Info("Sync goes on")
	}
}

// Unpushed is why a write is not pushed, "" if it is going to be.
func (y *Sync) Unpushed() string {
	runner, rec := y.On()
	if runner == nil || rec.Reason == "" {
		return ""
	}
	return "not pushed: " + rec.Reason
}

// Describe completes r by how the sync stands, without waiting for anything. Hint is the
// command that ends what holds it.
func (y *Sync) Describe(ctx context.Context, r wire.Repository, foldDir string, hint func() string) wire.Repository {
	runner, rec := y.On()
	r.Branch, r.Sync = FoldBranch, "off"
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
			r.Reason, r.Hint = s.Pause.Held, hint()
		}
	}
	if t := y.leader(); t != nil {
		st, err := t.Memories().Syncer().State(ctx)
		if err == nil {
			r.LastPush, r.Unpushed = timeOrNil(st.Pushed), st.Unpushed
			if st.RemoteTip == "" && r.Unpushed > 0 {
				r.Unpushed-- // the project file is no memory
			}
		}
		for path, why := range st.Held {
			r.Held = append(r.Held, wire.FileProblem{Path: foldDir + "/" + path, State: "quarantined", Reason: why})
		}
		r.Ahead = y.ahead(ctx, t)
	}
	if r.Unpushed == 0 {
		r.UnpushedSince = nil
	}
	return r
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
