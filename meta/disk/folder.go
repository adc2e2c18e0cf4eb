package disk

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// A Folder is a directory that may go and come back, as fold/ does under a
// user's git: every call opens it as it is at that moment. Its methods are
// those of [Root] and safe for concurrent use; where the folder is missing they
// return fs.ErrNotExist. So they do for a file whose name has other case, where a
// Root that is to write it must know that something is in its place.
type Folder struct {
	Dir string // path of the system
}

// with calls fn with the folder as it is now. The folder itself may not be a
// symbolic link.
func (f Folder) with(fn func(*Root) error) error {
	parent, err := OpenRoot(filepath.Dir(f.Dir), Options{})
	if err != nil {
		return err
	}
	defer parent.Close()
	root, err := parent.OpenSub(filepath.Base(f.Dir))
	if err != nil {
		return err
	}
	defer root.Close()
	return fn(root)
}

// Read is [Root.Read].
func (f Folder) Read(path string, max int64) (b []byte, info Info, err error) {
	err = f.with(func(r *Root) error {
		b, info, err = r.ReadExactName(path, max)
		return err
	})
	return b, info, err
}

// A Reader reads many files below a [Folder] that it holds open. What is not
// there is looked for once more in the folder that stands there by then: it may
// have been taken away and put back meanwhile.
type Reader struct {
	folder Folder
	root   *Root // nil if there was no folder
}

// Reading calls fn with a Reader, which fn must not keep.
func (f Folder) Reading(fn func(r Reader) error) error {
	called := false
	err := f.with(func(root *Root) error {
		called = true
		return fn(Reader{f, root})
	})
	if !called {
		return fn(Reader{folder: f})
	}
	return err
}

// Read is [Root.Read].
func (r Reader) Read(path string, max int64) (b []byte, info Info, err error) {
	if r.root != nil {
		if b, info, err = r.root.ReadExactName(path, max); !errors.Is(err, fs.ErrNotExist) {
			return b, info, err
		}
	}
	return r.folder.Read(path, max)
}

// Lstat is [Root.Lstat].
func (r Reader) Lstat(path string) (info Info, err error) {
	if r.root != nil {
		if info, err = r.root.lstatNamed(path); !errors.Is(err, fs.ErrNotExist) {
			return info, err
		}
	}
	return r.folder.Lstat(path)
}

// Lstat is [Root.Lstat].
func (f Folder) Lstat(path string) (info Info, err error) {
	err = f.with(func(r *Root) error {
		info, err = r.lstatNamed(path)
		return err
	})
	return info, err
}

// Walk is [Root.Walk].
func (f Folder) Walk(fn func(path string, info Info) error) error {
	return f.with(func(r *Root) error { return r.Walk(fn) })
}

// Create is [Root.Create].
func (f Folder) Create(path string, b []byte) error {
	return f.with(func(r *Root) error { return r.Create(path, b) })
}
