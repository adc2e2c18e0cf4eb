package gitops

import (
	"context"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/gitops/objdb"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Where a revision is from.
const (
	FromHere   = ""       // the journal: written in this checkout
	FromSync   = "sync"   // the journal: what a sync brought
	FromRemote = "remote" // the remote's branch: written on another machine
)

// takenIn is how the subject of a journal commit begins that holds what came
// from the remote.
const takenIn = "fold: Take in "

// mostRemote bounds how far back the remote's branch is read to find out who
// wrote what came.
const mostRemote = 1000

// eachRemote calls fn with the commits of the remote's branch as it was seen
// last, newest first, and the tree before each, until fn returns false.
func (s *Store) eachRemote(ctx context.Context, most int, fn func(at plumbing.Hash, c *object.Commit, before plumbing.Hash) (bool, error)) error {
	at, err := s.obj.Ref(refRemote)
	if err != nil {
		return err
	}
	for n := 0; !at.IsZero() && n < most; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		c, err := s.obj.CommitOf(at)
		if err != nil {
			return err
		}
		parent := objdb.FirstParent(c)
		before, err := s.obj.TreeOf(parent)
		if err != nil {
			return err
		}
		more, err := fn(at, c, before)
		if err != nil || !more {
			return err
		}
		at = parent
	}
	return nil
}

// versionAt names one version of one file.
type versionAt struct {
	path string
	blob plumbing.Hash // zero: deleted
}

// writers sets who wrote what the revisions of FromSync brought: the authors of
// the commits on the remote that made just these versions. What was merged here
// has no such commit.
func (s *Store) writers(ctx context.Context, revs []Revision, came map[string][]versionAt) error {
	wanted := map[versionAt][]*Revision{}
	for i := range revs {
		for _, v := range came[revs[i].Oid] {
			wanted[v] = append(wanted[v], &revs[i])
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	return s.eachRemote(ctx, mostRemote, func(_ plumbing.Hash, c *object.Commit, before plumbing.Hash) (bool, error) {
		err := s.obj.Diff(before, c.TreeHash, func(path string, _, is plumbing.Hash) {
			v := versionAt{path, is}
			for _, r := range wanted[v] {
				if !slices.Contains(r.Writers, c.Author.Name) {
					r.Writers = append(r.Writers, c.Author.Name)
				}
			}
			delete(wanted, v) // an older commit that made it is not the one that came
		})
		return len(wanted) > 0, err
	})
}

// remoteRevisions returns the revisions of path on the remote's branch whose
// versions are not here, newest first, at most limit (0 means all).
func (s *Store) remoteRevisions(ctx context.Context, path string, here map[plumbing.Hash]bool, limit int) ([]Revision, error) {
	var out []Revision
	most := mostRemote
	if limit <= 0 {
		most = 1 << 30
	}
	err := s.eachRemote(ctx, most, func(at plumbing.Hash, c *object.Commit, before plumbing.Hash) (bool, error) {
		was, err := s.obj.Lookup(before, path)
		if err != nil {
			return false, err
		}
		is, err := s.obj.Lookup(c.TreeHash, path)
		if err != nil || was == is || here[is] {
			return err == nil, err
		}
		r, err := s.revision(at, c, before)
		if err != nil {
			return false, err
		}
		r.From, r.Writers = FromRemote, []string{c.Author.Name}
		out = append(out, r)
		return limit <= 0 || len(out) < limit, nil
	})
	return out, err
}

// resolveRemote returns the commits of the remote's branch whose name begins
// with rev.
func (s *Store) resolveRemote(ctx context.Context, rev string) (found []plumbing.Hash, err error) {
	err = s.eachRemote(ctx, 1<<30, func(at plumbing.Hash, _ *object.Commit, _ plumbing.Hash) (bool, error) {
		if strings.HasPrefix(at.String(), rev) {
			found = append(found, at)
		}
		return true, nil
	})
	return found, err
}
