package gitops

import (
	"fmt"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// merge returns what both sides of a change come to: ours is on disk, theirs
// is to be written; nil is a file that does not exist.
func (s *Store) merge(path string, base, ours, theirs []byte) ([]byte, error) {
	r, err := fold.Merge3(base, ours, theirs, fold.MergeOptions{Now: s.opt.Now(), Project: s.opt.Slug, Path: path})
	if err != nil {
		return nil, fmt.Errorf("merge %s: %w", path, err)
	}
	if r.Deleted {
		return nil, nil
	}
	if r.Bytes == nil {
		r.Bytes = []byte{}
	}
	return r.Bytes, nil
}
