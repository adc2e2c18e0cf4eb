package gitops

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/foldwatch/foldwatch/meta/disk"
)

// sweepState removes what a crash left half written in the state folder. The
// caller holds the lock of the store and has finished or undone what was begun.
func (s *Store) sweepState() error {
	for _, dir := range []string{s.l.StateDir(), filepath.Join(s.l.StateDir(), lateDir)} {
		list, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range list {
			if !e.Type().IsRegular() || !disk.IsTemp(e.Name()) && !slices.Contains(branchFiles(), e.Name()) {
				continue
			}
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
