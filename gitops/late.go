package gitops

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// An editor that had a file open when we replaced it may still write to the
// old one, whose name is gone (G9). The old file is kept open for a while and
// looked at once more, and again for as long as it changes.

// lateAfter is when the look is due.
const lateAfter = 2 * time.Second

// lateTries is how often a merge is tried, at growing intervals: about ten
// minutes, in which a full disk may be noticed.
const lateTries = 8

// maxLate bounds the files kept open; beyond it the oldest is looked at early.
const maxLate = 32

// A lateFile is a replaced file that is still open.
type lateFile struct {
	path string
	was  []byte // what it held when it was replaced
	file *disk.Swapped
	due  time.Time
	// tries is how often what was written to it could not be merged.
	tries int
}

// keepLate remembers a replaced file.
func (s *Store) keepLate(path string, was []byte, f *disk.Swapped) {
	s.mu.Lock()
	s.late = append(s.late, lateFile{path: path, was: was, file: f, due: s.opt.Now().Add(lateAfter)})
	s.mu.Unlock()
}

// takeLate returns the files that are due by now, oldest first.
func (s *Store) takeLate(now time.Time) []lateFile {
	s.mu.Lock()
	defer s.mu.Unlock()
	early := max(0, len(s.late)-maxLate)
	var out, left []lateFile
	for i, l := range s.late {
		if i < early || !l.due.After(now) {
			out = append(out, l)
		} else {
			left = append(left, l)
		}
	}
	s.late = left
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
	var first time.Time
	for _, l := range s.late {
		if first.IsZero() || l.due.Before(first) {
			first = l.due
		}
	}
	return first
}

func (s *Store) recheck(_ context.Context, now time.Time) (paths []string, err error) {
	return s.lookAgain(now, lateTries)
}

// lookAgain is recheck. What could not be merged after some tries is kept in a
// file of its own.
func (s *Store) lookAgain(now time.Time, tries int) (paths []string, err error) {
	var errs []error
	for _, l := range s.takeLate(now) {
		b, changed, err := l.file.Late()
		if err != nil {
			errs = append(errs, fmt.Errorf("look again at %s: %w", l.path, err), s.again(l, tries))
			continue
		}
		if !changed {
			_ = l.file.Close() // read only
			continue
		}
		if len(b) == 0 && l.tries+1 < tries {
			s.waitOn(l) // half a save: it is emptied before it is written
			continue
		}
		if len(b) == 0 {
			_ = l.file.Close()
			continue
		}
		if len(b) <= maxFile {
			if _, err = s.putWhen(Write{Path: l.path, Base: l.was, New: b, Merge: true}); err == nil {
				paths = append(paths, l.path)
				s.follow(l, b, tries)
				continue
			}
			errs = append(errs, fmt.Errorf("merge a late save of %s: %w", l.path, err))
			if l.tries+1 < tries {
				errs = append(errs, s.again(l, tries))
				continue
			}
		}
		if err := s.keepApart(l.path, b); err != nil {
			errs = append(errs, err, s.again(l, tries))
			continue
		}
		_ = l.file.Close()
	}
	return paths, errors.Join(errs...)
}

// again lets a file be looked at once more later, or gives it up when there is
// no later.
func (s *Store) again(l lateFile, tries int) error {
	if tries <= 1 {
		_ = l.file.Close()
		return fmt.Errorf("a late save of %s is lost", l.path)
	}
	s.waitOn(l)
	return nil
}

// waitOn has a file looked at later, and later each time.
func (s *Store) waitOn(l lateFile) {
	l.tries++
	l.due = s.opt.Now().Add(lateAfter << min(l.tries, 8))
	s.mu.Lock()
	s.late = append(s.late, l)
	s.mu.Unlock()
}

// follow keeps a file whose content b was merged, since who wrote that may write
// more, unless there is no later.
func (s *Store) follow(l lateFile, b []byte, tries int) {
	if tries <= 1 {
		_ = l.file.Close()
		return
	}
	l.file.Seen(b)
	if _, err := fold.Decode(s.opt.Slug, l.path, b); err != nil {
		b = l.was // a part of a save is no base of what follows
	}
	s.keepLate(l.path, b, l.file)
}

// lateDir holds, in the state folder, what editors wrote to files whose place
// was taken and that could not be merged. Each file is named after the path it
// is of, escaped, and its content.
const lateDir = "late"

// keepApart writes what an editor saved too late to a file that status names.
func (s *Store) keepApart(path string, b []byte) error {
	dir := filepath.Join(s.l.StateDir(), lateDir)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("keep a late save of %s: %w", path, unavailable(err))
	}
	name := url.PathEscape(path)
	if len(name) > 200 { // file names have at most 255 bytes
		name = name[:200]
	}
	name += "." + fold.ContentHash(b)[:12]
	if err := disk.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
		return fmt.Errorf("keep a late save of %s: %w", path, unavailable(err))
	}
	s.log.Warn("A late save is kept in a file of its own", "path", path, "file", filepath.Join(dir, name))
	return nil
}

// keptApart returns the files of keepApart, by the path below fold/ they are of.
func (s *Store) keptApart() map[string]string {
	dir := filepath.Join(s.l.StateDir(), lateDir)
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil // there is none
	}
	out := map[string]string{}
	for _, e := range list {
		name, _, ok := strings.Cut(e.Name(), ".md.")
		if path, err := url.PathUnescape(name + ".md"); ok && err == nil {
			out[path] = filepath.Join(dir, e.Name())
		} else {
			out[e.Name()] = filepath.Join(dir, e.Name())
		}
	}
	return out
}
