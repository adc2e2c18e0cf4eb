package objdb

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A treeEntry is one name in a tree: a folder, a regular file, or something
// that others put on the branch and that is never ours to read, write or take
// away (G6): a link, a submodule.
// Modes of entries of a tree, as git prints them.
const (
	modeRegular    = "100644"
	modeExecutable = "100755"
	modeGitlink    = "160000"
)

type TreeEntry struct {
	Name string
	Dir  bool
	Hash plumbing.Hash
	odd  string // the mode of what is neither folder nor regular file; else ""
}

// sortKey orders entries as git does: a folder as if its name ended in "/".
func (e TreeEntry) sortKey() string {
	if e.Dir {
		return e.Name + "/"
	}
	return e.Name
}

// ReadTree returns the entries of a tree; that of the zero hash is empty.
func (o *Repo) ReadTree(h plumbing.Hash) ([]TreeEntry, error) {
	if h.IsZero() {
		return nil, nil
	}
	b, err := o.Get(plumbing.TreeObject, h)
	if err != nil {
		return nil, err
	}
	var out []TreeEntry
	for len(b) > 0 {
		head, rest, ok := bytes.Cut(b, []byte{0})
		mode, name, ok2 := strings.Cut(string(head), " ")
		if !ok || !ok2 || len(rest) < 20 {
			return nil, fmt.Errorf("tree %s is damaged", h)
		}
		e := TreeEntry{Name: name, Dir: mode == "40000" || mode == "040000"}
		if !e.Dir && mode != modeRegular && mode != modeExecutable {
			e.odd = mode
		}
		copy(e.Hash[:], rest)
		out, b = append(out, e), rest[20:]
	}
	return out, nil
}

// putTree adds a tree to the batch. Entries need not be sorted.
func (o *Repo) putTree(entries []TreeEntry) (plumbing.Hash, error) {
	slices.SortFunc(entries, func(a, b TreeEntry) int { return strings.Compare(a.sortKey(), b.sortKey()) })
	var b bytes.Buffer
	for _, e := range entries {
		switch {
		case e.Dir:
			b.WriteString("40000 ")
		case e.odd != "":
			b.WriteString(e.odd + " ")
		default:
			b.WriteString(modeRegular + " ")
		}
		b.WriteString(e.Name)
		b.WriteByte(0)
		b.Write(e.Hash[:])
	}
	return o.Put(plumbing.TreeObject, b.Bytes())
}

// Splice returns the tree that results from changes: path → blob, or the zero
// hash for a path to leave out. Only the folders on the way to a changed path
// are read and written: O(changed), whatever the size of the whole.
func (o *Repo) Splice(tree plumbing.Hash, changes map[string]plumbing.Hash) (plumbing.Hash, error) {
	entries, err := o.spliceDir(tree, changes)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return o.putTree(entries)
}

func (o *Repo) spliceDir(tree plumbing.Hash, changes map[string]plumbing.Hash) ([]TreeEntry, error) {
	old, err := o.ReadTree(tree)
	if err != nil {
		return nil, err
	}
	files := map[string]plumbing.Hash{}
	dirs := map[string]map[string]plumbing.Hash{}
	for p, h := range changes {
		name, rest, deeper := strings.Cut(p, "/")
		if !deeper {
			files[name] = h
			continue
		}
		if dirs[name] == nil {
			dirs[name] = map[string]plumbing.Hash{}
		}
		dirs[name][rest] = h
	}
	out := make([]TreeEntry, 0, len(old)+len(files)+len(dirs))
	was := map[string]plumbing.Hash{} // folders that change
	for _, e := range old {
		h, file := files[e.Name]
		_, dir := dirs[e.Name]
		switch {
		case dir && e.Dir:
			was[e.Name] = e.Hash
		case !file && !dir, (e.Dir || e.odd != "") && h.IsZero() && !dir:
			out = append(out, e) // untouched, or not what is to be removed
		case dir && !file && !anyAdded(dirs[e.Name]):
			out = append(out, e) // nothing to remove below a file
		}
	}
	for name, sub := range dirs {
		entries, err := o.spliceDir(was[name], sub)
		if err != nil {
			return nil, err
		}
		if len(entries) == 0 {
			continue
		}
		if h := files[name]; !h.IsZero() {
			return nil, fmt.Errorf("%q is both a file and a folder: %w", name, fold.ErrInvalid)
		}
		h, err := o.putTree(entries)
		if err != nil {
			return nil, err
		}
		out = append(out, TreeEntry{Name: name, Dir: true, Hash: h})
	}
	for name, h := range files {
		if !h.IsZero() {
			out = append(out, TreeEntry{Name: name, Hash: h})
		}
	}
	return out, nil
}

func anyAdded(changes map[string]plumbing.Hash) bool {
	for _, h := range changes {
		if !h.IsZero() {
			return true
		}
	}
	return false
}

// Lookup returns the blob at path in a tree; the zero hash if there is none.
func (o *Repo) Lookup(tree plumbing.Hash, path string) (plumbing.Hash, error) {
	for {
		name, rest, deeper := strings.Cut(path, "/")
		entries, err := o.ReadTree(tree)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		i := slices.IndexFunc(entries, func(e TreeEntry) bool { return e.Name == name && e.Dir == deeper && e.odd == "" })
		if i < 0 {
			return plumbing.ZeroHash, nil
		}
		if !deeper {
			return entries[i].Hash, nil
		}
		tree, path = entries[i].Hash, rest
	}
}

// Blocked returns why path cannot be added to a tree: part of it is a file
// there, or all of it a folder. Known remembers folders between calls.
func (o *Repo) Blocked(tree plumbing.Hash, path string, known map[string]map[string]TreeEntry) (why, err error) {
	dir := ""
	for {
		name, rest, deeper := strings.Cut(strings.TrimPrefix(path[len(dir):], "/"), "/")
		entries, ok := known[dir]
		if !ok {
			list, err := o.ReadTree(tree)
			if err != nil {
				return nil, err
			}
			entries = map[string]TreeEntry{}
			for _, e := range list {
				entries[e.Name] = e
			}
			known[dir] = entries
		}
		e, ok := entries[name]
		switch {
		case !ok, !deeper && !e.Dir && e.odd == "":
			return nil, nil
		case !deeper, !e.Dir:
			return fmt.Errorf("%s: the remote has something else of that name: %w", path, fold.ErrConflict), nil
		}
		tree, dir = e.Hash, path[:len(path)-len(rest)-1]
	}
}
