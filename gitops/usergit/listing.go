package usergit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/foldwatch/foldwatch/meta/disk"
)

// TrackedFiles lists the files of one work tree again and again, as [Repo.Files]
// does, and asks git only about what is new: the index is read when it was
// replaced, a folder when its time stamp moved, and git judges what came up
// there. As long as nothing moved it costs one stat a folder, starts no process
// and reads nothing. That is so on Linux; elsewhere names on disk may be written
// otherwise than in the index, and git is asked each time. Safe for concurrent
// use.
type TrackedFiles struct {
	l    *Repo
	skip func(dir string) bool

	mu       sync.Mutex // guards the fields below
	version  uint64     // of all
	all      []string   // tracked and others, sorted; never changed in place
	index    stamp      // of git's index file, as tracked was read
	tracked  []string   // sorted
	nested   map[string]bool
	others   map[string]map[string]bool // untracked, not ignored, by folder
	dirs     map[string]stamp           // folders that may hold files, "" for the root
	ignores  map[string]contentStamp    // the .gitignore files in dirs, and other files of rules by absolute path
	begins   map[string]bool            // folders of dirs with a .git that is no repository yet
	newRepos []string                   // folders of dirs that were found to be repositories when they were first read
	again    bool                       // what was found asks for all of it again
}

// NewTrackedFiles returns the files of the work tree. Nothing below folders for which
// skip is true is listed, whether it is tracked or not; skip may be nil.
func (l *Repo) NewTrackedFiles(skip func(dir string) bool) *TrackedFiles {
	if skip == nil {
		skip = func(string) bool { return false }
	}
	return &TrackedFiles{l: l, skip: skip}
}

// Forget makes the next call of [TrackedFiles.Files] ask git about everything.
func (x *TrackedFiles) Forget() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.dirs = nil
}

// Files returns the paths of the work tree that are tracked, or untracked and
// not ignored, sorted, and a number that is another once they are others. The
// caller must not change the list.
func (x *TrackedFiles) Files(ctx context.Context) (paths []string, version uint64, err error) {
	if x.l.WorkTree == "" {
		return nil, 0, nil
	}
	root, err := os.OpenRoot(x.l.WorkTree)
	if err != nil {
		return nil, 0, fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.dirs != nil && runtime.GOOS == "linux" && !x.rulesMoved(root) {
		err = x.listMoved(ctx, root)
	} else {
		x.again = true
	}
	if err == nil && x.again {
		err = x.listAll(ctx, root)
	}
	if err == nil && x.overtaken() {
		err = x.listAll(ctx, root)
		x.newRepos = nil
	}
	if err != nil {
		x.dirs = nil // what is kept may be half of each
		return nil, 0, err
	}
	return x.all, x.version, nil
}

// Has reports whether the list, as it was made last, holds p.
func (x *TrackedFiles) Has(p string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, have := slices.BinarySearch(x.all, p)
	return have
}

// Twin returns the listed path that differs from p in case only; "" if there is none.
func (x *TrackedFiles) Twin(p string) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return twinOf(p, x.all)
}

func twinOf(p string, paths []string) string {
	for _, q := range paths {
		if len(q) == len(p) && q != p && strings.EqualFold(q, p) {
			return q
		}
	}
	return ""
}

// below reports whether p lies in a folder that is left out.
func (x *TrackedFiles) below(p string) bool {
	for d := path.Dir(p); d != "."; d = path.Dir(d) {
		if x.nested[d] || x.skip(d) {
			return true
		}
	}
	return false
}

// overtaken reports whether git listed files of a folder that was a repository of its
// own when it was read right after: git init ended in between. Nothing tells of that
// later.
func (x *TrackedFiles) overtaken() bool {
	newRepos := x.newRepos
	x.newRepos = nil // where git and we do not agree, it is asked once more only
	for _, dir := range newRepos {
		for of := range x.others {
			if of == dir || strings.HasPrefix(of, dir+"/") {
				return true
			}
		}
	}
	return false
}

// listAll asks git about everything.
func (x *TrackedFiles) listAll(ctx context.Context, root *os.Root) error {
	began := time.Now()
	x.again, x.newRepos = false, nil
	x.dirs, x.ignores, x.begins = map[string]stamp{}, map[string]contentStamp{}, map[string]bool{}
	if err := x.noteRules(ctx, began); err != nil {
		return err
	}
	type listed struct {
		paths []string
		err   error
	}
	others := make(chan listed, 1)
	go func() { // while the index is read here
		paths, err := x.l.untracked(ctx)
		others <- listed{paths, err}
	}()
	err := x.readTracked(ctx, began)
	found := <-others
	if err = errors.Join(err, found.err); err != nil {
		return err
	}
	x.others = map[string]map[string]bool{}
	for _, p := range found.paths {
		x.put(p)
	}
	fresh := map[string]bool{"": true}
	for _, list := range [][]string{x.tracked, found.paths} {
		for _, p := range list {
			x.parents(p, fresh)
		}
	}
	// Files that git did not list are ignored, unless they came after it looked:
	// a folder as young as that is read again the next time.
	if err := x.enter(ctx, root, slices.Sorted(maps.Keys(fresh)), began, false); err != nil {
		return err
	}
	x.join()
	return nil
}

