// Package daemon keeps the registry of checkouts and answers the surfaces: each method of
// Daemon is what one route or tool does, in the checkouts that the caller may see.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/daemon/checkout"

	"github.com/foldwatch/foldwatch/daemon/embedding"

	"github.com/foldwatch/foldwatch/daemon/limiter"
	"github.com/foldwatch/foldwatch/daemon/repos"

	"github.com/foldwatch/foldwatch/daemon/events"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/layer"
	"github.com/foldwatch/foldwatch/daemon/recall"
	"github.com/foldwatch/foldwatch/daemon/storepool"
	"github.com/foldwatch/foldwatch/meta/cache"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
	"github.com/foldwatch/foldwatch/vecindex"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

// Options say how a daemon runs.
type Options struct {
	Dirs    conf.Dirs
	Config  conf.Config
	Origins []conf.Origin
	Version string
	// Worker is the command line of a parser process; empty parses in process,
	// which only tests should do.
	Worker []string
	// Reload reads the configuration again. Nil keeps Config.
	Reload func() (conf.Config, error)
	// Socket is shown in status.
	Socket string
	// Listening, if not nil, says for status where else the daemon listens, and why
	// it does not where it should.
	Listening func() (url string, notices []string)
	// Webhooks is Listening for the listener that only takes webhooks.
	Webhooks func() (url string, notices []string)
	Log      *slog.Logger
	Now      func() time.Time
	// MostOpen is how many checkouts have their stores open at once. Zero means 16:
	// an index takes some 20 files, and many systems allow 256.
	MostOpen int
	// RestAfter is how long nobody asks a checkout before its stores are closed.
	// Zero means 3 minutes.
	RestAfter time.Duration
	// Faults, if not nil, is asked before each operation by its name ("open",
	// "job", "check"): an error is what a full disk or the like would give. Nil in
	// production.
	Faults func(op string) error
}

// A Daemon keeps all registered checkouts of one user on one machine. Its
// methods are safe for concurrent use.
type Daemon struct {
	opt     Options
	lock    *disk.LockFile
	parts   *checkout.Shared
	started time.Time
	starts  chan *checkout.Checkout // loops to run
	// registry is held, by an element in it, while a checkout is added or removed.
	registry chan struct{}
	kept     recall.Kept // the order of searches, for their next pages

	mu        sync.Mutex // guards the fields below
	checkouts map[string]*checkout.Checkout
	removed   map[string]int64 // what was done for checkouts that were removed
}

// Open takes the daemon's lock and opens what all checkouts share. It returns a
// *disk.LockedError if another daemon runs on the same state. Run it, then
// Close it.
func Open(ctx context.Context, opt Options) (_ *Daemon, err error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if err := os.MkdirAll(opt.Dirs.State, 0o700); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	lock, err := disk.Lock(filepath.Join(opt.Dirs.State, "daemon.lock"), fmt.Sprintf("pid %d", os.Getpid()))
	if err != nil {
		return nil, err
	}
	d := &Daemon{opt: opt, lock: lock, started: opt.Now(), starts: make(chan *checkout.Checkout, 64), registry: make(chan struct{}, 1), checkouts: map[string]*checkout.Checkout{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	d.parts = &checkout.Shared{
		Config: opt.Config, Origins: opt.Origins, Dirs: opt.Dirs, Events: events.New(time.Now()), Working: layer.New(opt.Now),
		Now: opt.Now, Log: opt.Log, Cutter: checkout.InProcess{}, Builders: vecindex.NewSlots(1), Limiter: limiter.New(runtime.GOMAXPROCS(0)),
		Errands: make(chan func(context.Context)),
		Stopped: make(chan struct{}), Faults: opt.Faults,
	}
	p := d.parts
	p.Rename = func(ctx context.Context, key string) error {
		_, err := d.rename(ctx, key, false)
		return err
	}
	p.Track = func(ctx context.Context, co *checkout.Checkout) error {
		return errors.Join(d.setMode(ctx, co, checkout.ModeTracked), d.stopSync(ctx, co))
	}
	p.Pool = storepool.New(storepool.Options{Most: opt.MostOpen, Rest: opt.RestAfter, Stopped: p.Stopped})
	if p.State, err = state.Open(ctx, opt.Dirs.State); err != nil {
		return nil, err
	}
	p.Syncs = repos.NewSyncs(repos.Options{Config: opt.Config, State: p.State, Events: p.Events, Now: opt.Now, Log: opt.Log})
	if p.Cache, err = cache.Open(ctx, opt.Dirs.State, int64(opt.Config.CacheMaxMB)<<20); err != nil {
		return nil, err
	}
	if len(opt.Worker) > 0 {
		p.Cutter = chunker.NewPool(chunker.PoolOptions{Command: opt.Worker, Log: opt.Log}, chunker.Options{})
	}
	p.Lexicon = embed.Builtin()
	p.Models = embedding.New(opt.Config, opt.Dirs, p.State, p.Cache, embed.Cached(p.Lexicon, p.Cache), opt.Now, opt.Log)
	recs, err := p.State.Checkouts(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.Syncs.Load(ctx, recs); err != nil {
		return nil, err
	}
	for _, rec := range recs {
		co := checkout.New(rec, p)
		co.Update(func(c *checkout.Condition) { c.Opening.Before = true })
		d.checkouts[rec.Key] = co
	}
	return d, nil
}

// Run runs one loop per checkout until ctx ends, and returns when all of them
// have ended. A checkout that cannot be kept says why in status; the others go
// on.
func (d *Daemon) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	d.mu.Lock()
	for _, co := range d.checkouts {
		wg.Go(func() { co.Run(ctx) })
	}
	d.mu.Unlock()
	wg.Go(func() { d.watchHealth(ctx) })
	for {
		select {
		case <-ctx.Done():
			close(d.parts.Stopped)
			wg.Wait()
			return nil
		case co := <-d.starts:
			wg.Go(func() { co.Run(ctx) })
		case do := <-d.parts.Errands:
			wg.Go(func() { do(ctx) })
		}
	}
}

// Close gives up what Open took. The loops must have ended.
func (d *Daemon) Close() error {
	var errs []error
	if p := d.parts; p != nil {
		if c, ok := p.Cutter.(*chunker.Pool); ok {
			c.Close()
		}
		if p.Cache != nil {
			errs = append(errs, p.Cache.Close())
		}
		if p.State != nil {
			errs = append(errs, p.State.Close())
		}
	}
	return errors.Join(append(errs, d.lock.Close())...)
}

// Holds reports whether the daemon still has its state folder: where that was deleted,
// another one may have been started in its place.
func (d *Daemon) Holds() bool { return d.lock.Stands() }

// State returns the store of what this machine knows beside the checkouts, for
// what decides who may call. It is closed with the daemon.
func (d *Daemon) State() *state.DB { return d.parts.State }

// sorted returns the checkouts by slug, main work trees first.
func (d *Daemon) sorted() []*checkout.Checkout {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]*checkout.Checkout, 0, len(d.checkouts))
	for _, co := range d.checkouts {
		out = append(out, co)
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i].Record, out[j].Record
		if a.Slug != b.Slug {
			return a.Slug < b.Slug
		}
		if a.Linked != b.Linked {
			return !a.Linked
		}
		return a.Path < b.Path
	})
	return out
}

