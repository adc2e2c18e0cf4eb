package daemon

import (
	"context"
	"io"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/checkout"
	"github.com/foldwatch/foldwatch/daemon/limiter"
	"github.com/foldwatch/foldwatch/daemon/recall"
	"github.com/foldwatch/foldwatch/daemon/work"
	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/vecindex"
)

// Dump writes the logical state of a project's index, for tests that compare
// two of them.
func (d *Daemon) Dump(ctx context.Context, slug string, w io.Writer) error {
	st, err := d.open(ctx, fold.LocalScope(), slug)
	if err != nil {
		return err
	}
	defer st.Release()
	return st.Index.Dump(ctx, w)
}

// RefreshStale asks git now which memories of a project describe their sources as they
// are.
func (d *Daemon) RefreshStale(ctx context.Context, slug string) error {
	st, err := d.open(ctx, fold.LocalScope(), slug)
	if err != nil {
		return err
	}
	defer st.Release()
	return st.Ingest.RefreshStale(ctx)
}

// IndexDir is where the derived stores of the checkout at path lie.
func (d *Daemon) IndexDir(path string) string {
	for _, co := range d.sorted() {
		if co.Record.Path == path {
			return co.IndexDir()
		}
	}
	return ""
}

// ForgetOrders has d know no more in which order searches ranked what they found.
func (d *Daemon) ForgetOrders() { d.kept = recall.ResultOrders{} }

// Lender lends the stores of a project, for searches beside those of d.
func (d *Daemon) Lender(slug string) recall.Checkout {
	return recall.Checkout{Project: slug, Acquire: func(ctx context.Context) (*recall.Service, func(), error) {
		st, err := d.open(ctx, fold.LocalScope(), slug)
		if err != nil {
			return nil, nil, err
		}
		return st.Recall, st.Release, nil
	}}
}

// LateSync returns a sync of the checkout at path as a call that has found it now
// makes it, whatever becomes of the checkout before.
func (d *Daemon) LateSync(path string) func(ctx context.Context) (wire.SyncReply, error) {
	for _, co := range d.sorted() {
		if co.Record.Path == path {
			return func(ctx context.Context) (wire.SyncReply, error) {
				_, reply, err := d.syncNow(ctx, co, false)
				return reply, err
			}
		}
	}
	return nil
}

// RetryAt tells when files that failed are tried again by themselves; zero if
// none are.
func (d *Daemon) RetryAt(path string) (at time.Time) {
	for _, co := range d.sorted() {
		if co.Record.Path == path {
			co.Update(func(c *checkout.Condition) { at = c.Retries.At })
		}
	}
	return at
}

// RetrySoon makes the attempt at files that failed due now.
func (d *Daemon) RetrySoon(path string) {
	for _, co := range d.sorted() {
		if co.Record.Path == path {
			co.Update(func(c *checkout.Condition) { c.Retries.At = time.Now() })
			checkout.Poke(co.Wake)
		}
	}
}

// LookAtTipAt has a look at the default branch wait until then: work that search waits
// for, and that leads to no more work if nothing moved.
func (d *Daemon) LookAtTipAt(path string, at time.Time) {
	for _, co := range d.sorted() {
		if co.Record.Path == path {
			co.Add(work.Task{Kind: work.Tip, Priority: work.Soon, At: at})
		}
	}
}

// DescribeAs has the memory of a source file say what change makes of it, as if
// the describer of that version had described it so.
func (d *Daemon) DescribeAs(ctx context.Context, slug, path, version string, change func(string) string) error {
	st, err := d.open(ctx, fold.LocalScope(), slug)
	if err != nil {
		return err
	}
	defer st.Release()
	store, id := st.Store, fold.FileID(slug, path)
	was, err := store.Read(id.Path())
	if err != nil {
		return err
	}
	now := []byte(change(string(was)))
	if _, err := store.Put(ctx, gitops.Write{ID: id, Path: id.Path(), Base: was, New: now, Described: now}); err != nil {
		return err
	}
	return store.SetDescriber(version)
}

