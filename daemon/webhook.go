package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/ingest"
	"github.com/foldwatch/foldwatch/daemon/ingest/tip"
	"github.com/foldwatch/foldwatch/daemon/repos"
	"github.com/foldwatch/foldwatch/daemon/work"
	"github.com/foldwatch/foldwatch/gitops/upstream"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
)

// A webhook says that something happened at the remote, and that is all that is
// taken from it: what came is asked of the remote that the user registered, in a
// round of its sync. Only of a merged request is the text kept, since git
// does not have it.

// hooked returns the checkout that webhooks may tell of: its sync is on, so that the
// user agreed to talk with its remote.
func (d *Daemon) hooked(repository string) *checkout {
	d.mu.Lock()
	co := d.checkouts[repository]
	d.mu.Unlock()
	if co == nil {
		return nil
	}
	if runner, _ := co.sync.On(); runner == nil {
		return nil
	}
	return co
}

// WebhookSecret returns the secret by which webhooks of a repository are signed; ""
// where none are taken. A repository is a checkout, by its key.
func (d *Daemon) WebhookSecret(repository string) string {
	co := d.hooked(repository)
	if co == nil {
		return ""
	}
	secret, err := d.parts.cfg.For(co.rec.Slug).WebhookSecret()
	if err != nil {
		d.opt.Log.Warn("No secret of webhooks", "project", co.rec.Slug, "err", err)
	}
	return secret
}

// TakeDelivery keeps what a webhook asks for, so that it is done also after a crash,
// and asks for a round. It waits for nothing but the disk. It returns ErrConflict for
// what was taken before, and ErrNotFound for a repository of which nothing may be
// told.
func (d *Daemon) TakeDelivery(ctx context.Context, repository string, in wire.Delivery) (wire.DeliveryReply, error) {
	co := d.hooked(repository)
	if co == nil {
		return wire.DeliveryReply{}, fmt.Errorf("repository %q: %w", repository, fold.ErrNotFound)
	}
	if in.Merged != nil { // what will not be kept need not be stored until it is looked at
		request := *in.Merged
		request.Text = strings.ToValidUTF8(request.Text[:min(len(request.Text), tip.MaxPullText)], "")
		in.Merged = &request
	}
	why := co.sync.PassesOver(ctx, in)
	work := ""
	if why == "" {
		b, err := json.Marshal(in)
		if err != nil {
			return wire.DeliveryReply{}, err
		}
		work = string(b)
	}
	err := d.parts.state.TakeDelivery(ctx, state.Delivery{IDs: in.IDs, CommonDir: co.rec.CommonDir, At: d.opt.Now().UTC(), Work: work})
	if err != nil {
		return wire.DeliveryReply{}, fmt.Errorf("webhook of repository %s: %w", repository, err)
	}
	if why != "" {
		return wire.DeliveryReply{Status: "ignored", Reason: why}, nil
	}
	d.parts.log.InfoContext(ctx, "Webhook taken", "project", co.rec.Slug, "event", in.Event)
	if runner, _ := co.sync.On(); runner != nil {
		runner.Hooked()
	}
	return wire.DeliveryReply{Status: "queued"}, nil
}

// fetchedAhead returns the remote's default branch as it was fetched last.
func (co *checkout) fetchedAhead(ctx context.Context, k *repoHandle) (b upstream.Branch) {
	name, _, err := k.in.DefaultBranch(ctx)
	if err != nil || name == "" {
		return b
	}
	return k.store.Upstream().Fetched(name)
}

// rememberAhead makes memories of commits that the remote has and of requests that
// were merged there.
func (co *checkout) rememberAhead(ctx context.Context, st *stores) error {
	r, err := st.in.RememberAhead(ctx, co.fetchedAhead(ctx, st.repoHandle))
	co.after(st, r)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil { // of objects that git has removed, say: what is here is described all the same
		co.log.WarnContext(ctx, "Commits of the remote not read", "err", err)
	}
	pulls, err := co.rememberPulls(ctx, st)
	if err != nil || len(r.Memories)+len(pulls.Memories) == 0 {
		return err
	}
	co.add(work.Task{Kind: work.Embed, Priority: work.Later})
	return nil
}

// rememberPulls makes memories of the merged requests that webhooks brought.
func (co *checkout) rememberPulls(ctx context.Context, st *stores) (r ingest.Report, err error) {
	due, err := co.parts.state.DueDeliveries(ctx, co.rec.CommonDir)
	if err != nil {
		return r, err
	}
	var list []wire.MergeRequest
	var done []string
	_, rec := co.sync.On()
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
	r, err = st.in.RememberPulls(ctx, list)
	co.after(st, r)
	if err != nil {
		return r, err
	}
	return r, co.parts.state.DeliveriesDone(ctx, done)
}