// of returns the checkouts of the project called name that sc may read:
// ErrNotFound otherwise, so that a caller does not learn what else there is. A
// name is a slug, or SLUG@KEY for the one checkout whose key begins with KEY:
// linked worktrees share a project, and each shows its own lines.
func (d *Daemon) of(sc fold.Scope, name string) ([]*checkout.Checkout, error) {
	slug, key, _ := strings.Cut(name, "@")
	var out []*checkout.Checkout
	for _, co := range d.sorted() {
		if co.Record.Slug == slug && strings.HasPrefix(co.Record.Key, key) {
			out = append(out, co)
		}
	}
	if len(out) == 0 || !sc.CanRead(slug) {
		return nil, fmt.Errorf("project %q: %w", name, fold.WithHint(fold.ErrNotFound, "foldwatch projects"))
	}
	return out, nil
}

// bySlug returns the checkouts sc may read, those of one project together, in the
// order of sorted.
func (d *Daemon) bySlug(sc fold.Scope) [][]*checkout.Checkout {
	var out [][]*checkout.Checkout
	for _, co := range d.sorted() {
		switch n := len(out); {
		case !sc.CanRead(co.Record.Slug):
		case n > 0 && out[n-1][0].Record.Slug == co.Record.Slug:
			out[n-1] = append(out[n-1], co)
		default:
			out = append(out, []*checkout.Checkout{co})
		}
	}
	return out
}

// open holds the stores of the project's main checkout, waiting until they are
// opened. If they cannot be, another work tree of the same repository answers for
// it, but never a copy of it: that has other memories.
func (d *Daemon) open(ctx context.Context, sc fold.Scope, slug string) (*checkout.Lease, error) {
	cos, err := d.of(sc, slug)
	if err != nil {
		return nil, err
	}
	return checkout.AcquireAny(ctx, slices.DeleteFunc(slices.Clone(cos), func(co *checkout.Checkout) bool { return !checkout.SameMemory(co.View().Record, cos[0].View().Record) }))
}

// openToWrite is open for a caller who wants to write, when it is the turn of that.
func (d *Daemon) openToWrite(ctx context.Context, sc fold.Scope, slug string) (*checkout.Lease, error) {
	st, err := d.open(ctx, sc, slug)
	if err != nil {
		return nil, err
	}
	if !sc.CanWrite(st.Checkout.Record.Slug) {
		st.Release()
		return nil, fmt.Errorf("write to project %s: %w", slug, fold.ErrForbidden)
	}
	if err := d.parts.Limiter.Write(ctx); err != nil {
		st.Release()
		return nil, err
	}
	return st, nil
}

// Crowded reports whether so many searches wait that all else should leave them
// what it can.
func (d *Daemon) Crowded() bool { return d.parts.Limiter.Crowded() }
