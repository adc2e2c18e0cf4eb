package gitops

import (
	"context"
	"fmt"

	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// In tracked mode HEAD tracks fold/, and git is its people's (git.md, Tracked mode):
// the store writes working files, the wal and its own journal, and reads from the
// user's repository what their commits have. It asks git only after HEAD moved.

// InUserHistory reports whether HEAD has the bytes b at path below fold/, and whether
// the remote's branch has them too, as it was fetched or pushed last.
func (s *Store) InUserHistory(ctx context.Context, path string, b []byte) (committed, pushed bool, err error) {
	head, blobs, err := s.user.Head(ctx)
	if err != nil || head == "" {
		return false, false, err
	}
	name := usergit.BlobName(b, len(head) == 64)
	if committed = blobs[path] == name; !committed {
		return false, false, nil
	}
	if blobs, err = s.user.Upstream(ctx); err != nil {
		return committed, false, err
	}
	return committed, blobs[path] == name, nil
}

// foldMissing is the error of a write where neither the work tree nor HEAD has fold/
// (git.md T3): a branch without memories is not given any unasked. It is nil where
// fold/ may be made.
func (t tracker) foldMissing(ctx context.Context) error {
	_, blobs, err := t.user.Head(ctx)
	if err != nil || len(blobs) > 0 {
		return err
	}
	return fold.WithHint(fmt.Errorf("the branch checked out in %s has no %s/: %w", t.l.WorkTree, t.foldDir(), fold.ErrUnavailable),
		"git switch to a branch that has it; or bring it here: git checkout BRANCH -- "+t.foldDir()+"; or keep memories beside your branches: foldwatch untrack")
}

// headNow is the commit that HEAD names, for a record of the wal; "" in sidecar mode,
// and where it cannot be read, which is no commit's name.
func (t tracker) headNow() string {
	if !t.opt.Tracked {
		return ""
	}
	head, err := t.l.HeadOid()
	if err != nil {
		t.log.Warn("HEAD not read", "err", err)
	}
	return head
}

// takenByGit tells which missing files git took out of the work tree in tracked mode:
// those that went with a branch that has them, and what a sparse checkout leaves out.
type takenByGit struct {
	user   *usergit.Folder
	off    bool            // in sidecar mode git takes no file
	sparse map[string]bool // nil until it is asked for
}

// took reports whether git took the file of c, which is missing. What was deleted through
// the API was not.
func (t *takenByGit) took(ctx context.Context, c *change) (bool, error) {
	if t.off || c.ours != nil && c.ours.New == nil {
		return false, nil
	}
	_, committed, err := t.user.Head(ctx)
	if err != nil || committed[c.path] == "" {
		return err == nil, err
	}
	if t.sparse == nil {
		t.sparse, err = t.user.Sparse(ctx)
	}
	return t.sparse[c.path], err
}

// LeftOut returns how many files of fold/ a sparse checkout keeps out of the work tree.
func (s *Store) LeftOut(ctx context.Context) (int, error) {
	out, err := s.user.Sparse(ctx)
	return len(out), err
}
