package repos

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/events"
	"github.com/foldwatch/foldwatch/daemon/rounds"
	"github.com/foldwatch/foldwatch/gitops/gitsync"
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
	Log() *slog.Logger
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
		t.Log().Info("Sync held", "why", why)
	default:
		t.Log().Info("Sync goes on")
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

// ahead tells how far the remote's default branch is ahead, nil where it is not or
// was never fetched.
func (y *Sync) ahead(ctx context.Context, t Tree) *wire.RemoteAhead {
	name, tip, err := y.main.at(ctx, t.Repo())
	if err != nil || tip == "" {
		return nil
	}
	b := t.Memories().Upstream().Fetched(name)
	if b.Tip == "" || b.Tip == tip {
		return nil
	}
	n, err := y.main.ahead(ctx, tip, b)
	if err != nil {
		t.Log().WarnContext(ctx, "Branch not compared with the remote", "err", err)
		return nil
	}
	if n == 0 {
		return nil
	}
	return &wire.RemoteAhead{Branch: name, Commits: n, Rev: b.Tip, SeenAt: b.Seen}
}
