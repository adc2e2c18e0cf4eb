package disk

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// statPart is how many paths one goroutine of [LstatAll] takes at a time.
const statPart = 1024

// LstatAll looks at paths below root, sorted or not, and calls fn with the index
// of each and what its inode says, from up to workers goroutines at once. Paths
// of one folder should lie together: the folder is then opened once for all of
// them. No file is opened. It returns the first error of fn.
//
// A path beyond a symbolic link gives an error, which need not be fs.ErrNotExist.
func LstatAll(root *os.Root, paths []string, workers int, fn func(i int, info Info, err error) error) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	var once sync.Once
	var failed atomic.Bool
	var first error
	work := func() {
		l := looker{root: root}
		defer l.close()
		for !failed.Load() {
			start := int(next.Add(statPart)) - statPart
			if start >= len(paths) {
				return
			}
			for i := start; i < min(start+statPart, len(paths)); i++ {
				info, err := l.lstat(paths[i])
				if err := fn(i, info, err); err != nil {
					once.Do(func() { first = err })
					failed.Store(true)
					return
				}
			}
		}
	}
	for range min(max(workers, 1), 1+len(paths)/statPart) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	return first
}

// A looker stats files of one tree, keeping the folder of the last one open.
type looker struct {
	root *os.Root
	base *os.File // root itself; nil before the first path
	dir  string   // the open folder's, as in a path; "" if none was
	open dirHandle
	err  error // why it is not open
}

// lstat returns what the inode at p, relative with forward slashes, says.
func (l *looker) lstat(p string) (Info, error) {
	dir, name := path.Split(p)
	if !l.open.valid() && l.err == nil || dir != l.dir {
		l.leave()
		l.dir = dir
		if l.base == nil {
			l.base, l.err = l.root.Open(".")
		}
		if l.err == nil {
			l.open, l.err = openDir(l.base, dir)
		}
	}
	switch {
	case l.err == nil:
		return l.open.lstat(name)
	case errors.Is(l.err, errUnsupported):
		fi, err := l.root.Lstat(filepath.FromSlash(p))
		if err != nil {
			return Info{}, err
		}
		return infoOf(fi), nil
	case errors.Is(l.err, fs.ErrNotExist):
		return Info{}, fs.ErrNotExist
	}
	return Info{}, l.err
}

// leave closes the open folder.
func (l *looker) leave() {
	l.open.close()
	l.open, l.err, l.dir = dirHandle{}, nil, ""
}

func (l *looker) close() {
	l.leave()
	if l.base != nil {
		_ = l.base.Close()
	}
}
