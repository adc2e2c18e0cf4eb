package disk

import "path/filepath"

// A Folder is a directory that may go and come back, as fold/ does under a
// user's git: every call opens it as it is at that moment. Its methods are
// those of [Root] and safe for concurrent use; where the folder is missing they
// return fs.ErrNotExist.
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
		b, info, err = r.Read(path, max)
		return err
	})
	return b, info, err
}

// Lstat is [Root.Lstat].
func (f Folder) Lstat(path string) (info Info, err error) {
	err = f.with(func(r *Root) error {
		info, err = r.Lstat(path)
		return err
	})
	return info, err
}

// Create is [Root.Create].
func (f Folder) Create(path string, b []byte) error {
	return f.with(func(r *Root) error { return r.Create(path, b) })
}

// Walk is [Root.Walk].
func (f Folder) Walk(fn func(path string, info Info) error) error {
	return f.with(func(r *Root) error { return r.Walk(fn) })
}
