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
func (s *Store) check(path string, b []byte) error {
	if err := fold.ValidPath(path); err != nil {
		return err
	}
	if len(b) > fold.MaxFile {
		return fmt.Errorf("%s: larger than 1 MiB: %w", path, fold.ErrQuarantined)
	}
	if s.opt.Check != nil {
		return s.opt.Check(path, b)
	}
	if path == fold.ProjectFile {
		return nil // read by the caller, who knows its keys
	}
	_, err := fold.Decode(s.opt.Slug, path, b) // reports conflict markers too
	return err
}

// noteSetAside keeps the reason for status; "" takes it back.
func (s *Store) noteSetAside(path, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if reason == "" {
		delete(s.setAside, path)
		return
	}
	s.setAside[path] = reason
}

// beingWritten reports whether somebody may still be writing the file.
func (s *Store) beingWritten(info disk.Info) bool {
	age := s.opt.Now().Sub(time.Unix(0, info.MtimeNS))
	return age >= 0 && age < debounce
}
