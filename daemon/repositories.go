package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/checkout"
	"github.com/foldwatch/foldwatch/daemon/repos"
	"github.com/foldwatch/foldwatch/daemon/rounds"
	"github.com/foldwatch/foldwatch/gitops/gitsync"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
)

// searchableMost is how long a sync waits until what came is found by searches.
const searchableMost = 30 * time.Second

// Repositories lists the remotes of a project's checkouts, one for each fold/.
func (d *Daemon) Repositories(ctx context.Context, sc fold.Scope, slug string) (wire.RepositoryList, error) {
	cos, err := d.of(sc, slug)
	if err != nil {
		return wire.RepositoryList{}, err
	}
	list := wire.RepositoryList{Items: []wire.Repository{}}
	seen := map[string]bool{}
	for _, co := range cos {
		if !seen[co.Record.CommonDir] {
			seen[co.Record.CommonDir] = true
			list.Items = append(list.Items, co.Repository(ctx))
		}
	}
	return list, nil
}

// repositoryOf returns the checkout whose key is id.
func (d *Daemon) repositoryOf(sc fold.Scope, slug, id string) (*checkout.Checkout, error) {
	cos, err := d.of(sc, slug)
	if err != nil {
		return nil, err
	}
	for _, co := range cos {
		if co.Record.Key == id {
			return co, nil
		}
	}
	return nil, fmt.Errorf("repository %q of project %s: %w", id, slug, fold.ErrNotFound)
}

// AddRepository turns on the sync of a project's main checkout: its memories are
// published from now on, and those of others taken (git.md G17). It makes the first
// round, and succeeds also where that fails for now.
func (d *Daemon) AddRepository(ctx context.Context, sc fold.Scope, slug string, in wire.RepositoryCreate) (wire.RepositoryAdded, error) {
	cos, err := d.of(sc, slug)
	if err != nil {
		return wire.RepositoryAdded{}, err
	}
	if !sc.Admin {
		return wire.RepositoryAdded{}, fmt.Errorf("sync project %s: %w", slug, fold.ErrForbidden)
	}
	layout, err := usergit.Locate(ctx, cos[0].Record.Path)
	if err != nil {
		return wire.RepositoryAdded{}, err
	}
	if checkout.ModeOf(cos[0].View().Record) == checkout.ModeTracked { // whatever the remote is
		return wire.RepositoryAdded{}, notSynced(cos[0])
	}
	remote, err := chooseRemote(ctx, sc, layout, in.Remote)
	if err != nil {
		return wire.RepositoryAdded{}, fmt.Errorf("sync project %s: %w", slug, err)
	}
	return d.turnOn(ctx, cos[0], remote)
}

// A chosenRemote is an address to sync with.
type chosenRemote struct {
	address string // without credentials
	host    string // "" for a path
	given   bool   // the user named the address itself
}

// chooseRemote returns what the user means by name: a remote of the repository, an
// address, or by default origin, else the only remote there is. A path of this
// machine counts only where the user gave it here: the configuration of a checkout
// comes from whoever made that, and a caller elsewhere has paths of their own.
func chooseRemote(ctx context.Context, sc fold.Scope, l *usergit.Repo, name string) (r chosenRemote, err error) {
	remotes, err := l.Remotes(ctx)
	if err != nil {
		return r, err
	}
	names := slices.Sorted(maps.Keys(remotes))
	of, known := remotes[name]
	origin, hasOrigin := remotes["origin"]
	switch {
	case known:
		r.address = of
	case name != "":
		if !strings.ContainsAny(name, `/\:`) {
			return r, fmt.Errorf("the repository has no remote %q: %w", name, fold.WithHint(fold.ErrNotFound, hintRemotes(names)))
		}
		if !strings.Contains(name, ":") && !filepath.IsAbs(name) {
			return r, fmt.Errorf("remote %q is not an absolute path: %w", name, fold.ErrInvalid)
		}
		r.address, r.given = name, true
	case hasOrigin:
		r.address = origin
	case len(names) == 1:
		r.address = remotes[names[0]]
	case len(names) == 0:
		return r, fmt.Errorf("the repository has no remote: %w", fold.WithHint(fold.ErrInvalid, "name one: foldwatch sync on --remote URL"))
	default:
		return r, fmt.Errorf("the repository has several remotes, and none is called origin: %w", fold.WithHint(fold.ErrInvalid, hintRemotes(names)))
	}
	r.address, r.host, err = gitsync.CheckRemote(gitsync.SyncOptions{Remote: r.address, Local: r.given, PlainHTTP: r.given})
	if r.given && !sc.Local && (err != nil || r.host == "") {
		// Also where it is no good: what there is on this machine is not told.
		return r, fmt.Errorf("remote %q: a path can be given on this machine only: %w", r.address, fold.WithHint(fold.ErrForbidden, "run there: foldwatch sync on --remote PATH"))
	}
	return r, err
}

