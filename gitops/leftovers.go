package gitops

import (
	"os"
	"path/filepath"

	"github.com/foldwatch/foldwatch/meta/disk"
)

// sweepState removes what a crash left half written in the state folder. The
// caller holds the lock of the store and has finished or undone what was begun.
func (s *Store) sweepState() error {
	list, err := os.ReadDir(s.l.StateDir())
	if err != nil {
		return err
	}
	for _, e := range list {
		if !e.Type().IsRegular() || !disk.IsTemp(e.Name()) {
			continue
		}
		if err := os.Remove(filepath.Join(s.l.StateDir(), e.Name())); err != nil {
			return err
		}
	}
	return nil
}
