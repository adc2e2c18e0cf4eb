package gitops

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A refWatch tells, without a process, that since a commit of ours was made no
// reference moved but the one that leads to it: then no other can lead there. Git
// changes a reference by renaming a file into its folder, so that the folder's
// time moves; where that time is too young to prove anything, the files are
// compared.
type refWatch struct {
	own    string // absolute path of the reference that leads there
	packed stamp  // of packed-refs
	dirs   map[string]refDir
}

// A refDir is a folder of references.
type refDir struct {
	stamp stamp // never equal if it was too young
	subs  []string
	files map[string]stamp // by name; nil where stamp suffices
}

// watchRefs looks at all references of l once ref leads to a new commit, whose
// making began at since. Was is the look before, or nil. It returns nil if another
// reference moved since then too.
func watchRefs(l *Layout, ref string, since time.Time, was *refWatch) *refWatch {
	w := &refWatch{
		own: filepath.Join(l.CommonDir, filepath.FromSlash(ref)), packed: stampAt(filepath.Join(l.CommonDir, "packed-refs")),
		dirs: map[string]refDir{},
	}
	since = since.Add(-time.Duration(racy))
	if w.packed.mtime >= since.UnixNano() || !w.add(filepath.Join(l.CommonDir, "refs"), since, was) {
		return nil
	}
	return w
}

func (w *refWatch) add(dir string, since time.Time, was *refWatch) bool {
	d := refDir{stamp: stampAt(dir).settled(time.Now())}
	if was != nil && d.stamp.same(was.dirs[dir].stamp) {
		d.subs = was.dirs[dir].subs
	} else {
		files, subs, err := w.list(dir)
		if err != nil {
			return false
		}
		d.subs = subs
		if d.stamp.mtime == -1 {
			d.files = files
		}
		for _, s := range files {
			if s.mtime >= since.UnixNano() {
				return false
			}
		}
	}
	w.dirs[dir] = d
	for _, sub := range d.subs {
		if !w.add(filepath.Join(dir, sub), since, was) {
			return false
		}
	}
	return true
}

// list returns what is in dir but our own reference and locks.
func (w *refWatch) list(dir string) (files map[string]stamp, subs []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	files = map[string]stamp{}
	for _, e := range entries {
		p := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir():
			subs = append(subs, e.Name())
		case p != w.own && !strings.HasSuffix(p, ".lock"):
			files[e.Name()] = stampAt(p)
		}
	}
	return files, subs, nil
}

// alone reports whether nothing but our own reference moved.
func (w *refWatch) alone(l *Layout, ref string) bool {
	if w == nil || w.own != filepath.Join(l.CommonDir, filepath.FromSlash(ref)) || stampAt(filepath.Join(l.CommonDir, "packed-refs")) != w.packed {
		return false
	}
	for dir, d := range w.dirs {
		if stampAt(dir).same(d.stamp) {
			continue
		}
		if d.files == nil {
			return false
		}
		files, subs, err := w.list(dir)
		if err != nil || !slices.Equal(subs, d.subs) || len(files) != len(d.files) {
			return false
		}
		for name, s := range files {
			if s != d.files[name] {
				return false
			}
		}
	}
	return true
}

// checkedOutAt reports whether HEAD of a linked work tree names the commit.
func (t *branchTarget) checkedOutAt(id oid) bool {
	dir := filepath.Join(t.l.CommonDir, "worktrees")
	list, err := os.ReadDir(dir)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	return slices.ContainsFunc(list, func(e os.DirEntry) bool {
		b, err := readSmall(filepath.Join(dir, e.Name(), "HEAD"))
		return err == nil && strings.TrimSpace(string(b)) == id.String()
	})
}
