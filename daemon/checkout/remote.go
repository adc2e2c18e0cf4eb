package checkout

import (
	"context"
	"encoding/json"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/ingest"
	"github.com/foldwatch/foldwatch/daemon/repos"
	"github.com/foldwatch/foldwatch/daemon/work"
	"github.com/foldwatch/foldwatch/gitops/upstream"
)

// fetchedAhead returns the remote's default branch as it was fetched last.
func (w worker) fetchedAhead(ctx context.Context, k *RepoHandle) (b upstream.Branch) {
	name, _, err := k.Ingest.DefaultBranch(ctx)
	if err != nil || name == "" {
		return b
	}
	return k.Store.Upstream().Fetched(name)
}

// rememberAhead makes memories of commits that the remote has and of requests that
// were merged there.
func (w worker) rememberAhead(ctx context.Context, st *Stores) error {
	r, err := st.Ingest.RememberAhead(ctx, w.fetchedAhead(ctx, st.RepoHandle))
	w.after(st, r)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil { // of objects that git has removed, say: what is here is described all the same
		w.Log.WarnContext(ctx, "Commits of the remote not read", "err", err)
	}
	pulls, err := w.rememberPulls(ctx, st)
	if err != nil || len(r.Memories)+len(pulls.Memories) == 0 {
		return err
	}
	w.Add(work.Task{Kind: work.Embed, Priority: work.Later})
	return nil
}

// rememberPulls makes memories of the merged requests that webhooks brought.
func (w worker) rememberPulls(ctx context.Context, st *Stores) (r ingest.Report, err error) {
	due, err := w.State.DueDeliveries(ctx, w.Record.CommonDir)
	if err != nil {
		return r, err
	}
	var list []wire.MergeRequest
	var done []string
	_, rec := w.Sync.On()
	for _, d := range due {
		var in wire.Delivery
		if json.Unmarshal([]byte(d.Work), &in) != nil || in.Merged == nil {
			continue
		}
		done = append(done, d.IDs...)
		if repos.SameRepository(rec.Remote, in.Merged) {
			list = append(list, *in.Merged)
		}
	}
	if len(done) == 0 {
		return r, nil
	}
	r, err = st.Ingest.RememberPulls(ctx, list)
	w.after(st, r)
	if err != nil {
		return r, err
	}
	return r, w.State.DeliveriesDone(ctx, done)
}
