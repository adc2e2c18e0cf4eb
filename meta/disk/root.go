package disk

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// errUnsupported says that the system or file system lacks a call; another
// way is then taken.
var errUnsupported = errors.New("not supported by the file system")

// Options are for a Root. The zero value works.
type Options struct {
	Faults Faults // nil in production
}

// A Root is one directory and everything below it. Paths have forward slashes
// and are relative to it. No symbolic link below it is followed, not even one
// that stays inside. Safe for concurrent use, also by several Roots of one
// directory.
type Root struct {
	root   *os.Root
	faults Faults
	temps  *folder // where temporary files lie; nil for beside each target

	// swap and put are exchange and place of this system, or what a test has
	// in their place.
	swap, put func(from *os.File, a string, to *os.File, b string) error

	// making is held while directories are made and synced, so that nobody
	// takes one for durable that another call has made but not yet synced.
	making sync.Mutex

	// made, if not nil, takes the directories that are made, which are then not
	// synced one by one: one sync of the file system is to follow.
	made *[]string
}

// Info is what a file's directory entry and inode say.
type Info struct {
	Size    int64
	MtimeNS int64 // nanoseconds since 1970
	Inode   uint64
	Mode    fs.FileMode
}

func infoOf(fi fs.FileInfo) Info {
	return Info{Size: fi.Size(), MtimeNS: fi.ModTime().UnixNano(), Inode: inode(fi), Mode: fi.Mode()}
}

// OpenRoot opens dir, which must exist. Dir itself may be reached through
// symbolic links: it is what the user named. The caller closes the Root.
func OpenRoot(dir string, opt Options) (*Root, error) {
	if err := injectFault(opt.Faults, OpOpen, "."); err != nil {
		return nil, wrap(OpOpen, dir, err)
	}
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, wrap(OpOpen, dir, err)
	}
	return &Root{root: r, faults: opt.Faults, swap: exchange, put: place}, nil
}

// OpenSub opens a directory below r as a Root of its own. It returns
// ErrNotRegular if name or a directory on the way is a symbolic link or no
// directory, and fs.ErrNotExist if it is missing.
func (r *Root) OpenSub(name string) (*Root, error) {
	if err := validPath(name); err != nil {
		return nil, err
	}
	d, err := r.open(name, false)
	if err != nil {
		return nil, wrap(OpOpen, name, err)
	}
	if d == r.root {
		return nil, fmt.Errorf("open %q: %w", name, fold.ErrInvalid)
	}
	return &Root{root: d, faults: r.faults, swap: r.swap, put: r.put}, nil
}

// SetTempDir has temporary files lie in dir, which is made if it is missing, instead of
// beside each file, so that nobody who reads the directory of r comes upon one. Where
// a file cannot be renamed from dir to r in one step, because they are on two file
// systems or the system has no such call, they stay beside. It is called before r
// is used.
func (r *Root) SetTempDir(dir string) error {
	d, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o700); err == nil {
			d, err = os.OpenRoot(dir)
		}
	}
	if err != nil {
		return wrap(OpOpen, dir, err)
	}
	f, err := d.Open(".")
	if err != nil {
		_ = d.Close()
		return wrap(OpOpen, dir, err)
	}
	temps := folder{d, f}
	own, err := r.root.Open(".")
	if err != nil {
		temps.close()
		return wrap(OpOpen, ".", err)
	}
	defer own.Close()
	if !canMove(f, own) {
		temps.close()
		return nil
	}
	r.temps = &temps
	return nil
}

// Close lets go of the directory.
func (r *Root) Close() error {
	if r.temps != nil {
		r.temps.close()
	}
	return r.root.Close()
}

// validPath refuses what could leave the Root or name the Root itself.
func validPath(p string) error {
	if !fs.ValidPath(p) || p == "." || strings.ContainsRune(p, 0) || len(p) > 4096 {
		return fmt.Errorf("path %.80q: %w", p, fold.ErrInvalid)
	}
	return nil
}

