package objdb

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"github.com/go-git/go-billy/v5"
	"golang.org/x/sync/errgroup"

	"github.com/foldwatch/foldwatch/meta/disk"
)

// An ownFS is the file system under a repository of our own. go-git never
// syncs what it writes (G5): here a file is synced when it is closed, and the
// directories in which names were made or renamed are remembered until
// syncDirs, which is called before a reference moves. It is confined to its
// directory and safe for concurrent use.
type ownFS struct {
	root   *os.Root
	dir    string
	faults disk.Faults // nil in production

	mu    sync.Mutex
	dirty map[string]bool // directories with names not yet synced
}

// syncsAtOnce is how many files or directories are synced side by side.
const syncsAtOnce = 16

func openOwnFS(dir string, faults disk.Faults) (*ownFS, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &ownFS{root: root, dir: dir, faults: faults, dirty: map[string]bool{}}, nil
}

// fault asks the test, if there is one, whether a step may be done.
func (f *ownFS) fault(op disk.Op, name string, size int) (int, error) {
	if f.faults == nil {
		return size, nil
	}
	return f.faults.Before(op, filepath.Base(f.dir)+"/"+filepath.ToSlash(name), size)
}

func (f *ownFS) mark(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dirty[filepath.Dir(filepath.Clean(name))] = true
}

// syncDirs makes every name made so far durable. After an error all of them
// are still to be synced.
func (f *ownFS) syncDirs() error {
	f.mu.Lock()
	dirs := make([]string, 0, len(f.dirty))
	for d := range f.dirty {
		dirs = append(dirs, d)
	}
	f.mu.Unlock()
	var g errgroup.Group
	g.SetLimit(syncsAtOnce)
	for _, d := range dirs {
		g.Go(func() error {
			if _, err := f.fault(disk.OpSyncDir, d, 0); err != nil {
				return err
			}
			if err := syncDir(f.root, d); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("sync %s: %w", d, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range dirs {
		delete(f.dirty, d)
	}
	return nil
}

// An ownFile is synced when it is closed, if it was written to.
type ownFile struct {
	*os.File
	fs    *ownFS
	name  string
	wrote bool
	done  bool
}

func (o *ownFile) Name() string { return o.name }

func (o *ownFile) Write(p []byte) (int, error) {
	o.wrote = true
	n, err := o.fs.fault(disk.OpWrite, o.name, len(p))
	if n < len(p) || err != nil {
		k, werr := o.File.Write(p[:max(0, min(n, len(p)))])
		if err == nil {
			err = errors.Join(io.ErrShortWrite, werr)
		}
		return k, err
	}
	return o.File.Write(p)
}

func (o *ownFile) Close() error {
	if o.done {
		return os.ErrClosed
	}
	o.done = true
	if o.wrote {
		_, err := o.fs.fault(disk.OpSync, o.name, 0)
		if err == nil {
			err = o.Sync()
		}
		if err != nil {
			_ = o.File.Close()
			return fmt.Errorf("sync %s: %w", o.name, err)
		}
	}
	return o.File.Close()
}

// Lock does nothing: one lock guards the whole store.
func (o *ownFile) Lock() error { return nil }

// Unlock does nothing.
func (o *ownFile) Unlock() error { return nil }

func (f *ownFS) Create(name string) (billy.File, error) {
	return f.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

func (f *ownFS) Open(name string) (billy.File, error) {
	return f.OpenFile(name, os.O_RDONLY, 0)
}

func (f *ownFS) OpenFile(name string, flag int, perm os.FileMode) (billy.File, error) {
	name = filepath.Clean(name)
	if flag&os.O_CREATE != 0 {
		if _, err := f.fault(disk.OpCreate, name, 0); err != nil {
			return nil, err
		}
		if err := f.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return nil, err
		}
		f.mark(name)
	}
	file, err := f.root.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &ownFile{File: file, fs: f, name: name}, nil
}

// TempFile makes a file of a new name that begins with prefix.
func (f *ownFS) TempFile(dir, prefix string) (billy.File, error) {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, by its documentation
	return f.OpenFile(filepath.Join(dir, prefix+hex.EncodeToString(b[:])), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
}

func (f *ownFS) Rename(from, to string) error {
	if _, err := f.fault(disk.OpRename, to, 0); err != nil {
		return err
	}
	if err := f.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	if err := f.root.Rename(filepath.Clean(from), filepath.Clean(to)); err != nil {
		return err
	}
	f.mark(to)
	f.mark(from)
	return nil
}

// MkdirAll makes dir and its parents.
func (f *ownFS) MkdirAll(dir string, perm os.FileMode) error {
	dir = filepath.Clean(dir)
	if dir == "." {
		return nil
	}
	if fi, err := f.root.Lstat(dir); err == nil && fi.IsDir() {
		return nil
	}
	if err := f.MkdirAll(filepath.Dir(dir), perm); err != nil {
		return err
	}
	if _, err := f.fault(disk.OpMkdir, dir, 0); err != nil {
		return err
	}
	if err := f.root.Mkdir(dir, perm); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	f.mark(dir)
	return nil
}

func (f *ownFS) ReadDir(name string) ([]os.FileInfo, error) {
	d, err := f.root.Open(filepath.Clean(name))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	list, err := d.Readdir(-1)
	slices.SortFunc(list, func(a, b os.FileInfo) int {
		if a.Name() < b.Name() {
			return -1
		}
		return 1
	})
	return list, err
}

func (f *ownFS) Remove(name string) error {
	if _, err := f.fault(disk.OpRemove, name, 0); err != nil {
		return err
	}
	return f.root.Remove(filepath.Clean(name))
}

func (f *ownFS) Stat(name string) (os.FileInfo, error)  { return f.root.Stat(filepath.Clean(name)) }
func (f *ownFS) Lstat(name string) (os.FileInfo, error) { return f.root.Lstat(filepath.Clean(name)) }
func (f *ownFS) Join(elem ...string) string             { return filepath.Join(elem...) }
func (f *ownFS) Root() string                           { return f.dir }

// Chmod lets go-git write-protect packs.
func (f *ownFS) Chmod(name string, mode os.FileMode) error {
	return f.root.Chmod(filepath.Clean(name), mode)
}

// Symlink is refused: a repository of ours holds none.
func (f *ownFS) Symlink(string, string) error { return billy.ErrNotSupported }

// Readlink is refused.
func (f *ownFS) Readlink(string) (string, error) { return "", billy.ErrNotSupported }

// Chroot is refused.
func (f *ownFS) Chroot(string) (billy.Filesystem, error) { return nil, billy.ErrNotSupported }

func (f *ownFS) close() error { return f.root.Close() }

// writeFile replaces a small file durably: temporary name, sync, rename, sync.
func (f *ownFS) writeFile(name string, b []byte) error {
	t, err := f.TempFile(path.Dir(name), ".tmp-")
	if err != nil {
		return err
	}
	_, err = t.Write(b)
	if cerr := t.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = f.Rename(t.Name(), name)
	}
	if err != nil {
		_ = f.root.Remove(t.Name())
		return err
	}
	return f.syncDirs()
}
