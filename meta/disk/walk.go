package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Walk calls fn for everything below r that is not a directory, in the lexical
// order of fs.WalkDir: regular files, and also links, FIFOs and other irregular
// things with their Mode, so that they can be reported; none is followed.
// Temporary files of this package are left out. fs.SkipDir from fn leaves the
// rest of that file's directory out, fs.SkipAll ends the walk.
//
// A directory that cannot be read ends the walk with its error: what was not
// seen must not be taken for deleted. What vanishes meanwhile is skipped.
func (r *Root) Walk(fn func(path string, info Info) error) error {
	err := r.walk(r.root, "", fn)
	if errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

func (r *Root) walk(d *os.Root, prefix string, fn func(string, Info) error) error {
	at := path.Clean(prefix)
	if err := injectFault(r.faults, OpWalk, at); err != nil {
		return wrap(OpWalk, at, err)
	}
	f, err := d.Open(".")
	if prefix != "" && errors.Is(err, fs.ErrNotExist) { // it went after it was opened
		return nil
	}
	if err != nil {
		return wrap(OpWalk, at, err)
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if prefix != "" && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return wrap(OpWalk, at, err)
	}
	slices.Sort(names)
	for _, name := range names {
		if IsTemp(name) {
			continue
		}
		info, err := lstatIn(d, f, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return wrap(OpWalk, prefix+name, err)
		}
		if info.Mode.IsDir() {
			err = r.walkDir(d, name, prefix+name, fn)
		} else {
			err = fn(prefix+name, info)
			if errors.Is(err, fs.SkipDir) {
				return nil
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Root) walkDir(d *os.Root, name, whole string, fn func(string, Info) error) error {
	if strings.Count(whole, "/") > maxDepth {
		return fmt.Errorf("walk %.80q: deeper than %d directories: %w", whole, maxDepth, ErrNotRegular)
	}
	sub, err := r.step(d, name, whole, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return wrap(OpWalk, whole, err)
	}
	defer r.done(sub)
	return r.walk(sub, whole+"/", fn)
}

// maxDepth keeps a hostile tree from holding a file handle a level.
const maxDepth = 64

// CleanTemps removes what a crash left of this package's temporary files, and
// puts back a file whose removal was interrupted: whoever asked for that asks
// again. Before one goes that was written for a path, see is told, unless it is nil: the
// file may be half of what was to be written, what was replaced, or a version of somebody
// else who saved at that moment, see Replace. After an error it stays. It returns how many
// it dealt with. Nobody else may write meanwhile.
func (r *Root) CleanTemps(see func(path string, b []byte) error) (int, error) {
	n, err := r.cleanTemps(r.root, "", see)
	if err == nil && r.temps != nil {
		var apart int
		apart, err = r.cleanApart(see)
		n += apart
	}
	return n, err
}

func (r *Root) cleanTemps(d *os.Root, prefix string, see func(string, []byte) error) (int, error) {
	entries, err := list(d)
	if err != nil {
		return 0, wrap(OpRemove, path.Clean(prefix), err)
	}
	n := 0
	for _, e := range entries { // what an entry is stands in it: no file is looked at
		name := e.Name()
		if e.IsDir() && strings.Count(prefix, "/") < maxDepth {
			sub, err := r.step(d, name, prefix+name, false)
			if err != nil {
				continue
			}
			m, err := r.cleanTemps(sub, prefix+name+"/", see)
			r.done(sub)
			n += m
			if err != nil {
				return n, err
			}
		}
		if !e.Type().IsRegular() || !IsTemp(name) {
			continue
		}
		if err := show(d, name, see); err != nil {
			return n, err
		}
		if err := r.cleanTemp(prefix, name); err != nil {
			return n, wrap(OpRemove, prefix+name, err)
		}
		n++
	}
	return n, nil
}

func list(d *os.Root) ([]fs.DirEntry, error) {
	f, err := d.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := Entries(f)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

func (r *Root) cleanTemp(prefix, name string) error {
	t, err := r.target(prefix+name, false)
	if err != nil {
		return err
	}
	defer t.close()
	if err := injectFault(r.faults, OpRemove, t.path); err != nil {
		return err
	}
	t.temps = t.folder // it lies here
	if was, ok := pathOfTemp(name, goneSuffix); ok {
		err := t.place(name, path.Base(was))
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return t.d.Remove(name)
}

// show tells see what a temporary file holds, if its name says for which path it was. What
// cannot be read is nobody's version.
func show(d *os.Root, name string, see func(path string, b []byte) error) error {
	p, ok := pathOfTemp(name, tempSuffix)
	if !ok || see == nil {
		return nil
	}
	b, _, err := readIn(d, name, p, maxCompare)
	if err != nil {
		return nil //nolint:nilerr // a link, a folder, or larger than any file of fold/
	}
	return see(p, b)
}

// cleanApart does the same with what lies in the directory for temporary files.
func (r *Root) cleanApart(see func(string, []byte) error) (n int, err error) {
	entries, err := list(r.temps.d)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !IsTemp(e.Name()) {
			continue
		}
		if err := show(r.temps.d, e.Name(), see); err != nil {
			return n, err
		}
		if was, ok := pathOfTemp(e.Name(), goneSuffix); ok {
			if err := r.putBack(e.Name(), was); err != nil {
				return n, wrap(OpRename, was, err)
			}
		}
		if err := r.temps.d.Remove(e.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return n, wrap(OpRemove, e.Name(), err)
		}
		n++
	}
	return n, nil
}

// putBack places the file that was taken away from path, unless another is there by
// now.
func (r *Root) putBack(temp, p string) error {
	t, err := r.target(p, true)
	if err != nil {
		return err
	}
	defer t.close()
	if err := t.place(temp, t.name); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