// open returns the directory dir ("." is the Root itself), each component of
// which is looked at before and after it is opened, so that none is a symbolic
// link even if one is put there meanwhile. With create, missing directories
// are made, durably. The caller closes what it gets with r.done.
func (r *Root) open(dir string, create bool) (*os.Root, error) {
	d := r.root
	if dir == "." {
		return d, nil
	}
	if create {
		r.making.Lock()
		defer r.making.Unlock()
	}
	at := 0
	for name := range strings.SplitSeq(dir, "/") {
		at += len(name) + 1
		next, err := r.step(d, name, dir[:at-1], create)
		r.done(d)
		if err != nil {
			return nil, err
		}
		d = next
	}
	return d, nil
}

// step opens the directory name in d; whole is its path below r.
func (r *Root) step(d *os.Root, name, whole string, create bool) (*os.Root, error) {
	fi, err := d.Lstat(name)
	if create && errors.Is(err, fs.ErrNotExist) {
		if err := r.mkdir(d, name, whole); err != nil {
			return nil, err
		}
		fi, err = d.Lstat(name)
	}
	if err != nil {
		return nil, err
	}
	if !fi.IsDir() {
		return nil, fmt.Errorf("%s: %w", whole, ErrNotRegular)
	}
	next, err := d.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	now, err := next.Stat(".")
	if err == nil && !os.SameFile(fi, now) {
		err = fmt.Errorf("%s: changed while it was opened: %w", whole, ErrNotRegular)
	}
	if err != nil {
		_ = next.Close()
		return nil, err
	}
	return next, nil
}

