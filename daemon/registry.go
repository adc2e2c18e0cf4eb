package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foldwatch/foldwatch/daemon/checkout"
	"github.com/foldwatch/foldwatch/daemon/layer"
	"github.com/foldwatch/foldwatch/daemon/recall"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
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

// A Daemon keeps all registered checkouts of one user on one machine. It has a method for
// each route and tool, hence so many; they are safe for concurrent use.
type Daemon struct {
	opt     Options
	lock    *disk.LockFile
	parts   *checkout.Shared
	started time.Time
	starts  chan *checkout.Checkout // loops to run
	// registry is held, by an element in it, while a checkout is added or removed.
	registry chan struct{}
	kept     recall.ResultOrders        // the order of searches, for their next pages
	working  *layer.Memory              // of agents' sessions
	errands  chan func(context.Context) // what checkouts asked for
	// gitProcesses counts starts of the git program on behalf of no checkout.
	gitProcesses atomic.Int64

	mu        sync.Mutex // guards the fields below
	checkouts map[string]*checkout.Checkout
	removed   map[string]int64 // what was done for checkouts that were removed
}

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

// errand does what a checkout cannot do itself, beside.
func (d *Daemon) errand(do func(context.Context)) {
	go func() {
		select {
		case d.errands <- do:
		case <-d.parts.Stopped:
		}
	}()
}

// changeRegistry waits until no other checkout is being added or removed: each
// looks at all the others, for its slug, its folder, and what they share. The
// caller calls leave, once or more.
func (d *Daemon) changeRegistry(ctx context.Context) (leave func(), err error) {
	select {
	case d.registry <- struct{}{}:
		return sync.OnceFunc(func() { <-d.registry }), nil
	case <-d.parts.Stopped:
		return nil, fmt.Errorf("the daemon is stopping: %w", fold.ErrUnavailable)
	case <-ctx.Done():
		return nil, fmt.Errorf("another checkout is being added or removed: %w", fold.ErrUnavailable)
	}
}
