package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/disk"
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
func (s *Store) foldMissing(ctx context.Context) error {
	_, blobs, err := s.user.Head(ctx)
	if err != nil || len(blobs) > 0 {
		return err
	}
	return fold.WithHint(fmt.Errorf("the branch checked out in %s has no %s/: %w", s.l.WorkTree, s.foldDir(), fold.ErrUnavailable),
		"git switch to a branch that has it; or bring it here: git checkout BRANCH -- "+s.foldDir()+"; or keep memories beside your branches: foldwatch untrack")
}

// headNow is the commit that HEAD names, for a record of the wal; "" in sidecar mode,
// and where it cannot be read, which is no commit's name.
func (s *Store) headNow() string {
	if !s.opt.Tracked {
		return ""
	}
	head, err := s.l.HeadOid()
	if err != nil {
		s.log.Warn("HEAD not read", "err", err)
	}
	return head
}

// trackedMark is a file of the state folder that says that the last run was in tracked
// mode.
const trackedMark = "tracked"

// changeMode notes the mode for the next run. Where the last one was in tracked mode, and
// this one is not, the journal still knows memories of other branches, and such as were
// deleted in commits: what the work tree has is what counts from now on, so that none of
// them comes back. Without a fold/ in the work tree they are all there is, and stay.
func (s *Store) changeMode(ctx context.Context) error {
	mark := filepath.Join(s.l.StateDir(), trackedMark)
	if s.opt.Tracked {
		return disk.WriteFile(mark, nil, 0o600)
	}
	if _, err := os.Lstat(mark); err != nil {
		return nil //nolint:nilerr // it is not there
	}
	root, err := s.openFold(false)
	if err == nil {
		err = errors.Join(s.takeWorkTree(ctx, root), root.Close())
	}
	if err != nil && !absentFold(err) {
		return err
	}
	// In tracked mode again, what was pending now would be of another time.
	if err := os.Remove(s.pendingPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Remove(mark)
}

// takeWorkTree records as deleted what the work tree does not have. Where that is more
// than a person deletes, as on a branch from before most memories, the vanish guard asks
// instead (G8).
func (s *Store) takeWorkTree(ctx context.Context, root *disk.Root) error {
	missing, total, err := s.missing(root)
	if err != nil {
		return err
	}
	if tooMany(missing, len(missing), total) {
		s.raiseGuard(fmt.Sprintf("%d of %d memories are not on the branch that is checked out", len(missing), total))
		return nil
	}
	_, err = s.ConfirmMissing(ctx, nil)
	return err
}
