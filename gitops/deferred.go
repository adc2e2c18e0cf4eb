package gitops

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/foldwatch/foldwatch/gitops/wal"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// deferredName is a log of acknowledged writes that an earlier version kept beside the
// wal, in the same format, until git was quiet enough to write their files.
const deferredName = "putoff"

// takeDeferred moves the entries of that log to the end of the wal, once: the replay
// that follows brings them to their files, and the next commit into the journal. After a
// crash in between they are in the wal twice, which changes nothing.
func (p replayer) takeDeferred() error {
	path := filepath.Join(p.l.StateDir(), deferredName)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read deferred writes: %w", err)
	}
	entries, whole := wal.Decode(b)
	valid := entries[:0]
	for _, e := range entries {
		if fold.ValidPath(e.Path) == nil {
			valid = append(valid, e)
		}
	}
	if err := p.wal.Append(valid); err != nil {
		return err
	}
	if !whole { // kept, as a damaged wal is
		err = os.Rename(path, path+".damaged")
	} else {
		err = os.Remove(path)
	}
	if err != nil {
		return fmt.Errorf("remove deferred writes: %w", err)
	}
	return nil
}
