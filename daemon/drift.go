package daemon

import (
	"context"
	"fmt"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/embedding"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Drift compares what is derived of a project with its files, and with each other.
// It reads everything, for seconds where there are many memories.
func (d *Daemon) Drift(ctx context.Context, sc fold.Scope, slug string) (wire.Drift, error) {
	st, err := d.open(ctx, sc, slug)
	if err != nil {
		return wire.Drift{}, err
	}
	defer st.Release()
	m := st.Vectors.Serving()
	if m == nil {
		return wire.Drift{}, fmt.Errorf("project %s is stopping: %w", slug, fold.ErrUnavailable)
	}
	drift, err := st.Ingest.Drift(ctx, st.Index, st.Text, m.Index)
	if err != nil {
		return wire.Drift{}, fmt.Errorf("compare the index of %s: %w", slug, err)
	}
	if drift.VectorsDue, err = st.Index.CountChanged(ctx, m.Index.Seq()); err != nil {
		return wire.Drift{}, err
	}
	drift.Queued = st.Checkout.View().Busy
	if drift.WithoutVector > 0 && drift.VectorsDue == 0 && drift.Queued == 0 && m.Spec == embedding.BuiltinProvider {
		drift.Differences = append(drift.Differences, fmt.Sprintf("%d memories and chunks have no vector", drift.WithoutVector))
	}
	return drift, nil
}
