package daemon

import (
	"context"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// primeWait is how long a brief waits for what was written just before it. Who asks
// begins a session, and waits too.
const primeWait = 100 * time.Millisecond

// Prime returns what an agent should know when its session begins. What is still
// being indexed then is said to be missing.
func (d *Daemon) Prime(ctx context.Context, sc fold.Scope, slug string, in wire.PrimeQuery) (wire.Prime, error) {
	st, err := d.open(ctx, sc, slug)
	if err != nil {
		return wire.Prime{}, err
	}
	defer st.Release()
	p, _ := st.Checkout.Brief()
	waiting, cancel := context.WithTimeout(ctx, primeWait)
	late := p.State == "ready" && st.Checkout.Settled(waiting) != nil // else the state says so
	cancel()
	counts, err := st.Index.Counts(ctx)
	if err != nil {
		return wire.Prime{}, err
	}
	out := wire.Prime{Project: p.Slug, Path: p.Path, State: p.State, Memories: counts.Memories, Notices: st.Checkout.Troubles()}
	if p.Reason != "" {
		out.Notices = append(out.Notices, p.Reason+"; "+p.Hint)
	}
	if late {
		out.Notices = append(out.Notices, "what was written last is still being indexed, and may be missing here")
	}
	if text := st.Checkout.Overdue(ctx); text != "" {
		out.Notices = append(out.Notices, text)
	}
	return st.Recall.Prime(ctx, out, in.Budget)
}