func hintRemotes(names []string) string {
	if len(names) == 0 {
		return "give its address: foldwatch sync on --remote URL"
	}
	return "name one of " + strings.Join(names, ", ") + ": foldwatch sync on --remote NAME"
}

// sends says what leaves this machine.
func (r chosenRemote) sends(co *checkout.Checkout) string {
	return fmt.Sprintf("%s/ of %s (its memories as files, their history, your git name and e-mail as author; memories with visibility local and source files stay here) goes to the branch foldwatch of %s; to stop: foldwatch sync off",
		co.Record.FoldDir, co.Record.Slug, r.address)
}

// notSynced refuses to sync memories that the user's git tracks.
func notSynced(co *checkout.Checkout) error {
	return fmt.Errorf("git tracks the memories of %s, so they are pulled and pushed with your branch, and not synced: %w", co.Record.Slug,
		fold.WithHint(fold.ErrInvalid, "git push; or keep them beside the branch: foldwatch untrack"))
}

// turnOn registers the user's consent and makes the first round.
func (d *Daemon) turnOn(ctx context.Context, co *checkout.Checkout, remote chosenRemote) (added wire.RepositoryAdded, err error) {
	h, err := co.Acquire(ctx)
	if err != nil {
		return added, err
	}
	tracked := h.Tracked
	h.Release()
	if tracked {
		return added, notSynced(co)
	}
	now := d.opt.Now().UTC()
	rec := state.Sync{CommonDir: co.Record.CommonDir, Remote: remote.address, Given: remote.given, Since: now, Behind: now}
	if _, was := co.Sync.On(); was.Remote == rec.Remote {
		rec.Since, rec.Synced, rec.Given = was.Since, was.Synced, was.Given || rec.Given
	}
	if err := d.parts.State.PutSync(ctx, rec); err != nil {
		return added, err
	}
	co.Sync.Turn(rec, co.Record.Slug, true)
	co.Note(checkout.FetchedNotice, "")
	co.Events.Publish("sync:on", co.Record.Slug, map[string]any{"remote": rec.Remote})
	co, reply, err := d.syncNow(ctx, co, false)
	added = wire.RepositoryAdded{Repository: co.Repository(ctx), Project: co.Record.Slug, Sends: remote.sends(co)}
	if err == nil {
		added.Synced = &reply
		return added, nil
	}
	if ctx.Err() != nil {
		return added, err
	}
	if added.Repository.Reason == "" { // held, for instance
		added.Repository.Reason, added.Repository.Hint = err.Error(), fold.Hint(err)
	}
	return added, nil
}

// RemoveRepository turns the sync off. What was published stays where it is.
func (d *Daemon) RemoveRepository(ctx context.Context, sc fold.Scope, slug, id string) error {
	co, err := d.repositoryOf(sc, slug, id)
	if err != nil {
		return err
	}
	if !sc.Admin {
		return fmt.Errorf("stop the sync of project %s: %w", slug, fold.ErrForbidden)
	}
	if err := d.parts.State.DeleteSync(ctx, co.Record.CommonDir); err != nil {
		return err
	}
	co.Sync.Turn(state.Sync{}, co.Record.Slug, false)
	co.Events.Publish("sync:off", co.Record.Slug, nil)
	return nil
}

