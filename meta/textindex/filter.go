package textindex

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Filter says which documents may be found; its zero value says all. What is
// set must all hold. It acts while candidates are gathered, so that a search
// never returns fewer hits than there are.
type Filter struct {
	Source   string
	Type     string
	Author   string // in any case
	Language string // in any case

	// PathGlob is matched against the whole path: `*` and `?` stay inside a
	// folder, `**` crosses folders, `[a-z]` is one character, `{a,b}` is either.
	// A glob without a slash is matched against the last part of the path; one
	// that ends in a slash means everything below.
	PathGlob string

	Tags          []string         // all of them, in any case
	After, Before time.Time        // After <= Updated of the memory < Before; the zero time is no bound
	Memories      map[fold.ID]bool // only documents shown under these; nil is no bound
}

// Empty reports whether f lets everything pass.
func (f *Filter) Empty() bool {
	return f.Source == "" && f.Type == "" && f.Author == "" && f.Language == "" && f.PathGlob == "" &&
		len(f.Tags) == 0 && f.After.IsZero() && f.Before.IsZero() && f.Memories == nil
}

// A compiledFilter is a Filter whose glob, tags and times have been read.
type compiledFilter struct {
	Filter

	glob     pathGlob
	tags     [][]byte
	lo, hi   uint64 // lo <= updated, see nanos; updated < hi if Before is set
	inFolder string
}

func (f Filter) compile() (*compiledFilter, error) {
	s := &compiledFilter{Filter: f, glob: pathGlob{all: true}}
	s.Author, s.Language = strings.ToLower(f.Author), strings.ToLower(f.Language)
	for _, t := range f.Tags {
		s.tags = append(s.tags, []byte(strings.ToLower(t)))
	}
	if f.PathGlob != "" {
		g, err := parseGlob(f.PathGlob)
		if err != nil {
			return nil, fmt.Errorf("path glob %q: %w", f.PathGlob, err)
		}
		s.glob, s.inFolder = g, g.folder+"/"
		if g.all {
			s.PathGlob = ""
		}
	}
	if !f.After.IsZero() {
		s.lo = nanos(f.After)
	}
	if !f.Before.IsZero() {
		s.hi = nanos(f.Before)
	}
	return s, nil
}

// hasTimeBounds reports whether s has a bound of time.
func (s *compiledFilter) hasTimeBounds() bool { return !s.After.IsZero() || !s.Before.IsZero() }

// inTime reports whether a time, see nanos, lies within the bounds.
func (s *compiledFilter) inTime(t uint64) bool {
	return t >= s.lo && (s.Before.IsZero() || t < s.hi)
}

// passing returns which owners of seg pass, but for the bounds of time.
func (s *compiledFilter) passing(seg *segment) []bool {
	out := make([]bool, seg.owned)
	for n := range out {
		out[n] = s.passes(seg, uint32(n))
	}
	return out
}

// passes compares what is cheap first.
func (s *compiledFilter) passes(seg *segment, o uint32) bool {
	for which, want := range [...]string{ownerSource: s.Source, ownerType: s.Type, ownerAuthor: s.Author} {
		if want != "" && string(seg.value(o, which)) != want {
			return false
		}
	}
	if s.Language != "" && !sameLanguage(seg.value(o, ownerLanguage), s.Language) {
		return false
	}
	if s.Memories != nil && !s.Memories[fold.ID(seg.value(o, ownerMemory))] {
		return false
	}
	for _, want := range s.tags {
		if !hasTag(seg.value(o, ownerTags), want) {
			return false
		}
	}
	return s.glob.all || s.matches(seg.value(o, ownerPath))
}

// sameLanguage reports whether a file of the language have is one of those asked for
// as want: TSX is TypeScript too.
func sameLanguage(have []byte, want string) bool {
	return string(have) == want || want == "typescript" && string(have) == "tsx"
}

// hasTag reports whether tags, each followed by a zero byte, holds tag.
func hasTag(tags, tag []byte) bool {
	for len(tags) > 0 {
		one, rest, _ := bytes.Cut(tags, []byte{0})
		if bytes.Equal(one, tag) {
			return true
		}
		tags = rest
	}
	return false
}

func (s *compiledFilter) matches(p []byte) bool {
	switch {
	case len(p) == 0:
		return false
	case s.glob.folder != "":
		return bytes.HasPrefix(p, []byte(s.inFolder))
	case s.glob.ext != "":
		return path.Ext(string(p)) == s.glob.ext
	}
	return bytes.HasPrefix(p, []byte(s.glob.prefix)) && s.glob.match.Match(p)
}

// baseExt returns the extension if base is `*.ext`, with nothing special in it.
func baseExt(base string) string {
	if ext, ok := strings.CutPrefix(base, "*"); ok && len(ext) > 1 && ext == path.Ext(ext) && !strings.ContainsAny(ext, globMeta) {
		return ext
	}
	return ""
}

// MatchingMemories returns the memories of which a document passes f, for channels that
// have no filter of their own. It returns nil where f lets everything pass.
func (x *Index) MatchingMemories(ctx context.Context, f Filter) (_ map[fold.ID]bool, err error) {
	defer wrap(&err, "filter memories")
	filter, err := f.compile()
	if err != nil || filter.Empty() {
		return nil, err
	}
	s, err := x.snapshot()
	if err != nil {
		return nil, err
	}
	defer closeReader(s, &err)
	out := map[fold.ID]bool{}
	for i, ok := range s.owners(filter) {
		l := &s.leaves[i]
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if l.deleted == nil { // every owner has a document
			for o, yes := range ok {
				if yes {
					out[fold.ID(l.value(uint32(o), ownerMemory))] = true
				}
			}
			continue
		}
		for doc := range uint32(l.Count()) {
			o := l.ownerOf(doc)
			if ok[o] && !l.deleted.Contains(doc) {
				out[fold.ID(l.value(o, ownerMemory))] = true
				ok[o] = false // once
			}
		}
	}
	return out, nil
}
