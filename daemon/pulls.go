package daemon

import (
	"net/url"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
)

// sameRepository reports whether a merged request is of the repository that remote
// names. Hosts are not compared: ssh and proxies have names of their own for them. A
// path of this machine has no name at any forge: what is signed for it counts.
func sameRepository(remote string, m *wire.MergeRequest) bool {
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
