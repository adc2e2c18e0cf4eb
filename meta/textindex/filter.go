package textindex

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"

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
	After, Before time.Time        // After <= updated < Before; the zero time is no bound
	Memories      map[fold.ID]bool // only documents shown under these; nil is no bound
}

// bits returns the document numbers that pass, nil if all do.
func (f Filter) bits(ctx context.Context, r *scorch.IndexSnapshot, docs int) (bitset, error) {
	p := &pass{ctx: ctx, r: r, docs: docs}
	p.term(bySource, f.Source)
	p.term(byType, f.Type)
	p.term(byAuthor, strings.ToLower(f.Author))
	p.term(byLanguage, strings.ToLower(f.Language))
	for _, tag := range f.Tags {
		p.term(byTag, strings.ToLower(tag))
	}
	if f.PathGlob != "" {
		p.glob(f.PathGlob)
	}
	if !f.After.IsZero() || !f.Before.IsZero() {
		p.between(f.After, f.Before)
	}
	if f.Memories != nil {
		set := newBitset(docs)
		for id, yes := range f.Memories {
			if yes {
				p.fill(set, byMemory, string(id))
			}
		}
		p.keep(set)
	}
	return p.set, p.err
}

// A pass narrows a set, criterion by criterion. The first error stays.
type pass struct {
	ctx  context.Context
	r    *scorch.IndexSnapshot
	docs int
	set  bitset // nil: nothing was asked yet
	err  error
}

func (p *pass) keep(set bitset) {
	if p.set == nil {
		p.set = set
		return
	}
	p.set.and(set)
}

// term keeps documents that have value in field; "" keeps all.
func (p *pass) term(field, value string) {
	if value == "" {
		return
	}
	set := newBitset(p.docs)
	p.fill(set, field, value)
	p.keep(set)
}

// fill adds the documents that have value in field.
func (p *pass) fill(set bitset, field, value string) {
	if p.err != nil {
		return
	}
	tfr, err := p.r.TermFieldReader(p.ctx, []byte(value), field, false, false, false)
	if err != nil {
		p.err = err
		return
	}
	defer closeReader(tfr, &p.err)
	var doc index.TermFieldDoc
	for {
		d, err := tfr.Next(&doc)
		if err != nil || d == nil {
			p.err = err
			return
		}
		set.add(d.ID.Value())
	}
}

// each calls fn with the terms of dict.
func (p *pass) each(dict index.FieldDict, err error, fn func(term string)) {
	if p.err = err; err != nil {
		return
	}
	defer closeReader(dict, &p.err)
	for {
		entry, err := dict.Next()
		if err != nil || entry == nil {
			if p.err == nil {
				p.err = err
			}
			return
		}
		fn(entry.Term)
	}
}

// glob keeps documents whose path matches. A glob that only names a folder or
// only an extension is one term; for others the paths below its literal
// beginning are compared one by one.
func (p *pass) glob(glob string) {
	g, err := parseGlob(glob)
	if err != nil {
		p.err = fmt.Errorf("path glob %q: %w", glob, err)
		return
	}
	switch {
	case g.all:
	case g.folder != "":
		p.term(byFolder, g.folder)
	case g.ext != "":
		p.term(byExt, g.ext)
	default:
		set := newBitset(p.docs)
		if p.err == nil {
			dict, err := p.r.FieldDictPrefix(byPath, []byte(g.prefix))
			p.each(dict, err, func(term string) {
				if g.match.MatchString(term) {
					p.fill(set, byPath, strings.Clone(term))
				}
			})
		}
		p.keep(set)
	}
}

// between keeps documents of [after, before).
func (p *pass) between(after, before time.Time) {
	lo, hi := uint64(0), ^uint64(0) // inclusive
	if !after.IsZero() {
		lo = nanos(after)
	}
	set := newBitset(p.docs)
	if !before.IsZero() {
		hi = nanos(before)
		if hi == 0 {
			p.keep(set)
			return
		}
		hi--
	}
	p.cover(set, 0, lo, hi)
	p.keep(set)
}

// cover adds the documents of [lo, hi] with terms of level and wider.
func (p *pass) cover(set bitset, level int, lo, hi uint64) {
	if p.err != nil || lo > hi {
		return
	}
	if level+1 < len(timeShifts) {
		wide := uint64(1)<<timeShifts[level+1] - 1
		// The first and the last whole wide range.
		first, last := lo, hi
		if lo&wide != 0 {
			first = lo | wide
			if first++; first == 0 {
				first = ^uint64(0) // past the end
			}
		}
		if hi&wide != wide {
			last = hi &^ wide
			last-- // wraps if there is none below
		}
		if first <= last && last != ^uint64(0) || hi == ^uint64(0) && first <= last {
			if first > lo {
				p.enumerate(set, level, lo, first-1)
			}
			p.cover(set, level+1, first, last)
			if last < hi {
				p.enumerate(set, level, last+1, hi)
			}
			return
		}
	}
	p.enumerate(set, level, lo, hi)
}

// enumerate adds the documents of the terms of one level that occur.
func (p *pass) enumerate(set bitset, level int, lo, hi uint64) {
	if p.err != nil {
		return
	}
	dict, err := p.r.FieldDictRange(byTime, []byte(timeTerm(level, lo)), []byte(timeTerm(level, hi)))
	var terms []string
	p.each(dict, err, func(term string) { terms = append(terms, strings.Clone(term)) })
	for _, t := range terms {
		p.fill(set, byTime, t)
	}
}

// baseExt returns the extension if base is `*.ext`, with nothing special in it.
func baseExt(base string) string {
	if ext, ok := strings.CutPrefix(base, "*"); ok && len(ext) > 1 && ext == path.Ext(ext) && !strings.ContainsAny(ext, globMeta) {
		return ext
	}
	return ""
}
