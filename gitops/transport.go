package gitops

import (
	"context"
	"os/exec"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/objdb"
)

// remoteOptions say which remote, and what a transfer may take.
type remoteOptions struct {
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

func (o *remoteOptions) applyDefaults() {
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
// program, run in repo. It asks nobody. It returns a *SyncError if the address may not be
// used, or there is no git.
func openRemote(repo *objdb.Repo, opt remoteOptions) (*gitProgram, error) {
	a, err := parseAddress(opt)
	if err != nil {
		return nil, err
	}
	return newRemote(repo, a, opt)
}

// openCheckout returns the repository of this machine whose git directory is dir.
func openCheckout(repo *objdb.Repo, dir string, ssh *SSH) (*gitProgram, error) {
	return newRemote(repo, address{url: dir, scheme: "file", allow: "file"}, remoteOptions{SSH: ssh})
}

func newRemote(repo *objdb.Repo, a address, opt remoteOptions) (*gitProgram, error) {
	exe, err := exec.LookPath("git")
	if err != nil {
		return nil, syncError(SyncRefused, a.host, "install git", "git is not on the PATH")
	}
	opt.applyDefaults()
	return &gitProgram{exe: exe, obj: repo, at: a, opt: opt}, nil
}

// checkAddress returns an address without credentials, and its host, "" for a path. It
// returns a *SyncError if it may not be used, and asks nobody.
func checkAddress(opt remoteOptions) (url, host string, err error) {
	a, err := parseAddress(opt)
	return a.url, a.host, err
}

// address returns where the remote lies, without credentials.
func (g *gitProgram) address() string { return g.at.url }

// host returns whose machine it is, "" for a path of this one.
func (g *gitProgram) host() string { return g.at.host }

// Tip returns the commit that the remote's branch foldwatch names; zero if there is none.
func (g *gitProgram) Tip(ctx context.Context) (plumbing.Hash, error) {
	tip, err := g.tipOf(ctx, objdb.Head)
	return plumbing.NewHash(tip), err
}

// Fetch brings what the branch holds into the repository and returns its tip; zero if
// there is no branch. It moves no reference.
func (g *gitProgram) Fetch(ctx context.Context) (plumbing.Hash, error) {
	tip, err := g.fetchRef(ctx, objdb.Head)
	return plumbing.NewHash(tip), err
}

// Push moves the branch from was (zero: there is none) to is, which is was or a
// descendant of it. It returns a SyncLost error if the branch is not at was any more.
func (g *gitProgram) Push(ctx context.Context, was, is plumbing.Hash) error {
	from := ""
	if !was.IsZero() {
		from = was.String()
	}
	return g.pushRef(ctx, objdb.Head, from, is.String())
}
