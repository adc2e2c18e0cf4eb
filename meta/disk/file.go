package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
)

// WriteFile writes b to the lone file at name (a path of the system), durably:
// a reader sees the old bytes or the new ones, also after a crash. A symbolic
// link is followed, as people link their configuration. Perm is for a new
// file; that of an existing one stays. Its directory must exist.
func WriteFile(name string, b []byte, perm fs.FileMode) error {
	if fi, err := os.Lstat(name); err == nil && fi.Mode()&fs.ModeSymlink != 0 {
		target, err := filepath.EvalSymlinks(name)
		if err != nil {
			return wrap(OpWrite, name, err)
		}
		name = target
	}
	if fi, err := os.Lstat(name); err == nil {
		if !fi.Mode().IsRegular() {
			return fmt.Errorf("write %s: %w", name, ErrNotRegular)
		}
		perm = fi.Mode().Perm()
	}
	r, err := OpenRoot(filepath.Dir(name), Options{})
	if err != nil {
		return err
	}
	defer r.Close()
	t, err := r.target(filepath.Base(name), false)
	if err != nil {
		return wrap(OpWrite, name, err)
	}
	defer t.close()
	temp, err := t.temp(b, perm, true)
	if err != nil {
		return wrap(OpWrite, name, err)
	}
	if err := t.d.Rename(temp, t.name); err != nil {
		t.drop(temp)
		return wrap(OpWrite, name, err)
	}
	return wrap(OpWrite, name, syncDir(t.f))
}

// Missing reports whether err says that a file is certainly not there, which is the
// only thing that counts as a deletion. It is not where a part of its path is a file
// by now, either.
func Missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// ReadSource reads a source file below root (forward slashes) into buf, which
// it grows as needed and returns; the bool says that the file has more than
// max bytes and only the first max are returned. It returns ErrNotRegular for
// links (also on the way), FIFOs, devices and directories, and does not wait.
func ReadSource(root *os.Root, p string, max int64, buf []byte) ([]byte, Info, bool, error) {
	if err := validPath(p); err != nil {
		return nil, Info{}, false, err
	}
	f, fi, err := openSource(root, p)
	if err != nil {
		return nil, Info{}, false, wrap(OpRead, p, err)
	}
	defer f.Close()
	want := min(fi.Size(), max) + 1 // one more shows the end, or that there is more
	if int64(cap(buf)) < want {
		buf = make([]byte, want)
	}
	n, err := readUpTo(f, buf[:want], fi.Size())
	if err == nil && int64(n) == want && want <= max {
		// It grew while it was read.
		var rest []byte
		rest, err = io.ReadAll(io.LimitReader(f, max+1-want))
		buf = append(buf[:n], rest...)
		n += len(rest)
	}
	if err != nil {
		return nil, Info{}, false, wrap(OpRead, p, err)
	}
	return buf[:min(int64(n), max)], infoOf(fi), int64(n) > max, nil
}

// ReadParts reads parts of the source file p, each from its first byte to before its
// last, and calls fn with those that lie in the first max bytes of the file, in the
// order given. What fn is given is written over afterwards. Errors are those of
// [ReadSource].
func ReadParts(root *os.Root, p string, max int64, parts [][2]int, fn func(i int, part []byte)) error {
	if err := validPath(p); err != nil {
		return err
	}
	f, fi, err := openSource(root, p)
	if err != nil {
		return wrap(OpRead, p, err)
	}
	defer f.Close()
	var buf []byte
	for i, part := range parts {
		n := part[1] - part[0]
		if part[0] < 0 || n < 0 || int64(part[1]) > min(fi.Size(), max) {
			continue
		}
		if cap(buf) < n {
			buf = make([]byte, n)
		}
		_, err := f.ReadAt(buf[:n], int64(part[0]))
		switch {
		case errors.Is(err, io.EOF) && n > 0: // it was cut meanwhile
		case err != nil && !errors.Is(err, io.EOF):
			return wrap(OpRead, p, err)
		default:
			fn(i, buf[:n])
		}
	}
	return nil
}

// readUpTo fills buf from f, or reads all of f, which had size bytes when it was
// opened: a read that ends just there is the last, and saves the one that would
// only find the end.
func readUpTo(f *os.File, buf []byte, size int64) (n int, err error) {
	for n < len(buf) {
		k, err := f.Read(buf[n:])
		n += k
		if errors.Is(err, io.EOF) || err == nil && int64(n) == size {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// openSource opens the regular file p below root, no part of which is a link.
func openSource(root *os.Root, p string) (*os.File, fs.FileInfo, error) {
	f, err := openBeneath(root, p)
	if errors.Is(err, errUnsupported) {
		r := &Root{root: root}
		d, err := r.open(path.Dir(p), false)
		if err != nil {
			return nil, nil, err
		}
		defer r.done(d)
		return openIn(d, path.Base(p), p)
	}
	if err != nil {
		return nil, nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w", p, ErrNotRegular)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, fi, nil
}
