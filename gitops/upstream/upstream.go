// Package upstream fetches branches of the user's remote into a bare repository of our own
// beside theirs, so that what the remote has and they do not can be read without a
// reference of theirs moving (git.md G15, I4). It owns upstream.git in the state folder,
// which may be deleted at any time. Fetching waits for the network.
package upstream

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/gitops/objdb"
	"github.com/foldwatch/foldwatch/gitops/transport"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Branch is one of the remote as it was last fetched, beside the
// user's repository: no reference of the user's names it, and no object of it lies
// among theirs.
type Branch struct {
	// Repo is a repository that has its commits, and sees those of the user's.
	// It is to be read only.
	Repo *usergit.Repo
	Tip  string    // "" if it was never fetched, or the remote has none
	Seen time.Time // when Tip was fetched
}

// Branches are those of the remote of one repository. Safe for concurrent use.
type Branches struct {
	repo   *usergit.Repo
	ready  func() error
	faults disk.Faults
	ssh    transport.SSH

	mu sync.Mutex // one fetch at a time
}

// Open returns the branches of a repository's remote; nothing is read or made yet. Ready
// returns why nothing may be written now, or nil; faults are nil in production.
func Open(repo *usergit.Repo, ready func() error, faults disk.Faults) *Branches {
	return &Branches{repo: repo, ready: ready, faults: faults}
}

func (b *Branches) dir() string { return filepath.Join(b.repo.StateDir(), dirName) }

// Fetch brings what a branch of the remote holds and returns it. Local names a commit of
// the user's, by which is known how the repository names objects. It asks opt.Address and
// nobody else. Errors are *transport.Error.
func (b *Branches) Fetch(ctx context.Context, branch, local string, opt transport.Options) (Branch, error) {
	if err := b.ready(); err != nil {
		return Branch{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	u, err := b.open(len(local)/2, opt)
	if err != nil {
		return Branch{}, err
	}
	defer u.close()
	tip, err := u.fetch(ctx, branch)
	if err != nil {
		return Branch{}, err
	}
	if tip == "" { // there is no such branch, or not any more
		err := u.own.RemoveFile(remoteRef(branch))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Branch{}, disk.Unavailable(err)
		}
	}
	return b.Fetched(branch), nil
}

// Fetched returns a branch of the remote as it was fetched last. It asks nobody and runs
// no program.
func (b *Branches) Fetched(branch string) (is Branch) {
	is.Repo = &usergit.Repo{GitDir: b.dir(), CommonDir: b.dir(), Bare: true}
	path := filepath.Join(b.dir(), filepath.FromSlash(remoteRef(branch)))
	text, err := os.ReadFile(path)
	fi, serr := os.Stat(path)
	if tip := strings.TrimSpace(string(text)); err == nil && serr == nil && transport.IsObjectName(tip) {
		is.Tip, is.Seen = tip, fi.ModTime().UTC()
	}
	return is
}

// dirName is the repository into which branches of the remote are fetched.
const dirName = "upstream.git"

// mostPacks is from how many packs on an upstream is begun anew: what the
// user has fetched meanwhile need not be held twice.
const mostPacks = 40

// An upstream is a bare repository of our own that sees the objects of the user's as
// its alternates, so that only what that lacks is fetched into it. The transport runs
// there, by our configuration, and no reference of the user's moves (G15, I4). It is
// not the sidecar: its history is not whole without the user's, and may be named by
// SHA-256. It holds nothing that cannot be fetched again, so that it may be deleted at
// any time.
type upstream struct {
	dir    string
	users  string // common git directory of the user's
	size   int    // bytes of an object name
	faults disk.Faults
	own    *objdb.Repo
	git    *transport.Remote
}

// open opens the repository and makes it if need be. The caller closes it.
func (b *Branches) open(size int, opt transport.Options) (u *upstream, err error) {
	u = &upstream{dir: b.dir(), users: b.repo.CommonDir, size: size, faults: b.faults}
	if err := u.prepare(); err != nil {
		u.close()
		if _, ok := errors.AsType[*transport.Error](err); ok {
			return nil, err
		}
		return nil, disk.Unavailable(fmt.Errorf("prepare %s: %w", dirName, err))
	}
	opt.Base, opt.SSH = b.repo.Main(), &b.ssh
	if u.git, err = transport.Open(u.own, opt); err != nil {
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
func (u *upstream) prepare() (err error) {
	if n, err := packsIn(u.dir); err == nil && n > mostPacks {
		if err := os.RemoveAll(u.dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(u.dir, 0o777); err != nil {
		return err
	}
	u.own, err = objdb.OpenBeside(u.dir, u.users, u.size == 32, u.faults)
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
func (u *upstream) fetch(ctx context.Context, branch string) (tip string, err error) {
	tip, err = u.git.FetchRef(ctx, "refs/heads/"+branch)
	if err != nil && broken().MatchString(err.Error()) {
		u.close()
		if rerr := os.RemoveAll(u.dir); rerr != nil {
			return "", disk.Unavailable(rerr)
		}
		if perr := u.prepare(); perr != nil {
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
