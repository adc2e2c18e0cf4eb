package checkout

import (
	"context"
	"time"
)

// What a crash leaves of acknowledged writes is indexed before anybody is answered, within
// bounds: beyond them searches say that some changes are still being indexed.
const (
	recoverMost = 300             // memories, and changes that the text index lacks
	recoverTime = 2 * time.Second // beyond which nobody waits for it
)

// recoverAcknowledged finds by search what was acknowledged before the last life of the
// daemon ended: the text index takes what the database has, and the index takes the
// files of writes that no commit tells of. The sweep does what does not end well.
func (w worker) recoverAcknowledged(ctx context.Context, st *Stores) {
	ctx, cancel := context.WithTimeout(ctx, recoverTime)
	defer cancel()
	err := w.indexAcknowledged(ctx, st)
	if err != nil && ctx.Err() == nil {
		w.Log.WarnContext(ctx, "Acknowledged writes are left to the sweep", "err", err)
	}
}

func (w worker) indexAcknowledged(ctx context.Context, st *Stores) error {
	seq, err := st.Index.Seq(ctx)
	if err != nil {
		return err
	}
	if behind := seq - st.Text.Seq(); behind > 0 {
		if behind > recoverMost {
			return nil // all of it would have to be fed first
		}
		if err := st.Ingest.CatchUp(ctx, nil); err != nil {
			return err
		}
	}
	paths := st.Store.Uncommitted()
	if len(paths) == 0 || len(paths) > recoverMost {
		return nil
	}
	// What is gone may have vanished, which the sweep finds out.
	r, err := st.Ingest.Fold(ctx, st.present(paths), nil)
	w.after(st, r)
	return err
}
