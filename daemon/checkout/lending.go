package checkout

import (
	"context"
	"errors"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/storepool"
	"github.com/foldwatch/foldwatch/daemon/work"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// errAnew says that stores were found begun anew where they had been left: all
// that is known of them is to be learned again.
var errAnew = errors.New("the index was begun anew")

// source opens and closes the derived stores of a turn, for which kept waits until the
// rest of the checkout is open.
func (t turn) source(ctx context.Context, kept func(context.Context) (*RepoHandle, error)) storepool.Source[*Stores] {
	first := true
	return storepool.Source[*Stores]{
		Open: func(ctx context.Context) (*Stores, error) {
			st, err := openDerived(ctx, t.Checkout)
			if err != nil {
				return nil, err
			}
			k, err := kept(ctx)
			if err == nil {
				err = t.attach(ctx, k, st, first)
			}
			if err != nil {
				return nil, errors.Join(err, t.closeStores(ctx, st))
			}
			first = false
			return st, nil
		},
		Close: func(st *Stores) error {
			if ctx.Err() == nil {
				t.keepCounted(ctx, st)
				t.Log.DebugContext(ctx, "Stores rest")
			}
			return t.closeStores(ctx, st)
		},
		Busy: func(st *Stores) bool { return st.Vectors.Serving().Index.Building() },
	}
}

// attach ties opened stores to what of the checkout is open. At the first opening of a
// turn what a crash left is covered by one sweep; at later ones work is added for what
// they lack.
func (t turn) attach(ctx context.Context, k *RepoHandle, st *Stores, first bool) error {
	if !first && k.generation != "" && (st.begun() || st.Index.Generation != k.generation) {
		t.restart()
		return errAnew
	}
	st.attach(t.Checkout, k)
	k.generation = st.Index.Generation
	st.Index.OnDamage(t.damaged)
	if first {
		worker(t).recoverAcknowledged(ctx, st)
	} else if err := worker(t).catchUp(ctx, st); err != nil {
		return err
	}
	t.Update(func(c *Condition) { c.rest.since = time.Time{} })
	return nil
}

// catchUp adds what is to be done in stores that were just opened again.
func (w worker) catchUp(ctx context.Context, st *Stores) error {
	seq, err := st.Index.Seq(ctx)
	if err != nil {
		return err
	}
	wanted, err := w.wantsVectors(ctx, st)
	if err != nil {
		return err
	}
	due := st.Text.Seq() < seq // the words of a change are not there: the sweep finds them out
	w.Update(func(c *Condition) { due, c.rest.sweepDue = due || c.rest.sweepDue, false })
	if due {
		w.Add(work.Task{Kind: work.Sweep, Priority: work.Soon})
	}
	if wanted {
		w.Add(work.Task{Kind: work.Embed, Priority: work.Later})
	}
	return nil
}

// keepCounted notes what status tells of stores that rest. No job runs any more.
func (t turn) keepCounted(ctx context.Context, st *Stores) {
	t.countsOf(ctx, st, new(wire.ProjectStatus))
	t.Update(func(c *Condition) { c.rest.since = t.Now() })
}

// closeStores closes stores that nobody uses any more. It returns an error if they
// turned out to be damaged.
func (t turn) closeStores(ctx context.Context, st *Stores) error {
	st.Index.OnDamage(nil)
	if st.RepoHandle != nil {
		st.Ingest.Rest()
	}
	err := st.close()
	if err != nil {
		t.Log.WarnContext(ctx, "Stores not closed cleanly", "err", err)
	}
	if errors.Is(err, sqlite.ErrDamaged) {
		return err
	}
	return nil
}
