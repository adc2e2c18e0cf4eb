package disk

import (
	"io/fs"
	"maps"
	"slices"
	"time"
)

// A Waiting is what a file is to hold that cannot be written yet: to whoever reads a
// [Folder] it is there.
type Waiting struct {
	Data []byte
	Gone bool      // the file is to be removed
	At   time.Time // since when
}

// info is what Lstat says of it. No file that is there has no inode.
func (w Waiting) info() Info {
	return Info{Size: int64(len(w.Data)), MtimeNS: w.At.UnixNano(), Mode: 0o600}
}

// read is [Root.Read] of it.
func (w Waiting) read(path string, max int64) ([]byte, Info, error) {
	switch {
	case w.Gone:
		return nil, Info{}, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	case int64(len(w.Data)) > max:
		return nil, w.info(), ErrTooLarge
	}
	return w.Data, w.info(), nil
}

// lstat is [Root.Lstat] of it.
func (w Waiting) lstat(path string) (Info, error) {
	if w.Gone {
		return Info{}, &fs.PathError{Op: "lstat", Path: path, Err: fs.ErrNotExist}
	}
	return w.info(), nil
}

// waiting returns what the file at path is to hold.
func (f Folder) waiting(path string) (Waiting, bool) {
	if f.Waits == nil {
		return Waiting{}, false
	}
	w, ok := f.Waits()[path]
	return w, ok
}

// Walk is [Root.Walk]. Files that wait to be there come last.
func (f Folder) Walk(fn func(path string, info Info) error) error {
	var waits map[string]Waiting
	if f.Waits != nil {
		waits = maps.Clone(f.Waits())
	}
	return f.with(func(r *Root) error {
		err := r.Walk(func(path string, info Info) error {
			w, ok := waits[path]
			delete(waits, path)
			if ok && w.Gone {
				return nil
			}
			if ok {
				info = w.info()
			}
			return fn(path, info)
		})
		for _, path := range slices.Sorted(maps.Keys(waits)) {
			if err == nil && !waits[path].Gone {
				err = fn(path, waits[path].info())
			}
		}
		return err
	})
}
