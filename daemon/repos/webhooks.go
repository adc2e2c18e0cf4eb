package repos

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/gitops/transport"
)

// FoldBranch is the branch of the remote that a round syncs.
const FoldBranch = "foldwatch"

// aheadNotice is the subject of a notice.
const aheadNotice = "default branch"

// PassesOver is why nothing is to be done about a webhook, "" if something is: what
// was pushed from here, above all, is here.
func (y *Sync) PassesOver(ctx context.Context, in wire.Delivery) string {
	t := y.leader()
	_, rec := y.On()
	if t == nil { // being opened: it is looked at then
		return ""
	}
	if in.Merged != nil {
		if !SameRepository(rec.Remote, in.Merged) {
			return "it is of another repository than the registered remote"
		}
		return ""
	}
	if in.Event != wire.EventPush {
		return ""
	}
	name, tip, err := y.main.at(ctx, t.Repo())
	switch {
	case err != nil:
		return ""
	case in.Ref == "refs/heads/"+FoldBranch:
		name = FoldBranch
	case in.Ref != "refs/heads/"+name:
		return "it is neither the default branch nor that of the memories"
	case in.After == tip:
		return "that commit is here"
	}
	store := t.Memories()
	if name == FoldBranch && store.Syncer().KnowsTip(in.After) || store.Upstream().Fetched(name).Tip == in.After {
		return "that commit is known"
	}
	return ""
}

// fetchTold fetches the default branch of the remote where a webhook said that it
// moved, beside the user's repository. What came is read by a job.
func (y *Sync) fetchTold(ctx context.Context, t Tree) error {
	due, err := y.State.DueDeliveries(ctx, y.dir)
	if err != nil || len(due) == 0 {
		return err
	}
	name, tip, err := y.main.at(ctx, t.Repo())
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
		was := t.Memories().Upstream().Fetched(name)
		is, err := t.Memories().Upstream().Fetch(ctx, name, tip, y.options().Transport())
		bad, _ := errors.AsType[*transport.Error](err)
		switch {
		case bad != nil && (bad.Kind == transport.Refused || bad.Kind == transport.Untrusted || bad.Kind == transport.Missing):
			// The user's own commits are at fault: memories are synced all the same.
			t.Note(aheadNotice, "the branch "+name+" of the remote is not fetched: "+bad.Error())
		case err != nil:
			return failed(err)
		default:
			t.Note(aheadNotice, "")
		}
		if err == nil && is.Tip != was.Tip {
			y.log.InfoContext(ctx, "Default branch fetched", "branch", name, "rev", is.Tip)
		}
	}
	if moved || merged {
		t.TipMoved()
	}
	return y.State.DeliveriesDone(ctx, done)
}

// SameRepository reports whether a merged request is of the repository that remote
// names. Hosts are not compared: ssh and proxies have names of their own for them. A
// path of this machine has no name at any forge: what is signed for it counts.
func SameRepository(remote string, m *wire.MergeRequest) bool {
	var path string
	switch u, err := url.Parse(remote); {
	case strings.HasPrefix(remote, "/"), strings.HasPrefix(remote, "file:"), kindOf(remote) == "local":
		return true
	case err == nil && u.Host != "":
		path = u.Path
	default: // host:path
		_, path, _ = strings.Cut(remote, ":")
	}
	path = strings.ToLower(strings.TrimSuffix(strings.Trim(path, "/"), ".git"))
	return path == m.Repo || strings.HasSuffix(path, "/"+m.Repo)
}