// Describer returns the version of the describer that all descriptions are of.
func (d *Daemon) Describer(ctx context.Context, slug string) (string, error) {
	st, err := d.open(ctx, fold.LocalScope(), slug)
	if err != nil {
		return "", err
	}
	defer st.Release()
	version, _, err := st.Store.Describer()
	return version, err
}

// SetAside returns why the committer leaves a file below fold/ out; "" if it does
// not.
func (d *Daemon) SetAside(ctx context.Context, slug, path string) (string, error) {
	st, err := d.open(ctx, fold.LocalScope(), slug)
	if err != nil {
		return "", err
	}
	defer st.Release()
	return st.Store.Status().SetAside[path], nil
}

// Stopped is closed when the daemon was told to stop, and all its contexts ended.
func (d *Daemon) Stopped() <-chan struct{} { return d.parts.Stopped }

// StoresOpen tells how many checkouts have their stores open, or just being opened
// or closed, how many had at most at once, and how often stores were opened.
func (d *Daemon) StoresOpen() (now, most, opened int64) {
	n, peak, opened := d.parts.Pool.Open()
	return int64(n), int64(peak), opened
}

// Mislay takes the words of one memory out of a project's index, and gives it a
// vector of what has no row, as damage that no checksum tells of would.
func (d *Daemon) Mislay(ctx context.Context, slug, id string) error {
	st, err := d.open(ctx, fold.LocalScope(), slug)
	if err != nil {
		return err
	}
	defer st.Release()
	if err := st.Text.Apply(ctx, st.Text.Seq(), nil, []string{"m:" + id}); err != nil {
		return err
	}
	m := st.Vectors.Serving()
	v := make([]float32, m.Identity.Dim)
	v[0] = 1
	return m.Index.Apply(m.Index.Seq(), []vecindex.Vec{{Key: "m:0000000000000000", Memory: "0000000000000000", V: v}}, []string{"m:" + id})
}

// StatusWhileIndexing asks n times for the status of a checkout that is indexed, while
// what its stores hold is being counted, and returns how often it was counted for an answer.
func (d *Daemon) StatusWhileIndexing(ctx context.Context, path string, n int) (counted int) {
	for _, co := range d.sorted() {
		if co.Record.Path != path {
			continue
		}
		var state string
		var before int
		co.Update(func(c *checkout.Condition) { // as if it were being counted, by somebody who takes long
			state, before = c.Opening.State, c.Tally.Times
			c.Opening.State, c.Tally.Counting, c.Tally.At = "indexing", true, time.Now().Add(-checkout.CountPause)
		})
		for range n {
			co.Status(ctx)
		}
		co.Update(func(c *checkout.Condition) {
			counted = c.Tally.Times - before
			c.Opening.State, c.Tally.Counting = state, false
		})
		return counted
	}
	return -1
}

// CountWhileIndexing has the status of a checkout that is indexed asked for until what
// its stores hold was counted anew, or ctx ends.
func (d *Daemon) CountWhileIndexing(ctx context.Context, path string) (counted bool) {
	for _, co := range d.sorted() {
		if co.Record.Path != path {
			continue
		}
		var state string
		var before int
		co.Update(func(c *checkout.Condition) {
			state, before = c.Opening.State, c.Tally.Times
			c.Opening.State, c.Tally.At = "indexing", time.Time{}
		})
		for !counted && ctx.Err() == nil {
			co.Status(ctx)
			co.Update(func(c *checkout.Condition) { counted = c.Tally.Times > before })
		}
		co.Update(func(c *checkout.Condition) { c.Opening.State = state })
		return counted
	}
	return false
}

// Crowd has d take it that a crowd of searches waits, until leave is called.
func (d *Daemon) Crowd() (leave func()) {
	const many = 1000
	d.parts.Limiter.Pretend(many)
	return func() { d.parts.Limiter.Pretend(-many) }
}

// GatherWrites is for how long writes are gathered beside a crowd.
const GatherWrites = limiter.GatherWrites

// Starting returns how many checkouts are to be run.
func (d *Daemon) Starting() int { return len(d.starts) }
