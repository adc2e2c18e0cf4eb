package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/checkout"
	"github.com/foldwatch/foldwatch/daemon/ingest/tip"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
)

// A webhook says that something happened at the remote, and that is all that is
// taken from it: what came is asked of the remote that the user registered, in a
// round of its sync. Only of a merged request is the text kept, since git
// does not have it.

// hooked returns the checkout that webhooks may tell of: its sync is on, so that the
// user agreed to talk with its remote.
func (d *Daemon) hooked(repository string) *checkout.Checkout {
	d.mu.Lock()
	co := d.checkouts[repository]
	d.mu.Unlock()
	if co == nil {
		return nil
	}
	if runner, _ := co.Sync.On(); runner == nil {
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
	secret, err := d.parts.Config.For(co.Record.Slug).WebhookSecret()
	if err != nil {
		d.opt.Log.Warn("No secret of webhooks", "project", co.Record.Slug, "err", err)
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
	why := co.Sync.PassesOver(ctx, in)
	work := ""
	if why == "" {
		b, err := json.Marshal(in)
		if err != nil {
			return wire.DeliveryReply{}, err
		}
		work = string(b)
	}
	err := d.parts.State.TakeDelivery(ctx, state.Delivery{IDs: in.IDs, CommonDir: co.Record.CommonDir, At: d.opt.Now().UTC(), Work: work})
	if err != nil {
		return wire.DeliveryReply{}, fmt.Errorf("webhook of repository %s: %w", repository, err)
	}
	if why != "" {
		return wire.DeliveryReply{Status: "ignored", Reason: why}, nil
	}
	d.parts.Log.InfoContext(ctx, "Webhook taken", "project", co.Record.Slug, "event", in.Event)
	if runner, _ := co.Sync.On(); runner != nil {
		runner.Hooked()
	}
	return wire.DeliveryReply{Status: "queued"}, nil
}
