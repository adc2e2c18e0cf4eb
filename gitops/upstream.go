package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/foldwatch/foldwatch/gitops/objdb"
	"github.com/foldwatch/foldwatch/gitops/transport"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// upstreamName is the repository into which branches of the remote are fetched.
const upstreamName = "upstream.git"

// mostUpstreamPacks is from how many packs on an upstream is begun anew: what the
// user has fetched meanwhile need not be held twice.
const mostUpstreamPacks = 40

// An upstream is a bare repository of our own that sees the objects of the user's as
// its alternates, so that only what that lacks is fetched into it. The transport runs
// there, by our configuration, and no reference of the user's moves (G15, I4). It is
// not the sidecar: its history is not whole without the user's, and may be named by
// SHA-256. It holds nothing that cannot be fetched again, so that it may be deleted at
// any time. For whoever holds the store's syncing lock.
type upstream struct {
	dir  string
	size int // bytes of an object name
	own  *objdb.Repo
	git  *transport.Remote
}

// openUpstream opens the upstream of a store and makes it if need be. The caller
// closes it.
func (s *Store) openUpstream(size int, opt SyncOptions) (u *upstream, err error) {
	u = &upstream{dir: filepath.Join(s.l.StateDir(), upstreamName), size: size}
	if err := u.prepare(s); err != nil {
		u.close()
		if _, ok := errors.AsType[*transport.Error](err); ok {
			return nil, err
		}
		return nil, disk.Unavailable(fmt.Errorf("prepare %s: %w", upstreamName, err))
	}
	if u.git, err = transport.Open(u.own, s.remote(opt)); err != nil {
		u.close()
		return nil, err
	}
	return u, nil
}

func (u *upstream) close() {
	if u.own != nil {
		_ = u.own.Close()
	}
}

// prepare opens the repository that sees the objects of the user's. One that has
// gathered too many packs is begun anew.
func (u *upstream) prepare(s *Store) (err error) {
	l := s.l
	if n, err := packsIn(u.dir); err == nil && n > mostUpstreamPacks {
		if err := os.RemoveAll(u.dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(u.dir, 0o777); err != nil {
		return err
	}
	u.own, err = objdb.OpenBeside(u.dir, l.CommonDir, u.size == 32, s.opt.Faults)
	if errors.Is(err, fold.ErrForbidden) {
		return &transport.Error{Kind: transport.Refused, Err: err}
	}
	return err
}

// packsIn counts the packs of a repository.
func packsIn(dir string) (int, error) {
	list, err := os.ReadDir(filepath.Join(dir, "objects", "pack"))
	n := 0
	for _, e := range list {
		if path.Ext(e.Name()) == ".pack" {
			n++
		}
	}
	return n, err
}

// remoteRef is where the upstream keeps what it saw of a branch of the remote: only so
// that the next fetch need not bring it again.
func remoteRef(branch string) string {
	// One level, so that a branch may be called what was a folder of others.
	return "refs/foldwatch/remote/" + strings.ReplaceAll(branch, "/", "%2F")
}

// broken matches what git says where objects are gone that history needs: the user's
// git has removed what nothing of the user's names any more.
var broken = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)bad object|missing (?:blob|tree|commit|object)|unable to read|unable to parse|did not send all necessary objects|could not parse|not a valid object`)
})

// fetch brings a branch of the remote, and returns its tip; "" if there is none.
func (u *upstream) fetch(ctx context.Context, s *Store, branch string) (tip string, err error) {
	tip, err = u.git.FetchRef(ctx, "refs/heads/"+branch)
	if err != nil && broken().MatchString(err.Error()) {
		u.close()
		if rerr := os.RemoveAll(u.dir); rerr != nil {
			return "", disk.Unavailable(rerr)
		}
		if perr := u.prepare(s); perr != nil {
			return "", disk.Unavailable(perr)
		}
		u.git.Obj = u.own
		tip, err = u.git.FetchRef(ctx, "refs/heads/"+branch)
	}
	if err != nil || tip == "" {
		return "", err
	}
	if len(tip) != 2*u.size {
		return "", transport.Errorf(transport.Refused, u.git.Host(), "", "the remote names objects in another way than this repository")
	}
	return tip, disk.Unavailable(u.own.WriteFile(remoteRef(branch), []byte(tip+"\n")))
}
