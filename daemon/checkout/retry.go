package checkout

import (
	"context"
	"time"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/work"
)

// watchFailures sees to it that files are tried again which failed for a reason
// that may pass.
func (w worker) watchFailures(ctx context.Context, st *Stores, tried bool) {
	source, memories, err := st.Ingest.Failures(ctx, false)
	if err != nil {
		if ctx.Err() == nil {
			w.Log.WarnContext(ctx, "Failed files not counted", "err", err)
		}
		return
	}
	w.Update(func(c *Condition) { c.Retries.after(time.Now(), len(source)+len(memories), tried) })
	Poke(w.Wake) // the loop looks at the time anew
}

// doRetry reads again what an attempt failed on.
func (w worker) doRetry(ctx context.Context, st *Stores, j work.Job) error {
	if p, ok := w.Cutter.(*chunker.Pool); ok && j.Task.All {
		p.ForgetFailures()
	}
	defer w.endProgress()
	r, err := st.Ingest.Retry(ctx, j.Task.All, w.watched())
	w.after(st, r)
	if err != nil {
		return err
	}
	w.watchFailures(ctx, st, true)
	w.Add(work.Task{Kind: work.Embed, Priority: work.Later})
	return nil
}
