package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/ingest"
	"github.com/foldwatch/foldwatch/daemon/ingest/tip"
	"github.com/foldwatch/foldwatch/daemon/work"
	"github.com/foldwatch/foldwatch/gitops/transport"
	"github.com/foldwatch/foldwatch/gitops/upstream"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
)

// A webhook says that something happened at the remote, and that is all that is
// taken from it: what came is asked of the remote that the user registered, in a
// round of its sync. Only of a merged request is the text kept (pulls.go), since git
// does not have it.

// foldBranch is the branch of the remote that a round syncs.
const foldBranch = "foldwatch"

// aheadNotice is the subject of a notice.
const aheadNotice = "default branch"

// hooked returns the checkout that webhooks may tell of: its sync is on, so that the
// user agreed to talk with its remote.
func (d *Daemon) hooked(repository string) *checkout {
	d.mu.Lock()
	co := d.checkouts[repository]
	d.mu.Unlock()
	if co == nil {
		return nil
	}
	if runner, _ := co.sync.on(); runner == nil {
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
	why := co.sync.passesOver(ctx, in)
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
	if runner, _ := co.sync.on(); runner != nil {
		runner.Hooked()
	}
	return wire.DeliveryReply{Status: "queued"}, nil
}

// A defaultBranch knows the default branch of a repository, and how many commits the
// remote's has beyond it. It is safe for concurrent use.
type defaultBranch struct {
	mu     sync.Mutex    // guards the fields below; held while git is asked
	of     *usergit.Repo // what branch is of; nil before
	branch *usergit.Branch
	local  string // what was compared last
	remote string
	apart  int
}

// at returns the name of the branch and its tip, "" where there is none.
func (b *defaultBranch) at(ctx context.Context, l *usergit.Repo) (name, tip string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of != l {
		b.of, b.branch = l, l.NewBranch()
	}
	return b.branch.Default(ctx)
}

// ahead returns how many commits remote has that local lacks.
func (b *defaultBranch) ahead(ctx context.Context, local string, remote upstream.Branch) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.local != local || b.remote != remote.Tip {
		_, n, err := remote.Repo.Apart(ctx, local, remote.Tip)
		if err != nil {
			return 0, err
		}
		b.local, b.remote, b.apart = local, remote.Tip, n
	}
	return b.apart, nil
}

// passesOver is why nothing is to be done about a webhook, "" if something is: what
// was pushed from here, above all, is here.
func (y *syncing) passesOver(ctx context.Context, in wire.Delivery) string {
	_, k := y.leader()
	_, rec := y.on()
	if k == nil { // being opened: it is looked at then
		return ""
	}
	if in.Merged != nil {
		if !sameRepository(rec.Remote, in.Merged) {
			return "it is of another repository than the registered remote"
		}
		return ""
	}
	if in.Event != wire.EventPush {
		return ""
	}
	name, tip, err := y.main.at(ctx, k.layout)
	switch {
	case err != nil:
		return ""
	case in.Ref == "refs/heads/"+foldBranch:
		name = foldBranch
	case in.Ref != "refs/heads/"+name:
		return "it is neither the default branch nor that of the memories"
	case in.After == tip:
		return "that commit is here"
	}
	store := k.sidecar.store
	if name == foldBranch && store.Syncer().KnowsTip(in.After) || store.Upstream().Fetched(name).Tip == in.After {
		return "that commit is known"
	}
	return ""
}

// fetchTold fetches the default branch of the remote where a webhook said that it
// moved, beside the user's repository. What came is read by a job.
func (y *syncing) fetchTold(ctx context.Context, co *checkout, k *repoHandle) error {
	due, err := y.state.DueDeliveries(ctx, y.dir)
	if err != nil || len(due) == 0 {
		return err
	}
	name, tip, err := y.main.at(ctx, k.layout)
	if err != nil {
		return err
	}
	var done []string
	moved, merged := false, false
	for _, d := range due {
		var in wire.Delivery
		_ = json.Unmarshal([]byte(d.Work), &in) // what cannot be read is done with
		if in.Merged == nil {
			done = append(done, d.IDs...)
		}
		merged = merged || in.Merged != nil
		moved = moved || in.Event == wire.EventTag || in.Ref == "refs/heads/"+name
	}
	if moved && tip != "" {
		was := k.sidecar.store.Upstream().Fetched(name)
		is, err := k.sidecar.store.Upstream().Fetch(ctx, name, tip, y.options().Transport())
		bad, _ := errors.AsType[*transport.Error](err)
		switch {
		case bad != nil && (bad.Kind == transport.Refused || bad.Kind == transport.Untrusted || bad.Kind == transport.Missing):
			// The user's own commits are at fault: memories are synced all the same.
			co.note(aheadNotice, "the branch "+name+" of the remote is not fetched: "+bad.Error())
		case err != nil:
			return failed(err)
		default:
			co.note(aheadNotice, "")
		}
		if err == nil && is.Tip != was.Tip {
			co.log.InfoContext(ctx, "Default branch fetched", "branch", name, "rev", is.Tip)
		}
	}
	if moved || merged {
		co.add(work.Task{Kind: work.Tip, Priority: work.Soon, Moved: true})
	}
	return y.state.DeliveriesDone(ctx, done)
}

// fetchedAhead returns the remote's default branch as it was fetched last.
func (co *checkout) fetchedAhead(ctx context.Context, k *repoHandle) (b upstream.Branch) {
	name, _, err := k.in.DefaultBranch(ctx)
	if err != nil || name == "" {
		return b
	}
	return k.sidecar.store.Upstream().Fetched(name)
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
	_, rec := co.sync.on()
	for _, d := range due {
		var in wire.Delivery
		if json.Unmarshal([]byte(d.Work), &in) != nil || in.Merged == nil {
			continue
		}
		done = append(done, d.IDs...)
		if sameRepository(rec.Remote, in.Merged) {
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

// ahead tells how far the remote's default branch is ahead, nil where it is not or
// was never fetched.
func (co *checkout) ahead(ctx context.Context, k *repoHandle) *wire.RemoteAhead {
	name, tip, err := co.sync.main.at(ctx, k.layout)
	if err != nil || tip == "" {
		return nil
	}
	b := k.sidecar.store.Upstream().Fetched(name)
	if b.Tip == "" || b.Tip == tip {
		return nil
	}
	n, err := co.sync.main.ahead(ctx, tip, b)
	if err != nil {
		co.log.WarnContext(ctx, "Branch not compared with the remote", "err", err)
		return nil
	}
	if n == 0 {
		return nil
	}
	return &wire.RemoteAhead{Branch: name, Commits: n, Rev: b.Tip, SeenAt: b.Seen}
}