// mkdir makes name in d and syncs d, so that the new name survives. Where that
// fails the directory goes again: the next try must not take it for durable.
func (r *Root) mkdir(d *os.Root, name, whole string) error {
	if err := injectFault(r.faults, OpMkdir, whole); err != nil {
		return err
	}
	if err := d.Mkdir(name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if r.made != nil {
		*r.made = append(*r.made, whole)
		return nil
	}
	f, err := d.Open(".")
	if err == nil {
		err = r.syncDir(f, path.Dir(whole))
		_ = f.Close()
	}
	if err != nil {
		_ = d.Remove(name)
	}
	return err
}

func (r *Root) done(d *os.Root) {
	if d != nil && d != r.root {
		_ = d.Close()
	}
}

func (r *Root) syncDir(f *os.File, dir string) error {
	if err := injectFault(r.faults, OpSyncDir, dir); err != nil {
		return err
	}
	return syncDir(f)
}

// Lstat tells about path without following it. It returns ErrNotRegular if a
// directory on the way is a symbolic link.
func (r *Root) Lstat(p string) (Info, error) {
	if err := validPath(p); err != nil {
		return Info{}, err
	}
	d, err := r.open(path.Dir(p), false)
	if err != nil {
		return Info{}, wrap(OpOpen, p, err)
	}
	defer r.done(d)
	fi, err := d.Lstat(path.Base(p))
	if err != nil {
		return Info{}, wrap(OpOpen, p, err)
	}
	return infoOf(fi), nil
}

// Read returns the bytes of the regular file at path, and what its inode says
// after they were read. It returns ErrTooLarge beyond max bytes, ErrNotRegular
// for anything that is not a file or lies behind a link; it never waits for a
// FIFO.
func (r *Root) Read(p string, max int64) ([]byte, Info, error) {
	if err := validPath(p); err != nil {
		return nil, Info{}, err
	}
	if err := injectFault(r.faults, OpRead, p); err != nil {
		return nil, Info{}, wrap(OpRead, p, err)
	}
	b, info, err := readWith(func() (*os.File, fs.FileInfo, error) { return openSource(r.root, p) }, p, max)
	return b, info, wrap(OpRead, p, err)
}

// openIn opens the regular file name in d without following or waiting.
func openIn(d *os.Root, name, whole string) (*os.File, fs.FileInfo, error) {
	was, err := d.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !was.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s: %w", whole, ErrNotRegular)
	}
	f, err := d.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w", whole, ErrNotRegular)
	}
	if err == nil && !os.SameFile(was, fi) {
		// Renamed over between the two looks, as editors do: or a link was
		// put there. The second look tells.
		var again fs.FileInfo
		if again, err = d.Lstat(name); err == nil && !again.Mode().IsRegular() {
			err = fmt.Errorf("%s: %w", whole, ErrNotRegular)
		}
		if err == nil && !os.SameFile(again, fi) {
			err = fmt.Errorf("%s: changed while it was opened: %w", whole, fold.ErrUnavailable)
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, fi, nil
}

// readIn reads name in d.
func readIn(d *os.Root, name, whole string, max int64) ([]byte, Info, error) {
	return readWith(func() (*os.File, fs.FileInfo, error) { return openIn(d, name, whole) }, whole, max)
}

// readWith reads what open opens. A file that changes while it is read is read
// again, three times at most, so that size and time stamp belong to the bytes.
func readWith(open func() (*os.File, fs.FileInfo, error), whole string, max int64) (b []byte, info Info, err error) {
	for range 3 {
		f, fi, err := open()
		if err != nil {
			return nil, Info{}, err
		}
		b, err = readFile(f, fi.Size(), max)
		now, serr := f.Stat()
		_ = f.Close()
		if err == nil {
			err = serr
		}
		if errors.Is(err, ErrTooLarge) {
			return nil, infoOf(fi), fmt.Errorf("%s: %w", whole, err)
		}
		if err != nil {
			return nil, Info{}, err
		}
		info = infoOf(now)
		if info == infoOf(fi) && info.Size == int64(len(b)) {
			break
		}
	}
	return b, info, nil
}

func readFile(f *os.File, size, max int64) ([]byte, error) {
	if size > max {
		return nil, ErrTooLarge
	}
	b := make([]byte, 0, size+1)
	for {
		n, err := f.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case int64(len(b)) > max:
			return nil, ErrTooLarge
		case err == io.EOF:
			return b, nil
		case err != nil:
			return nil, err
		case len(b) == cap(b):
			b = slices.Grow(b, len(b))
		}
	}
}

// tempName returns a name that no walk reports and no two calls share.
func tempName() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, by its documentation
	return tempPrefix + hex.EncodeToString(b[:]) + tempSuffix
}

// tempFor returns a temporary name that ends in suffix and says which path it is for.
// Where that is too long for a file system it is that of any temporary file.
func tempFor(p, suffix string) string {
	name := tempName()
	long := strings.TrimSuffix(name, tempSuffix) + "." + url.PathEscape(p) + suffix
	if len(long) > 255 {
		return name
	}
	return long
}

// pathOfTemp returns the path that tempFor was given with that suffix.
func pathOfTemp(name, suffix string) (p string, ok bool) {
	rest, ok := strings.CutSuffix(name, suffix)
	if !ok {
		return "", false
	}
	_, escaped, ok := strings.Cut(strings.TrimPrefix(rest, tempPrefix), ".") // .fw-<16 hex>.<path><suffix>
	if !ok || escaped == "" {
		return "", false
	}
	p, err := url.PathUnescape(escaped)
	return p, err == nil
}

const (
	tempPrefix = ".fw-"
	tempSuffix = ".tmp"
	goneSuffix = ".del" // a file on its way out, see Remove
)

// IsTemp reports whether the last element of path is a name of a file that
// this package writes on the way and nobody should read.
func IsTemp(p string) bool {
	name := path.Base(p)
	return strings.HasPrefix(name, tempPrefix) &&
		(strings.HasSuffix(name, tempSuffix) || strings.HasSuffix(name, goneSuffix))
}