// listMoved follows what changed since the last call.
func (x *TrackedFiles) listMoved(ctx context.Context, root *os.Root) error {
	now := time.Now()
	indexMoved := !x.index.same(stampAt(filepath.Join(x.l.GitDir, "index")))
	names := slices.Sorted(maps.Keys(x.dirs))
	moved := map[string]bool{}
	stamps, err := x.stampAll(root, names)
	if err != nil {
		return err
	}
	for i, s := range stamps {
		switch {
		case !s.there:
			x.leave(names[i])
		case !x.dirs[names[i]].same(s):
			moved[names[i]] = true
		}
	}
	for dir := range x.begins { // that it is one moves no time of the folder
		x.again = x.again || !unfinished(root, dir)
	}
	if !indexMoved && len(moved) == 0 {
		if len(names) != len(x.dirs) {
			x.join()
		}
		return nil
	}
	if indexMoved {
		was := x.tracked
		if err := x.readTracked(ctx, now); err != nil {
			return err
		}
		if err := x.follow(ctx, root, was, moved); err != nil {
			return err
		}
	}
	if err := x.enter(ctx, root, slices.Sorted(maps.Keys(moved)), now, true); err != nil {
		return err
	}
	x.join()
	return nil
}

// readTracked reads the index.
func (x *TrackedFiles) readTracked(ctx context.Context, now time.Time) error {
	s := stampAt(filepath.Join(x.l.GitDir, "index")).settled(now)
	paths, nested, err := x.l.tracked(ctx)
	if err != nil {
		return err
	}
	x.index, x.tracked, x.nested = s, paths, nested
	return nil
}

