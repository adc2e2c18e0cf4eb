package gitops

import (
	"fmt"
	"time"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// debounce is for how long a file must have been left alone before it is
// committed (G7).
const debounce = 300 * time.Millisecond

// check returns why the bytes at path may not enter a commit, or nil: they must
// be small, parse, hold no conflict markers and no secret (G6, G7).
func (rc recorder) check(path string, b []byte) error {
	if err := fold.ValidPath(path); err != nil {
		return err
	}
	if len(b) > fold.MaxFile {
		return fmt.Errorf("%s: larger than 1 MiB: %w", path, fold.ErrQuarantined)
	}
	if rc.opt.Check != nil {
		return rc.opt.Check(path, b)
	}
	if path == fold.ProjectFile {
		return nil // read by the caller, who knows its keys
	}
	_, err := fold.Decode(rc.opt.Slug, path, b) // reports conflict markers too
	return err
}

// noteSetAside keeps the reason for status; "" takes it back.
func (rc recorder) noteSetAside(path, reason string) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	if reason == "" {
		delete(rc.known.setAside, path)
		return
	}
	rc.known.setAside[path] = reason
}

// beingWritten reports whether somebody may still be writing the file.
func (rc recorder) beingWritten(info disk.Info) bool {
	age := rc.opt.Now().Sub(time.Unix(0, info.MtimeNS))
	return age >= 0 && age < debounce
}
