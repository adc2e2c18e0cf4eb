package repos

import (
	"context"
	"net/url"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
)

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
