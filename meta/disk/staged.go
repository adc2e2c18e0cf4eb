package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// A Change is what becomes of one file: Was is what it holds, nil if there is none, and
// Now what it is to hold, nil if it is to go.
type Change struct {
	Path     string
	Was, Now []byte
}

// Staged are changes that are ready: what takes the place of files is durable, in
// another folder of the same file system, and the folders it goes to are there. What is
// left is a change of names. Not safe for concurrent use.
type Staged struct {
	r, from *Root
	files   []*stagedFile
	at      map[string]*stagedFile // by path
}

type stagedFile struct {
	Change
	t      *target // open already, for the first mostStaged; else nil
	temp   string  // in from; "" if there is none
	placed bool
	old    *Swapped
}

// A StageError says of which file a change could not be made ready or put in place.
type StageError struct {
	Path string
	Err  error
}

func (e *StageError) Error() string { return e.Err.Error() }
func (e *StageError) Unwrap() error { return e.Err }

// mostStaged is how many folders are held open for Place: two files of the system each.
const mostStaged = 64

// stageTogether is from how many files on one sync of the file system costs less than
// one of each.
const stageTogether = 8

// Stage makes changes ready. What is new waits in the folder from, under names that are
// [IsTemp]. A file that is not what its change says is left to Place to tell. The caller
// closes what it gets.
func (r *Root) Stage(from string, changes []Change) (*Staged, error) {
	s := &Staged{r: r, at: make(map[string]*stagedFile, len(changes))}
	var err error
	if s.from, err = OpenRoot(from, Options{Faults: r.faults}); err != nil {
		return nil, err
	}
	together := hasSyncFS && len(changes) >= stageTogether
	for _, c := range changes {
		f := &stagedFile{Change: c}
		s.files = append(s.files, f)
		s.at[f.Path] = f
		if err := s.ready(f, len(s.files) <= mostStaged, together); err != nil {
			s.Close()
			return nil, &StageError{c.Path, wrap(OpCreate, c.Path, err)}
		}
	}
	if together {
		err = s.from.Sync()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// ready makes one change ready. Unless it is to be held open its folder is opened again
// to place it.
func (s *Staged) ready(f *stagedFile, hold, together bool) error {
	t, err := s.r.target(f.Path, f.Was == nil)
	if err != nil {
		if f.Was != nil && errors.Is(err, fs.ErrNotExist) {
			return nil // gone: Place tells
		}
		return err
	}
	if hold {
		f.t = t
	} else {
		defer t.close()
	}
	if f.Now == nil {
		return nil
	}
	perm := fs.FileMode(0)
	if f.Was != nil {
		fi, err := t.d.Lstat(t.name)
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		perm = fi.Mode().Perm()
	}
	f.temp, err = (&target{r: s.r, path: f.Path, d: s.from.root}).temp(f.Now, perm, !together)
	return err
}

// Place puts the changes in place, and syncs nothing. It returns those that it left,
// since the file was not what they say, or the file system has no way to do it: of these
// all is as it was found. After an error some may be in place.
func (s *Staged) Place() (left []Change, err error) {
	for _, f := range s.files {
		err := s.place(f)
		_, changed := errors.AsType[*ChangedError](err)
		switch {
		case err == nil:
			f.placed = true
		case changed, errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist), errors.Is(err, errUnsupported), errors.Is(err, syscall.EXDEV), errors.Is(err, ErrNotRegular):
			left = append(left, f.Change)
		default:
			return left, &StageError{f.Path, wrap(OpRename, f.Path, err)}
		}
	}
	return left, nil
}

func (s *Staged) place(f *stagedFile) error {
	t := f.t
	if t == nil {
		var err error
		if t, err = s.r.target(f.Path, false); err != nil {
			return err
		}
		defer t.close()
	}
	if f.Now == nil {
		_, err := t.takeAway(f.Was)
		return err
	}
	if f.temp == "" {
		return &ChangedError{Path: f.Path, Gone: true}
	}
	temp := filepath.Join(s.from.dir, f.temp)
	if err := hook(s.r.faults, OpRename, f.Path); err != nil {
		return err
	}
	if f.Was == nil {
		err := s.r.put(t.f, temp, t.name)
		if err == nil {
			f.temp = ""
		}
		return err
	}
	if err := s.r.swap(t.f, temp, t.name); err != nil {
		return err
	}
	old, err := (&target{r: s.r, path: f.Path, d: s.from.root}).keep(f.temp)
	if err == nil && bytes.Equal(old.was, f.Was) {
		f.old = old
		return nil
	}
	old.release()
	if err := s.putBack(f, t, temp); err != nil {
		return err
	}
	return &ChangedError{Path: f.Path}
}

// putBack exchanges the file of somebody else, which lies at temp, back to its place. If
// ours was replaced once more there since, the newest is put back in turn.
func (s *Staged) putBack(f *stagedFile, t *target, temp string) error {
	ours := f.Now
	for range 8 {
		put, _, err := readIn(s.from.root, f.temp, f.Path, maxCompare)
		if err != nil {
			return err
		}
		err = s.r.swap(t.f, temp, t.name)
		if errors.Is(err, fs.ErrNotExist) { // removed since: what somebody wrote is put back
			if err = s.r.put(t.f, temp, t.name); err == nil {
				f.temp = ""
				return nil
			}
		}
		if err != nil {
			return errors.Join(err, s.setAside(f))
		}
		if cur, _, err := readIn(s.from.root, f.temp, f.Path, maxCompare); err != nil || bytes.Equal(cur, ours) {
			return err
		}
		ours = put
	}
	return nil
}

// setAside keeps what somebody saved, and cannot be put back, under a name that is not
// [IsTemp], so that nobody takes it for a leftover.
func (s *Staged) setAside(f *stagedFile) error {
	name := "found-" + strings.TrimSuffix(strings.TrimPrefix(f.temp, tempPrefix), tempSuffix) + "-" + path.Base(f.Path)
	err := os.Rename(filepath.Join(s.from.dir, f.temp), filepath.Join(s.from.dir, name))
	f.temp = "" // not ours to remove
	if err != nil {
		return err
	}
	return fmt.Errorf("what was saved there meanwhile is in %s", filepath.Join(s.from.dir, name))
}

// Sync makes durable what is in place, and then removes what it replaced.
func (s *Staged) Sync() error {
	dirs := map[string]bool{}
	for _, f := range s.files {
		if f.placed {
			dirs[path.Dir(f.Path)] = true
		}
	}
	if hasSyncFS && len(dirs) >= stageTogether {
		if err := s.r.Sync(); err != nil {
			return err
		}
		clear(dirs)
	}
	for dir := range dirs {
		d, err := s.r.open(dir, false)
		if err != nil {
			return wrap(OpSyncDir, dir, err)
		}
		f, err := d.Open(".")
		if err == nil {
			err = s.r.syncDir(f, dir)
			_ = f.Close()
		}
		s.r.done(d)
		if err != nil {
			return wrap(OpSyncDir, dir, err)
		}
	}
	for _, f := range s.files {
		if f.placed && f.Now == nil {
			s.r.prune(path.Dir(f.Path))
		}
	}
	return nil
}

// Placed reports whether the file at path was put in place, and returns what took its
// place if it is to be watched; the caller then closes that.
func (s *Staged) Placed(p string) (old *Swapped, ok bool) {
	if f := s.at[p]; f != nil && f.placed {
		old, f.old = f.old, nil
		return old, true
	}
	return nil, false
}

// Close removes what is not in place, and what was replaced.
func (s *Staged) Close() {
	for _, f := range s.files {
		if f.temp != "" {
			_ = os.Remove(filepath.Join(s.from.dir, f.temp)) // else CleanTemps or its like finds it
		}
		if f.t != nil {
			f.t.close()
		}
		f.old.release()
		if !f.placed && f.Was == nil {
			s.r.prune(path.Dir(f.Path))
		}
	}
	_ = s.from.Close()
}
