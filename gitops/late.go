package gitops

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/foldwatch/foldwatch/meta/disk"
)

// An editor that had a file open when we replaced it may still write to the
// old one, whose name is gone (G9). The old file is kept open for a while and
// looked at once more.

// lateAfter is when the look is due.
const lateAfter = 2 * time.Second

// maxLate bounds the files kept open; beyond it the oldest is looked at early.
const maxLate = 32

// A lateFile is a replaced file that is still open.
type lateFile struct {
	path string
	was  []byte // what it held when it was replaced
	file *disk.Swapped
	due  time.Time
}

// keepLate remembers a replaced file.
func (s *Store) keepLate(path string, was []byte, f *disk.Swapped) {
	s.mu.Lock()
	s.late = append(s.late, lateFile{path, was, f, s.opt.Now().Add(lateAfter)})
	s.mu.Unlock()
}

// takeLate returns the files that are due by now, oldest first.
func (s *Store) takeLate(now time.Time) []lateFile {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := max(0, len(s.late)-maxLate)
	for n < len(s.late) && !s.late[n].due.After(now) {
		n++
	}
	out := s.late[:n:n]
	s.late = s.late[n:]
	return out
}

// Recheck looks at the files replaced two seconds ago or more, and merges what
// an editor has written to one of them since. It returns the paths written.
// The caller runs it when [Store.RecheckAt] says; Commit and Close do so too.
func (s *Store) Recheck(ctx context.Context) ([]string, error) {
	if err := s.writable(); err != nil {
		return nil, err
	}
	return s.recheck(ctx, s.opt.Now())
}

// RecheckAt returns when Recheck is next due; zero if nothing waits for it.
func (s *Store) RecheckAt() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.late) == 0 {
		return time.Time{}
	}
	return s.late[0].due
}

func (s *Store) recheck(_ context.Context, now time.Time) (paths []string, err error) {
	var errs []error
	for _, l := range s.takeLate(now) {
		b, changed, err := l.file.Late()
		_ = l.file.Close() // read only
		if err != nil {
			errs = append(errs, fmt.Errorf("look again at %s: %w", l.path, err))
			continue
		}
		if !changed || len(b) > maxFile {
			continue
		}
		if _, err := s.put(Write{Path: l.path, Base: l.was, New: b, Merge: true}); err != nil {
			errs = append(errs, fmt.Errorf("merge a late save of %s: %w", l.path, err))
			continue
		}
		paths = append(paths, l.path)
	}
	return paths, errors.Join(errs...)
}
