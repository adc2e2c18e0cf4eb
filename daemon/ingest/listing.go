package ingest

import (
	"context"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/foldwatch/foldwatch/meta/index"
)

// A listing is what the rules made of the files of the checkout, as they were
// listed last. It does not change once made.
type listing struct {
	version uint64   // of the lister's list
	rules   int      // number of the rules
	listed  []string // eligible, sorted
	held    []string // held back for their names

	ruleFiles []string       // that say what is not indexed
	leftOut   map[string]int // files that are not indexed, by why
}

// skipDir reports folders that nothing is indexed from, when something is from
// those they lie in. Such folders are not walked.
func (in *Ingester) skipDir(dir string) bool {
	if dir == in.foldPrefix() || neverDirs[path.Base(dir)] {
		return true
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.rules.prunesAt(dir) {
		return false
	}
	in.pruned[dir] = true
	return true
}

// relist has all files listed anew, since other folders are left out now.
func (in *Ingester) relist() {
	in.mu.Lock()
	in.pruned = map[string]bool{}
	in.mu.Unlock()
	in.lister.Forget()
}

// list returns the files that may be indexed, and apart those that are held back
// for their names. As long as neither files nor rules moved that is the same
// listing.
func (in *Ingester) list(ctx context.Context) (*listing, error) {
	if in.root == nil {
		return &listing{}, nil
	}
	if in.Rules().ignores == nil {
		in.readIgnores([]string{attributesFile, IgnoreFile}) // so that what they leave out is not listed first
	}
	var all, named []string // the second: files of rules
	var version uint64
	for range 2 {
		var err error
		if all, version, err = in.lister.Files(ctx); err != nil {
			return nil, err
		}
		in.mu.Lock()
		last := in.last
		in.mu.Unlock()
		if last != nil && last.version == version {
			named = last.ruleFiles
		} else {
			named = ruleFiles(all)
		}
		if !in.readIgnores(named) {
			break
		}
		in.relist()
	}
	in.mu.Lock()
	last, number, rules := in.last, in.rulesNumber, in.rules
	in.mu.Unlock()
	if last != nil && last.version == version && last.rules == number {
		return last, nil
	}
	dir := in.foldPrefix()
	now := &listing{version: version, rules: number, ruleFiles: named, listed: make([]string, 0, len(all)), leftOut: map[string]int{}}
	for _, p := range all {
		switch {
		case rules.Eligible(p, dir):
			now.listed = append(now.listed, p)
		case rules.HeldBack(p, dir):
			now.held = append(now.held, p)
		default:
			if why := rules.leftOutBy(p, dir); why != "" {
				now.leftOut[why]++
			}
		}
	}
	switch { // one copy for whoever keeps it
	case last != nil && slices.Equal(last.listed, now.listed):
		now.listed = last.listed
	case len(now.listed) == len(all):
		now.listed = all
	}
	in.mu.Lock()
	in.last = now
	in.mu.Unlock()
	return now, nil
}

// Eligible lists the source files of the checkout that may be indexed: tracked,
// or untracked and not ignored, within the rules, sorted. The list must not be
// changed.
func (in *Ingester) Eligible(ctx context.Context) ([]string, error) {
	l, err := in.list(ctx)
	if err != nil {
		return nil, err
	}
	return l.listed, nil
}

// Dirs lists the folders of the checkout that hold eligible files or say which
// are, and their parents, relative, "." first: those that have to be watched.
func (in *Ingester) Dirs(ctx context.Context) ([]string, error) {
	files, err := in.Eligible(ctx)
	if err != nil {
		return nil, err
	}
	set, last := map[string]bool{".": true}, "."
	for _, f := range append(in.ignoreFiles(), files...) {
		if strings.HasPrefix(f, last) && strings.LastIndexByte(f, '/') == len(last) {
			continue // in the folder of the one before
		}
		last = path.Dir(f)
		for d := last; !set[d]; d = path.Dir(d) {
			set[d] = true
		}
	}
	out := make([]string, 0, len(set))
	for d := range set {
		out = append(out, d)
	}
	sort.Strings(out)
	return out, nil
}

// below returns the part of a sorted list of paths that lies in the folder dir.
func below(sorted []string, dir string) []string {
	if dir == "." || dir == "" {
		return sorted
	}
	from, _ := slices.BinarySearch(sorted, dir+"/")
	to, _ := slices.BinarySearch(sorted, dir+"0") // "0" is the byte after "/"
	return sorted[from:to]
}

// A stat is what the manifest knows of a file, as far as a sweep compares it.
type stat struct {
	size, mtime int64
	inode       uint64
	state       index.FileState
}

// same reports whether a file is certainly the one the manifest knows. One that
// was written while it was read carries the time -1 and never is.
func (s stat) same(size, mtime int64, inode uint64) bool {
	return s.mtime == mtime && s.size == size && s.inode == inode && !s.state.Again()
}

// stats are the manifest of fold/, or of source, in the order of the paths. They
// do not change once made.
type stats struct {
	version int64 // of the manifest
	paths   []string
	stats   []stat
}

// manifestOf returns the manifest as far as a sweep needs it, from memory where
// nothing in it changed since the last one. Paths of the listing are shared with
// it: those of a large checkout are kept once.
func (in *Ingester) manifestOf(ctx context.Context, foldFiles bool, listed []string) (*stats, error) {
	at := &in.sourceStats
	if foldFiles {
		at = &in.foldStats
	}
	version := in.Index.FilesVersion(foldFiles)
	if *at != nil && (*at).version == version {
		return *at, nil
	}
	now := &stats{version: version}
	if n := len(listed); n > 0 {
		now.paths, now.stats = make([]string, 0, n), make([]stat, 0, n)
	}
	i := 0
	err := in.Index.EachFileStat(ctx, foldFiles, func(f *index.FileStat) {
		for i < len(listed) && listed[i] < string(f.Path) {
			i++
		}
		if i < len(listed) && listed[i] == string(f.Path) {
			now.paths = append(now.paths, listed[i])
		} else {
			now.paths = append(now.paths, string(f.Path))
		}
		now.stats = append(now.stats, stat{size: f.Size, mtime: f.MtimeNS, inode: f.Inode, state: f.State})
	})
	if err != nil {
		return nil, err
	}
	*at = now
	return now, nil
}
