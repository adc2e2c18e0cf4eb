package history

import (
	"context"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/foldwatch/foldwatch/gitops/objdb"
)

// maxRemoteCommits bounds how far back the remote's branch is read to find out who
// wrote what came.
const maxRemoteCommits = 1000

// eachRemote calls fn with the commits of the remote's branch as it was seen
// last, newest first, and the tree before each, until fn returns false.
func (r *Reader) eachRemote(ctx context.Context, most int, fn func(at plumbing.Hash, c *object.Commit, before plumbing.Hash) (bool, error)) error {
	at, err := r.obj.Ref(r.remote)
	if err != nil {
		return err
	}
	for n := 0; !at.IsZero() && n < most; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		c, err := r.obj.CommitOf(at)
		if err != nil {
			return err
		}
		parent := objdb.FirstParent(c)
		before, err := r.obj.TreeOf(parent)
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

// fileAt names one version of one file.
type fileAt struct {
	path string
	blob plumbing.Hash // zero: deleted
}

// writers sets who wrote what the revisions of FromSync brought: the authors of
// the commits on the remote that made just these versions. What was merged here
// has no such commit.
func (r *Reader) writers(ctx context.Context, revs []Revision, came map[string][]fileAt) error {
	wanted := map[fileAt][]*Revision{}
	for i := range revs {
		for _, f := range came[revs[i].Oid] {
			wanted[f] = append(wanted[f], &revs[i])
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	return r.eachRemote(ctx, maxRemoteCommits, func(_ plumbing.Hash, c *object.Commit, before plumbing.Hash) (bool, error) {
		err := r.obj.Diff(before, c.TreeHash, func(path string, _, is plumbing.Hash) {
			f := fileAt{path, is}
			for _, v := range wanted[f] {
				if !slices.Contains(v.Writers, c.Author.Name) {
					v.Writers = append(v.Writers, c.Author.Name)
				}
			}
			delete(wanted, f) // an older commit that made it is not the one that came
		})
		return len(wanted) > 0, err
	})
}

// remoteRevisions returns the revisions of path on the remote's branch whose
// versions are not here, newest first, at most limit (0 means all).
func (r *Reader) remoteRevisions(ctx context.Context, path string, here map[plumbing.Hash]bool, limit int) ([]Revision, error) {
	var out []Revision
	most := maxRemoteCommits
	if limit <= 0 {
		most = 1 << 30
	}
	err := r.eachRemote(ctx, most, func(at plumbing.Hash, c *object.Commit, before plumbing.Hash) (bool, error) {
		was, err := r.obj.Lookup(before, path)
		if err != nil {
			return false, err
		}
		is, err := r.obj.Lookup(c.TreeHash, path)
		if err != nil || was == is || here[is] {
			return err == nil, err
		}
		v, err := r.revision(at, c, before)
		if err != nil {
			return false, err
		}
		v.From, v.Writers = FromRemote, []string{c.Author.Name}
		out = append(out, v)
		return limit <= 0 || len(out) < limit, nil
	})
	return out, err
}

// resolveRemote returns the commits of the remote's branch whose name begins
// with rev.
func (r *Reader) resolveRemote(ctx context.Context, rev string) (found []plumbing.Hash, err error) {
	err = r.eachRemote(ctx, 1<<30, func(at plumbing.Hash, _ *object.Commit, _ plumbing.Hash) (bool, error) {
		if strings.HasPrefix(at.String(), rev) {
			found = append(found, at)
		}
		return true, nil
	})
	return found, err
}
