package powertest

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// An inode is a file, folder or link, whatever names it has.
type inode int

// root is the folder that is recorded.
const root inode = 1

// A node is what an inode holds. Nodes are shared between trees: nothing in one
// is changed in place.
type node struct {
	mode  fs.FileMode
	names map[string]inode // of a folder, else nil
	link  string           // of a symbolic link
	data  []byte           // of a file
	past  uint64           // of a file: which changes made data, as a hash
}

func (n *node) isDir() bool { return n.names != nil }

// A tree is the state of a disk.
type tree map[inode]*node

// readTree reads what is at dir. Next numbers the inodes.
func readTree(dir string, next func() inode) (tree, error) {
	t := tree{}
	names := map[string]inode{}
	seen := map[fileID]inode{} // hard links are two names of one inode
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := os.Lstat(p)
		if err != nil {
			return err
		}
		id, linked := idOf(fi)
		ino, known := seen[id]
		if !known || !linked {
			ino = next()
			n := &node{mode: fi.Mode()}
			switch {
			case fi.IsDir():
				n.names = map[string]inode{}
			case fi.Mode()&fs.ModeSymlink != 0:
				n.link, err = os.Readlink(p)
			case fi.Mode().IsRegular():
				n.data, err = os.ReadFile(p)
			default:
				err = fmt.Errorf("%s is neither file nor folder", p)
			}
			if err != nil {
				return err
			}
			t[ino] = n
		}
		if linked {
			seen[id] = ino
		}
		if names[p] = ino; p != dir {
			t[names[filepath.Dir(p)]].names[filepath.Base(p)] = ino
		}
		return nil
	})
	return t, err
}

// find returns the inode at a path below the root; "." is the root.
func (t tree) find(path string) (inode, bool) {
	at := root
	if path == "." {
		return at, true
	}
	for name := range strings.SplitSeq(path, "/") {
		n := t[at]
		if n == nil || !n.isDir() {
			return 0, false
		}
		next, ok := n.names[name]
		if !ok {
			return 0, false
		}
		at = next
	}
	return at, true
}

// walk calls fn with every path below the root, folders before what they hold,
// sorted.
func (t tree) walk(fn func(path string, ino inode, n *node) error) error {
	var down func(prefix string, ino inode) error
	down = func(prefix string, ino inode) error {
		names := t[ino].names
		for _, name := range slices.Sorted(maps.Keys(names)) {
			child := names[name]
			n := t[child]
			if n == nil {
				return fmt.Errorf("%s%s names nothing", prefix, name)
			}
			if err := fn(prefix+name, child, n); err != nil {
				return err
			}
			if n.isDir() {
				if err := down(prefix+name+"/", child); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return down("", root)
}

// writeTo makes dir hold the tree and nothing else. Dir itself stays.
func (t tree) writeTo(dir string) error {
	old, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range old {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	made := map[inode]string{}
	return t.walk(func(path string, ino inode, n *node) error {
		name := filepath.Join(dir, filepath.FromSlash(path))
		switch first, again := made[ino]; {
		case n.isDir():
			return os.Mkdir(name, n.mode.Perm()|0o700)
		case n.mode&fs.ModeSymlink != 0:
			return os.Symlink(n.link, name)
		case again:
			return os.Link(first, name)
		}
		made[ino] = name
		return os.WriteFile(name, n.data, n.mode.Perm())
	})
}

// differs returns the first path at which two trees are not the same, and "" if
// they are. Permissions are not compared.
func (t tree) differs(o tree) string {
	mine, theirs := t.listing(), o.listing()
	for _, p := range slices.Sorted(maps.Keys(mine)) {
		if theirs[p] != mine[p] {
			return p
		}
	}
	for _, p := range slices.Sorted(maps.Keys(theirs)) {
		if _, ok := mine[p]; !ok {
			return p
		}
	}
	return ""
}

func (t tree) listing() map[string]string {
	out := map[string]string{}
	_ = t.walk(func(path string, _ inode, n *node) error { // fn returns no error
		switch {
		case n.isDir():
			out[path] = "folder"
		case n.link != "":
			out[path] = "link " + n.link
		default:
			out[path] = "file " + string(n.data)
		}
		return nil
	})
	return out
}

// errNoFolder says that a path leads through something that is not there.
var errNoFolder = errors.New("no such folder")

// parent returns the folder of a path and the last name.
func (t tree) parent(path string) (dir inode, name string, err error) {
	d := "."
	name = path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		d, name = path[:i], path[i+1:]
	}
	dir, ok := t.find(d)
	if !ok || !t[dir].isDir() {
		return 0, "", fmt.Errorf("%s: %w", path, errNoFolder)
	}
	return dir, name, nil
}
