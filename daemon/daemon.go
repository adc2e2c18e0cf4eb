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
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/checkout"
	"github.com/foldwatch/foldwatch/daemon/embedding"
	"github.com/foldwatch/foldwatch/daemon/events"
	"github.com/foldwatch/foldwatch/daemon/layer"
	"github.com/foldwatch/foldwatch/daemon/limiter"
	"github.com/foldwatch/foldwatch/daemon/repos"
	"github.com/foldwatch/foldwatch/daemon/storepool"
	"github.com/foldwatch/foldwatch/meta/cache"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/state"
	"github.com/foldwatch/foldwatch/vecindex"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

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
	d := &Daemon{opt: opt, lock: lock, started: opt.Now(), starts: make(chan *checkout.Checkout, 64), registry: make(chan struct{}, 1), errands: make(chan func(context.Context)), working: layer.New(opt.Now), checkouts: map[string]*checkout.Checkout{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	d.parts = &checkout.Shared{
		Config: opt.Config, Origins: opt.Origins, Dirs: opt.Dirs, Events: events.New(time.Now()),
		Now: opt.Now, Log: opt.Log, Cutter: checkout.InProcess{}, Builders: vecindex.NewSlots(1), Limiter: limiter.New(runtime.GOMAXPROCS(0)),
		Stopped: make(chan struct{}), Faults: opt.Faults,
	}
	p := d.parts
	p.Registry = asked{d}
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
		case do := <-d.errands:
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
func (d *Daemon) Holds() bool { return d.lock.Intact() }

// State returns the store of what this machine knows beside the checkouts, for
// what decides who may call. It is closed with the daemon.
func (d *Daemon) State() *state.DB { return d.parts.State }

// Crowded reports whether so many searches wait that all else should leave them
// what it can.
func (d *Daemon) Crowded() bool { return d.parts.Limiter.Crowded() }

// asked is what checkouts ask of the daemon: it is their checkout.Registry.
type asked struct{ *Daemon }

func (d asked) Renamed(key string) {
	d.errand(func(ctx context.Context) {
		if _, err := d.rename(ctx, key, false); err != nil {
			d.opt.Log.WarnContext(ctx, "Project not renamed", "err", err)
		}
	})
}

func (d asked) Tracked(key string) {
	d.errand(func(ctx context.Context) {
		d.mu.Lock()
		co := d.checkouts[key]
		d.mu.Unlock()
		if co == nil {
			return
		}
		if err := errors.Join(d.setMode(ctx, co, checkout.ModeTracked), d.stopSync(ctx, co)); err != nil {
			d.opt.Log.WarnContext(ctx, "Mode not changed", "err", err)
		}
	})
}
