//go:build accept

package rig

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

// A snapshot is what of a checkout the daemon may never change, by path: the work
// trees but for fold/, and git's folder but for ours. Objects of git count by name,
// since git never changes them.
type snapshot map[string]string

// trees are the user's work trees: the main one, and a linked one while it is there.
func (u *user) trees() []string {
	trees := []string{u.dir}
	if _, err := os.Lstat(u.linkedDir()); err == nil {
		trees = append(trees, u.linkedDir())
	}
	return trees
}

// snapshot reads files only: a git command would refresh the index.
func (u *user) snapshot() snapshot {
	s := snapshot{}
	for _, tree := range u.trees() {
		_ = filepath.WalkDir(tree, func(p string, _ fs.DirEntry, _ error) error { return s.add(tree, p) })
	}
	return s
}

// add puts a file or folder of a work tree into the snapshot, as it is now.
func (s snapshot) add(tree, path string) error {
	name := strings.TrimPrefix(path, filepath.Dir(tree)+"/")
	_, inTree, _ := strings.Cut(name, "/")
	if inTree == "fold" || inTree == ".git/foldwatch" {
		return fs.SkipDir
	}
	fi, err := os.Lstat(path)
	if err != nil {
		s[name] = err.Error() // gone since its folder was read
		return nil
	}
	content := fi.Mode().String()
	switch {
	case fi.IsDir() || strings.HasPrefix(inTree, ".git/objects/"):
	case fi.Mode().IsRegular():
		b, err := os.ReadFile(path)
		content += fmt.Sprint(err) + string(b)
	default:
		to, err := os.Readlink(path)
		content += fmt.Sprint(err) + to
	}
	s[name] = content
	return nil
}

// differences names what is not as it was, and how.
func (s snapshot) differences(now snapshot) (found []string) {
	names := maps.Clone(s)
	maps.Copy(names, now)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, had := s[name]
		is, has := now[name]
		switch {
		case !had:
			found = append(found, name+" is new")
		case !has:
			found = append(found, name+" is gone")
		case was != is:
			found = append(found, fmt.Sprintf("%s had %d bytes and has %d", name, len(was), len(is)))
		}
	}
	return found
}

// foldFiles returns the files in fold/ of all work trees, by path from the folder
// that holds these.
func (u *user) foldFiles() map[string]string {
	files := map[string]string{}
	for _, tree := range u.trees() {
		_ = filepath.WalkDir(filepath.Join(tree, "fold"), func(p string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil //nolint:nilerr // what is gone meanwhile is not there
			}
			if b, err := os.ReadFile(p); err == nil {
				files[strings.TrimPrefix(p, filepath.Dir(u.dir)+"/")] = string(b)
			}
			return nil
		})
	}
	return files
}

// An edit is the new content of a file of fold/, or that it is gone.
type edit struct {
	path, text string
	gone       bool
}

func (e edit) String() string {
	if e.gone {
		return e.path + " is gone"
	}
	return fmt.Sprintf("%s has %q", e.path, e.text)
}

// editsBetween returns what makes the files now out of those that were.
func editsBetween(was, now map[string]string) (edits []edit) {
	for _, path := range slices.Sorted(maps.Keys(now)) {
		if text, had := was[path]; !had || text != now[path] {
			edits = append(edits, edit{path: path, text: now[path]})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(was)) {
		if _, has := now[path]; !has {
			edits = append(edits, edit{path: path, gone: true})
		}
	}
	return edits
}

// apply makes the same edits as any program would: a new file takes the name of the
// old one.
func (u *user) apply(edits []edit) {
	for _, e := range edits {
		path := filepath.Join(filepath.Dir(u.dir), e.path)
		if e.gone {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				u.m.t.Fatal(err)
			}
			continue
		}
		u.m.write(path+".tmp", e.text)
		if err := os.Rename(path+".tmp", path); err != nil {
			u.m.t.Fatal(err)
		}
	}
}
