package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/foldwatch/foldwatch/meta/disk"
)

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
	if _, err := os.Lstat(mark); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	root, err := s.openFold(false)
	if err == nil {
		err = errors.Join(s.takeWorkTree(ctx, root), root.Close())
	}
	if err != nil && !absentFold(err) {
		return err
	}
	// In tracked mode again, what was pending now would be of another time.
	trees, err := filepath.Glob(filepath.Join(s.l.StateDir(), "worktrees", "*", pendingName))
	if err != nil {
		return err
	}
	for _, p := range append(trees, (tracker{s}).pendingPath()) {
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Remove(mark)
}

// takeWorkTree records as deleted what the work tree does not have. Where that is more
// than a person deletes, as on a branch from before most memories, the vanish guard asks
// instead (G8).
func (s *Store) takeWorkTree(ctx context.Context, root *disk.Root) error {
	missing, total, err := (vanishGuard{s}).vanished(root)
	if err != nil {
		return err
	}
	if tooMany(missing, len(missing), total) {
		(vanishGuard{s}).raiseGuard(fmt.Sprintf("%d of %d memories are not on the branch that is checked out", len(missing), total))
		return nil
	}
	_, err = s.ConfirmMissing(ctx, nil)
	return err
}
