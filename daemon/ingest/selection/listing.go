package selection

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/disk"
)

// List returns the files that may be indexed, and apart those that are held back
// for their names. As long as neither files nor rules moved that is the same
// listing.
func (s *Selection) List(ctx context.Context) (*Listing, error) {
	if s.opt.Root == nil {
		return &Listing{}, nil
	}
	if s.Rules().ignores == nil {
		s.readIgnores([]string{attributesFile, IgnoreFile}) // so that what they leave out is not listed first
	}
	var all, named []string // the second: files of rules
	var version uint64
	for range 2 {
		var err error
		if all, version, err = s.Tracked.Files(ctx); err != nil {
			return nil, err
		}
		s.mu.Lock()
		last := s.last
		s.mu.Unlock()
		if last != nil && last.version == version {
			named = last.ruleFiles
		} else {
			named = ruleFiles(all)
		}
		if !s.readIgnores(named) {
			break
		}
		s.relist()
	}
	s.mu.Lock()
	last, number, rules := s.last, s.number, s.rules
	s.mu.Unlock()
	if last != nil && last.version == version && last.rules == number {
		return last, nil
	}
	dir := s.opt.FoldDir
	now := &Listing{version: version, rules: number, ruleFiles: named, Files: make([]string, 0, len(all)), leftOut: map[string]int{}}
	for _, p := range all {
		switch {
		case rules.Eligible(p, dir):
			now.Files = append(now.Files, p)
		case rules.HeldBack(p, dir):
			now.Held = append(now.Held, p)
		default:
			if why := rules.leftOutBy(p, dir); why != "" {
				now.leftOut[why]++
			}
		}
	}
	switch { // one copy for whoever keeps it
	case last != nil && slices.Equal(last.Files, now.Files):
		now.Files = last.Files
	case len(now.Files) == len(all):
		now.Files = all
	}
	s.mu.Lock()
	s.last = now
	s.mu.Unlock()
	return now, nil
}

// Eligible lists the source files of the checkout that may be indexed: tracked,
// or untracked and not ignored, within the rules, sorted. The list must not be
// changed.
func (s *Selection) Eligible(ctx context.Context) ([]string, error) {
	l, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	return l.Files, nil
}

// Dirs lists the folders of the checkout that hold eligible files or say which
// are, and their parents, relative, "." first: those that have to be watched.
func (s *Selection) Dirs(ctx context.Context) ([]string, error) {
	files, err := s.Eligible(ctx)
	if err != nil {
		return nil, err
	}
	set, last := map[string]bool{".": true}, "."
	for _, f := range append(s.ignoreFiles(), files...) {
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

// ignoreFiles returns the ignore files as they were last read.
func (s *Selection) ignoreFiles() []string {
	if g := s.Rules().ignores; g != nil {
		return slices.Clone(g.names)
	}
	return nil
}

// LeftOut returns how many files of the checkout are not indexed because an
// ignore file, project.toml or their being vendored says so, by why.
func (s *Selection) LeftOut() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		return nil
	}
	return s.last.leftOut
}

// Pruned returns the folders that are not looked into because an ignore file or
// their being vendored says so, sorted.
func (s *Selection) Pruned() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.pruned))
}

// Listed returns how many eligible files there were when they were last listed.
func (s *Selection) Listed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		return 0
	}
	return len(s.last.Files)
}

// Unwatched tells which folders of the checkout nothing can be indexed from:
// those that git or an ignore file ignores, and vendored ones.
func (s *Selection) Unwatched(ctx context.Context, dirs []string) (map[string]bool, error) {
	out := make(map[string]bool, len(dirs))
	var ask []string
	rules := s.Rules()
	for _, d := range dirs {
		if rules.PrunesDir(d) {
			out[d] = true
		} else {
			ask = append(ask, d)
		}
	}
	ignored, err := s.opt.Repo.Ignored(ctx, ask)
	for d := range ignored {
		out[d] = ignored[d]
	}
	return out, err
}

// readIgnores reads the files that say what is not indexed, unless they are
// those that were read last. It reports whether they say something else now.
func (s *Selection) readIgnores(names []string) bool {
	was := s.Rules().ignores
	now := s.stampsOf(names)
	if was != nil && slices.Equal(was.stamps, now) {
		return false
	}
	g := &ignores{stamps: now}
	room := maxIgnores
	add := func(to *[]patternFile, folder string, patterns []pattern) {
		patterns = patterns[:min(len(patterns), room)]
		if room -= len(patterns); len(patterns) > 0 {
			*to = append(*to, patternFile{folder, patterns})
		}
	}
	for _, p := range names {
		b, _, _, err := disk.ReadSource(s.opt.Root, p, maxIgnoreFile, nil)
		if err != nil {
			continue
		}
		folder := strings.TrimSuffix(p, path.Base(p))
		if path.Base(p) == IgnoreFile {
			g.names = append(g.names, p)
			add(&g.files, folder, parseIgnore(b))
			continue
		}
		vendored, generated := parseAttributes(b)
		add(&g.vendored, folder, vendored)
		add(&g.generated, folder, generated)
	}
	same := func(a, b patternFile) bool { return a.folder == b.folder && slices.Equal(a.patterns, b.patterns) }
	if was == nil {
		was = &ignores{}
	}
	changed := !slices.Equal(was.names, g.names) || !slices.EqualFunc(was.files, g.files, same) ||
		!slices.EqualFunc(was.vendored, g.vendored, same) || !slices.EqualFunc(was.generated, g.generated, same)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules.ignores = g
	if changed {
		s.number++
	}
	return changed
}

// stampsOf tells the files at paths as they are from others. One that was
// written just now is never the same: its next change may not show.
func (s *Selection) stampsOf(paths []string) []string {
	var out []string
	for _, p := range paths {
		fi, err := s.opt.Root.Lstat(p)
		if err != nil {
			continue
		}
		info := disk.InfoOf(fi)
		stamp := fmt.Sprint(p, info.Size, info.MtimeNS, info.Inode)
		if now := time.Now(); now.Sub(fi.ModTime()) < 2*time.Second {
			stamp += fmt.Sprint(now.UnixNano())
		}
		out = append(out, stamp)
	}
	return out
}