// follow puts what the index no longer tracks among the others, unless git
// ignores it or it is gone, and takes what it tracks now out of them. Folders
// that hold tracked files for the first time are added to moved.
func (x *TrackedFiles) follow(ctx context.Context, root *os.Root, was []string, moved map[string]bool) error {
	var left []string
	i := 0
	for _, p := range was {
		for i < len(x.tracked) && x.tracked[i] < p {
			i++
		}
		if i == len(x.tracked) || x.tracked[i] != p {
			left = append(left, p)
		}
	}
	for _, p := range x.tracked {
		delete(x.others[folder(p)], p)
		x.parents(p, moved)
	}
	var there []string
	err := disk.LstatAll(root, left, 1, func(i int, info disk.Info, err error) error {
		if err == nil && !info.Mode.IsDir() {
			there = append(there, left[i])
		}
		if err != nil && !errors.Is(err, fs.ErrPermission) && !isGone(err) {
			return fmt.Errorf("list untracked files: %s: %w", left[i], err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return x.judge(ctx, x.withoutTwins(root, there))
}

// withoutTwins leaves out of paths what git tracks under a name in other case, where
// case does not count: there the two are one file, and git goes by the name it knows.
func (x *TrackedFiles) withoutTwins(root *os.Root, paths []string) []string {
	casing := disk.CaseFinder{Root: root}
	return slices.DeleteFunc(paths, func(p string) bool {
		return casing.Ignored(p) && twinOf(p, x.tracked) != ""
	})
}

// judge puts those of paths that git does not ignore among the others.
func (x *TrackedFiles) judge(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	ignored, err := x.l.Ignored(ctx, paths)
	if err != nil {
		return err
	}
	for _, p := range paths {
		if !ignored[p] && !x.nested[p] {
			x.put(p)
		}
	}
	return nil
}

// parents adds to fresh the folders of p that are not known.
func (x *TrackedFiles) parents(p string, fresh map[string]bool) {
	for d := path.Dir(p); d != "."; d = path.Dir(d) {
		if _, known := x.dirs[d]; known || fresh[d] {
			return
		}
		fresh[d] = true
	}
}

// look stats folders, and returns a zero stamp for what is none any more. One
// that may not be looked at has the stamp it had; any other error of a read is
// returned, since it does not say that a folder went.
func (x *TrackedFiles) stampAll(root *os.Root, names []string) ([]stamp, error) {
	out := make([]stamp, len(names))
	paths := names
	if len(names) > 0 && names[0] == "" { // the root sorts first
		paths = slices.Clone(names)
		paths[0] = "."
	}
	err := disk.LstatAll(root, paths, 2, func(i int, info disk.Info, err error) error {
		switch {
		case err == nil && info.Mode.IsDir():
			out[i] = stampOf(info)
			out[i].size = 0 // of a folder it says nothing
		case errors.Is(err, fs.ErrPermission):
			out[i] = x.dirs[names[i]]
		case err != nil && !isGone(err):
			return fmt.Errorf("list untracked files: %s: %w", names[i], err)
		}
		return nil
	})
	return out, err
}

// isGone reports whether a look at a path failed because nothing lies there, or
// nothing of this work tree: a part of the way is a file or a link.
func isGone(err error) bool {
	for _, kind := range []error{fs.ErrNotExist, syscall.ENOTDIR, syscall.ELOOP, syscall.EXDEV} {
		if errors.Is(err, kind) {
			return true
		}
	}
	// That a path leads out of an os.Root is an error of a kind of its own.
	_, system := errors.AsType[syscall.Errno](err)
	return !system && !errors.Is(err, fs.ErrClosed)
}

// leave forgets a folder that is gone and what was untracked in it.
func (x *TrackedFiles) leave(dir string) {
	delete(x.dirs, dir)
	delete(x.ignores, dir)
	delete(x.others, dir)
	delete(x.begins, dir)
}

// leaveBelow is leave for a folder and all below it.
func (x *TrackedFiles) leaveBelow(dir string) {
	for d := range x.others {
		if d == dir || strings.HasPrefix(d, dir+"/") {
			x.leave(d)
		}
	}
}

// folder returns the folder of p, "" for the root.
func folder(p string) string {
	return p[:max(strings.LastIndexByte(p, '/'), 0)]
}

// put adds an untracked path.
func (x *TrackedFiles) put(p string) {
	dir := folder(p)
	if x.others[dir] == nil {
		x.others[dir] = map[string]bool{}
	}
	x.others[dir][p] = true
}

// enter reads folders, and those that turn up in them. What is neither listed
// nor a known folder is new: git judges it if judge is set, or passes it over.
func (x *TrackedFiles) enter(ctx context.Context, root *os.Root, dirs []string, now time.Time, judge bool) error {
	for len(dirs) > 0 {
		var files, folders []string
		known := make(map[string]bool, len(dirs))
		stamps, err := x.stampAll(root, dirs)
		if err != nil {
			return err
		}
		for i, s := range stamps {
			dir := dirs[i]
			_, known[dir] = x.dirs[dir]
			if s.there && (dir == "" || !x.skip(dir) && !x.below(dir)) {
				x.dirs[dir] = s.settled(now)
			}
		}
		for _, dir := range dirs {
			if _, there := x.dirs[dir]; !there {
				continue
			}
			newFiles, newFolders, err := x.readDir(root, dir, now, known[dir])
			if err != nil {
				return err
			}
			files, folders = append(files, x.withoutTwins(root, newFiles)...), append(folders, newFolders...)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		asked := folders
		if judge {
			asked = append(slices.Clone(folders), files...)
		}
		if len(asked) == 0 {
			return nil
		}
		ignored, err := x.l.Ignored(ctx, asked)
		if err != nil {
			return err
		}
		if judge {
			for _, p := range files {
				if !ignored[p] {
					x.put(p)
				}
			}
		}
		folders = slices.DeleteFunc(folders, func(d string) bool {
			if !ignored[d] && x.ownRepo(root, d) && !unfinished(root, d) {
				x.leaveBelow(d) // a file in it may have been added before it became one
				return true
			}
			return ignored[d]
		})
		dirs, judge = folders, true
	}
	return nil
}

// ownRepo reports whether dir is the work tree of another repository.
func (x *TrackedFiles) ownRepo(root *os.Root, dir string) bool {
	_, err := root.Lstat(filepath.FromSlash(dir + "/.git"))
	return err == nil
}

// unfinished reports whether the .git in dir is a folder that git does not take for a
// repository yet: git init is still at work, or died.
func unfinished(root *os.Root, dir string) bool {
	at := func(name string) string { return filepath.FromSlash(path.Join(dir, ".git", name)) }
	if fi, err := root.Lstat(at("")); err != nil || !fi.IsDir() {
		return false
	}
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := root.Lstat(at(name)); err != nil {
			return true
		}
	}
	return false
}

// readDir returns the files and folders in dir that are not listed.
// Known says that the folder was read before.
func (x *TrackedFiles) readDir(root *os.Root, dir string, now time.Time, known bool) (files, folders []string, err error) {
	f, err := root.Open(filepath.FromSlash(path.Clean("./" + dir)))
	if errors.Is(err, fs.ErrPermission) {
		// Git passes over it, too. That it may be read later moves no time.
		s := x.dirs[dir]
		s.mtime = -1
		x.dirs[dir] = s
		return nil, nil, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("list untracked files: %w", err)
	}
	defer f.Close()
	entries, err := disk.Entries(f)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("list untracked files: %w", err)
	}
	var here map[string]bool
	if len(x.others[dir]) > 0 {
		here = make(map[string]bool, len(entries))
	}
	for _, e := range entries {
		p := path.Join(dir, e.Name())
		if here != nil && listable(e.Type()) {
			here[p] = true
		}
		if e.Name() == ".gitignore" {
			x.noteIgnore(root, dir, p, now, known)
		}
		switch {
		case e.Name() == ".git":
			x.again = x.again || known && dir != "" // it became a repository of its own
			switch {
			case dir == "":
			case unfinished(root, dir):
				x.begins[dir] = true
			case !known:
				x.newRepos = append(x.newRepos, dir)
			}
		case x.nested[p]:
		case e.IsDir():
			if _, has := x.dirs[p]; !has && !x.skip(p) {
				folders = append(folders, p)
			}
		case listable(e.Type()):
			if _, tracked := slices.BinarySearch(x.tracked, p); !tracked && !x.others[dir][p] {
				files = append(files, p)
			}
		}
	}
	for p := range x.others[dir] {
		if !here[p] {
			delete(x.others[dir], p)
		}
	}
	return files, folders, nil
}

// listable reports whether git lists what is of that type.
func listable(t fs.FileMode) bool { return t.IsRegular() || t&fs.ModeSymlink != 0 }

// noteIgnore notes the .gitignore at p. One that came up in a folder that was
// known may hide what is listed.
func (x *TrackedFiles) noteIgnore(root *os.Root, dir, p string, now time.Time, known bool) {
	fi, err := root.Stat(filepath.FromSlash(p))
	if err != nil {
		return // a link to nowhere: git follows none here
	}
	if _, had := x.ignores[dir]; known && !had {
		x.again = true
	}
	// Git has read it by now: its content proves nothing of what git found.
	x.ignores[dir] = contentStamp{stamp: stampOf(disk.InfoOf(fi)).settled(now)}
}

// join makes the list anew if it is another.
func (x *TrackedFiles) join() {
	all := make([]string, 0, len(x.tracked))
	last, out := "", false // sorted paths of one folder lie together
	for _, p := range x.tracked {
		if dir := folder(p); dir != last {
			last, out = dir, x.below(p)
		}
		if !out {
			all = append(all, p)
		}
	}
	for _, paths := range x.others {
		for p := range paths {
			if !x.nested[p] && !x.below(p) {
				all = append(all, p)
			}
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if x.version == 0 || !slices.Equal(all, x.all) {
		x.all = all
		x.version++
	}
}

// noteRules notes the files outside of the listed folders that say what is
// ignored.
func (x *TrackedFiles) noteRules(ctx context.Context, now time.Time) error {
	for _, p := range x.ruleFiles() { // before git reads them
		x.ignores[p] = stampContent(p, now)
	}
	exclude, err := x.l.Git("config", "--path", "--get", "core.excludesFile").Line(ctx)
	if err != nil && ExitCode(err) != 1 {
		return fmt.Errorf("ask for core.excludesFile: %w", err)
	}
	if filepath.IsAbs(exclude) {
		x.ignores[exclude] = stampContent(exclude, now)
	}
	return nil
}

// ruleFiles are absolute paths.
func (x *TrackedFiles) ruleFiles() []string {
	files := []string{
		filepath.Join(x.l.CommonDir, "info", "exclude"), filepath.Join(x.l.CommonDir, "config"), filepath.Join(x.l.GitDir, "config.worktree"),
	}
	for _, p := range configFiles() {
		files = append(files, p, filepath.Join(filepath.Dir(p), "ignore")) // of git's own folder the default of core.excludesFile
	}
	return slices.DeleteFunc(files, func(p string) bool { return !filepath.IsAbs(p) })
}

// rulesMoved reports whether a file that says what is ignored is another.
func (x *TrackedFiles) rulesMoved(root *os.Root) bool {
	now := time.Now()
	for p, was := range x.ignores {
		var is contentStamp
		if filepath.IsAbs(p) {
			is = stampContent(p, now)
		} else if fi, err := root.Stat(filepath.FromSlash(path.Join(p, ".gitignore"))); err == nil {
			is.stamp = stampOf(disk.InfoOf(fi))
		}
		if !was.same(is) {
			return true
		}
	}
	return false
}

// A Stamp tells whether a file that was looked at is still the same.
type Stamp struct{ s stamp }

// Same reports whether nothing was written between two looks. A file that was as
// young as the first look proves nothing.
func (s Stamp) Same(o Stamp) bool { return s.s.same(o.s) }

// IndexStamp looks at git's index.
func (l *Repo) IndexStamp() Stamp {
	return Stamp{stampAt(filepath.Join(l.GitDir, "index")).settled(time.Now())}
}
