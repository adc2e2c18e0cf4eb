package gitops

import (
	"context"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// CheckRemote returns the address that a sync with opt.Remote goes to, without
// credentials, and its host, "" for a path. It returns a *SyncError if that may not
// be synced with, and asks nobody.
func CheckRemote(opt SyncOptions) (address, host string, err error) {
	a, err := parseAddress(opt, "/")
	return a.url, a.host, err
}

// OnRemoteBranch is OnRemote for the user's own branch of the remote.
func (s *Store) OnRemoteBranch(ctx context.Context, path string, b []byte) (bool, error) {
	notes, err := readUpstream(s.l.StateDir())
	if err != nil || notes.Branch == "" {
		return false, err
	}
	u, ids := s.seenUpstream(notes.of(notes.Branch).Seen)
	if u == nil || ids[0] == "" {
		return false, nil
	}
	defer u.close()
	c, err := u.objects.commit(ctx, ids[0])
	at := c.tree
	for name := range strings.SplitSeq(joinDir(s.foldDir(), path), "/") {
		if err != nil || at == "" {
			return false, err
		}
		var e userEntry
		e, err = u.objects.child(ctx, at, name)
		at = e.oid
	}
	return err == nil && at == u.objects.put("blob", b), err
}

// OnRemote reports whether the remote's branch, as it was last seen, holds the bytes
// b at path below fold/.
func (s *Store) OnRemote(path string, b []byte) (bool, error) {
	tip, err := s.obj.ref(refRemote)
	if err != nil || tip.IsZero() {
		return false, err
	}
	tree, err := s.obj.treeOf(tip)
	if err != nil {
		return false, err
	}
	have, err := s.obj.lookup(tree, path)
	return err == nil && have == plumbing.ComputeHash(plumbing.BlobObject, b), err
}