// Sync makes one round now, and returns when what came is found by searches. It ends
// every pause but that of a rewritten remote, which only in.Resync ends.
func (d *Daemon) Sync(ctx context.Context, sc fold.Scope, slug, id string, in wire.SyncRequest) (wire.SyncReply, error) {
	co, err := d.repositoryOf(sc, slug, id)
	if err != nil {
		return wire.SyncReply{}, err
	}
	if !sc.CanWrite(co.Record.Slug) {
		return wire.SyncReply{}, fmt.Errorf("sync project %s: %w", slug, fold.ErrForbidden)
	}
	_, reply, err := d.syncNow(ctx, co, in.Resync)
	return reply, err
}

// syncNow is Sync of a checkout. Where the remote calls the project by another slug
// it goes on under that: it returns the checkout as it is then.
func (d *Daemon) syncNow(ctx context.Context, co *checkout.Checkout, resync bool) (*checkout.Checkout, wire.SyncReply, error) {
	for try := range 3 {
		runner, rec := co.Sync.On()
		switch {
		case runner == nil && checkout.ModeOf(co.View().Record) == checkout.ModeTracked:
			return co, wire.SyncReply{}, notSynced(co)
		case runner == nil:
			return co, wire.SyncReply{}, fmt.Errorf("sync of project %s is off: %w", co.Record.Slug, fold.WithHint(fold.ErrInvalid, "foldwatch sync on"))
		}
		if try == 0 { // else it is just being opened, and this asks for its first round
			h, err := co.Acquire(ctx)
			if now, ok := d.standsFor(ctx, co, err); ok {
				co = now
				continue
			}
			if err != nil {
				return co, wire.SyncReply{}, err
			}
			h.Release()
		}
		out, err := runner.Ask(ctx, resync)
		if now, ok := d.standsFor(ctx, co, err); ok {
			co = now
			continue
		}
		if _, ok := errors.AsType[*repos.RenamedError](err); ok {
			if co, err = d.rename(ctx, co.Record.Key, true); err != nil {
				return co, wire.SyncReply{}, err
			}
			continue
		}
		if err != nil {
			return co, wire.SyncReply{}, syncFailed(co, err, rec)
		}
		reply := wire.SyncReply{Project: co.Record.Slug, Remote: rec.Remote, Pushed: out.Pushed, Received: out.Received, Merged: out.Merged, Conflicts: out.Conflicts}
		if out.Received+out.Merged > 0 {
			waiting, cancel := context.WithTimeout(ctx, searchableMost)
			if co.Settled(waiting) != nil {
				reply.Notices = append(reply.Notices, "what came is still being indexed")
			}
			cancel()
		}
		if resync && out.Published {
			reply.Notices = append(reply.Notices, "the branch "+co.Repository(ctx).Branch+" of the remote holds again what this machine has")
		}
		r := co.Repository(ctx)
		reply.Unpushed = r.Unpushed
		for _, f := range r.Held {
			reply.Notices = append(reply.Notices, f.Path+" is not taken in: "+f.Reason)
		}
		return co, reply, nil
	}
	return co, wire.SyncReply{}, fmt.Errorf("the remote names the project anew each time: %w", fold.ErrConflict)
}

// standsFor returns the checkout that took the place of co while a call of co failed
// with err: a round of its own had just learned the name that the remote gives the
// project, and co was stopped for that. It waits until such a change is through.
func (d *Daemon) standsFor(ctx context.Context, co *checkout.Checkout, err error) (*checkout.Checkout, bool) {
	if !errors.Is(err, fold.ErrUnavailable) {
		return nil, false
	}
	leave, err := d.changeRegistry(ctx)
	if err != nil {
		return nil, false
	}
	defer leave()
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.checkouts[co.Record.Key]
	return now, now != nil && now != co
}

// syncFailed adds to an error of a round what is not known where it came up.
func syncFailed(co *checkout.Checkout, err error, rec state.Sync) error {
	bad, ok := errors.AsType[*rounds.Error](err)
	switch {
	case !ok:
		return err
	case bad.Err == nil: // a pause that was in force before the daemon began
		return fmt.Errorf("%s: %w", rec.Reason, fold.WithHint(fold.ErrConflict, rec.Hint))
	case bad.Kind == "" && fold.Hint(err) == "":
		return fold.WithHint(err, co.HoldHint())
	}
	return err
}
