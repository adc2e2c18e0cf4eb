package transport

import (
	"context"
	"os/exec"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/objdb"
)

// remoteOptions say which remote, and what a transfer may take.
type Options struct {
	Address string // as the user registered it; credentials in it are dropped
	Base    string // the folder at which a path that is not absolute begins
	// Local allows file:// and paths, PlainHTTP http:// to other machines than
	// this one: only where the user registered that on this machine (G15).
	Local     bool
	PlainHTTP bool

	MaxBytes int64         // what one fetch may bring; zero means 512 MB
	Timeout  time.Duration // of a fetch or push; zero means 10 minutes
	SSH      *SSH          // nil means one of its own
}

func (o *Options) applyDefaults() {
	if o.MaxBytes <= 0 {
		o.MaxBytes = maxReceived
	}
	if o.Timeout <= 0 {
		o.Timeout = transferLimit
	}
	if o.SSH == nil {
		o.SSH = &SSH{}
	}
}

// openRemote returns the remote at an address, to be spoken to by the user's git
// program, run in repo. It asks nobody. It returns a *Error if the address may not be
// used, or there is no git.
func Open(repo *objdb.Repo, opt Options) (*Remote, error) {
	a, err := parseAddress(opt)
	if err != nil {
		return nil, err
	}
	return newRemote(repo, a, opt)
}

// OpenCheckout returns the repository of this machine whose git directory is dir.
func OpenCheckout(repo *objdb.Repo, dir string, ssh *SSH) (*Remote, error) {
	return newRemote(repo, address{url: dir, scheme: "file", allow: "file"}, Options{SSH: ssh})
}

func newRemote(repo *objdb.Repo, a address, opt Options) (*Remote, error) {
	exe, err := exec.LookPath("git")
	if err != nil {
		return nil, Errorf(Refused, a.host, "install git", "git is not on the PATH")
	}
	opt.applyDefaults()
	return &Remote{exe: exe, Obj: repo, at: a, opt: opt}, nil
}

// CheckAddress returns an address without credentials, and its host, "" for a path. It
// returns a *Error if it may not be used, and asks nobody.
func CheckAddress(opt Options) (url, host string, err error) {
	a, err := parseAddress(opt)
	return a.url, a.host, err
}

// Address returns where the remote lies, without credentials.
func (g *Remote) Address() string { return g.at.url }

// Host returns whose machine it is, "" for a path of this one.
func (g *Remote) Host() string { return g.at.host }

// Tip returns the commit that the remote's branch foldwatch names; zero if there is none.
func (g *Remote) Tip(ctx context.Context) (plumbing.Hash, error) {
	tip, err := g.tipOf(ctx, objdb.Head)
	return plumbing.NewHash(tip), err
}

// Fetch brings what the branch holds into the repository and returns its tip; zero if
// there is no branch. It moves no reference.
func (g *Remote) Fetch(ctx context.Context) (plumbing.Hash, error) {
	tip, err := g.FetchRef(ctx, objdb.Head)
	return plumbing.NewHash(tip), err
}

// Push moves the branch from was (zero: there is none) to is, which is was or a
// descendant of it. It returns an error of kind Lost if the branch is not at was any more.
func (g *Remote) Push(ctx context.Context, was, is plumbing.Hash) error {
	from := ""
	if !was.IsZero() {
		from = was.String()
	}
	return g.pushRef(ctx, objdb.Head, from, is.String())
}
