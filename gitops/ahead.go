package gitops

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/gitops/transport"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/disk"
)

// A RemoteBranch is a branch of the remote as it was last fetched, beside the
// user's repository: no reference of the user's names it, and no object of it lies
// among theirs.
type RemoteBranch struct {
	// Layout is of a repository that has its commits, and sees those of the user's.
	// It is to be read only.
	Layout *usergit.Repo
	Tip    string    // "" if it was never fetched, or the remote has none
	Seen   time.Time // when Tip was fetched
}

// FetchBranch brings what a branch of the remote holds, into a repository of our
// own, and returns it. Local names a commit of the user's, by which is known how
// the repository names objects. It asks opt.Remote and nobody else. Errors are
// *transport.Error.
func (s *Store) FetchBranch(ctx context.Context, branch, local string, opt SyncOptions) (RemoteBranch, error) {
	if err := s.writable(); err != nil {
		return RemoteBranch{}, err
	}
	s.syncing.Lock()
	defer s.syncing.Unlock()
	u, err := s.openUpstream(len(local)/2, opt)
	if err != nil {
		return RemoteBranch{}, err
	}
	defer u.close()
	tip, err := u.fetch(ctx, s, branch)
	if err != nil {
		return RemoteBranch{}, err
	}
	if tip == "" { // there is no such branch, or not any more
		err := u.own.RemoveFile(remoteRef(branch))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return RemoteBranch{}, disk.Unavailable(err)
		}
	}
	return s.FetchedBranch(branch), nil
}

// FetchedBranch returns a branch of the remote as it was fetched last. It asks
// nobody and runs no program.
func (s *Store) FetchedBranch(branch string) (b RemoteBranch) {
	dir := filepath.Join(s.l.StateDir(), upstreamName)
	b.Layout = &usergit.Repo{GitDir: dir, CommonDir: dir, Bare: true}
	path := filepath.Join(dir, filepath.FromSlash(remoteRef(branch)))
	text, err := os.ReadFile(path)
	fi, serr := os.Stat(path)
	if tip := strings.TrimSpace(string(text)); err == nil && serr == nil && transport.IsObjectName(tip) {
		b.Tip, b.Seen = tip, fi.ModTime().UTC()
	}
	return b
}

// KnowsTip reports whether a branch of the remote is known to have stood at a
// commit, because it was fetched.
func (s *Store) KnowsTip(branch, commit string) bool {
	if branch == usergit.BranchName {
		if tip, err := s.obj.Ref(refRemote); err == nil && hashText(tip) == commit {
			return true
		}
	}
	return s.FetchedBranch(branch).Tip == commit
}
