package recall

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

// knownValues is how many values of a filter are named where it lets nothing pass.
const knownValues = 8

// A oneFilter is one filter of a search alone.
type oneFilter struct {
	name, value string
	filter      textindex.Filter
	field       textindex.Field // of which values are named; noField for none
}

const noField textindex.Field = -1

// filtersOf returns the filters of f one by one, as req has them.
func filtersOf(req wire.SearchRequest, f textindex.Filter) (out []oneFilter) {
	add := func(name, value string, field textindex.Field, one textindex.Filter) {
		if value != "" {
			out = append(out, oneFilter{name, value, one, field})
		}
	}
	add("source", req.Source, textindex.BySource, textindex.Filter{Source: f.Source})
	add("type", req.Type, textindex.ByType, textindex.Filter{Type: f.Type})
	for _, tag := range req.Tags {
		add("tags", tag, textindex.ByTag, textindex.Filter{Tags: []string{tag}})
	}
	add("author", req.Author, textindex.ByAuthor, textindex.Filter{Author: f.Author})
	add("file_pattern", req.FilePattern, textindex.ByPath, textindex.Filter{PathGlob: f.PathGlob})
	add("language", req.Language, textindex.ByLanguage, textindex.Filter{Language: f.Language})
	add("after", req.After, noField, textindex.Filter{After: f.After})
	add("before", req.Before, noField, textindex.Filter{Before: f.Before})
	return out
}

// tell fills in what the reply to an explained search, or to one that found nothing,
// says of its words and filters. There are so many results that score enough; without
// returns those that there are whatever they score, which is sure times as much.
func tell(ctx context.Context, doors []Lender, req wire.SearchRequest, f textindex.Filter, asked []askedWord, there []presence, enough int, without func() []rank.Ranked, sure float64, reply *wire.SearchReply) error {
	for i := range there {
		reply.Words = append(reply.Words, asked[i].wire(&there[i]))
	}
	if err := tellFilters(ctx, doors, req, f, reply); err != nil {
		return err
	}
	if req.MinScore > 0 {
		tellLeast(req.MinScore, enough, without(), sure, reply)
	}
	return nil
}

// tellFilters fills in what the reply to a search says of its filters.
func tellFilters(ctx context.Context, doors []Lender, req wire.SearchRequest, f textindex.Filter, reply *wire.SearchReply) error {
	filters := filtersOf(req, f)
	if len(filters) > 0 {
		reply.Filters = make([]wire.FilterEffect, len(filters))
		var mu sync.Mutex // guards them
		err := visit(ctx, doors, func(int) bool { return true }, func(ctx context.Context, _ int, d *Door) error {
			effects, err := d.effects(ctx, req.Query, filters)
			if err != nil {
				return fmt.Errorf("filters of a search of %s: %w", d.Slug, err)
			}
			mu.Lock()
			defer mu.Unlock()
			for i, e := range effects {
				r := &reply.Filters[i]
				e.Passing, e.Removed = r.Passing+e.Passing, r.Removed+e.Removed
				e.Known = append(r.Known, e.Known...)
				*r = e
			}
			return nil
		})
		if err != nil {
			return err
		}
		for i := range reply.Filters {
			r := &reply.Filters[i]
			if len(doors) > 1 {
				slices.Sort(r.Known) // which project answers first is chance
			}
			if r.Known = likelyFirst(r.Value, r.Known); r.Passing > 0 {
				r.Known = nil
			}
		}
	}
	return nil
}

// tellLeast tells what the least score does, of so many results there are with it:
// all are those without, best first, and score f times as much.
func tellLeast(least float64, with int, all []rank.Ranked, f float64, reply *wire.SearchReply) {
	e := wire.FilterEffect{Name: "min_score", Value: fmt.Sprint(least), Passing: with, Removed: len(all) - with}
	if with == 0 && len(all) > 0 {
		e.Known = []string{fmt.Sprintf("%.3f", all[0].Score*f)}
	}
	reply.Filters = append(reply.Filters, e)
}

// wire tells where a word occurs.
func (w *askedWord) wire(p *presence) wire.QueryWord {
	out := wire.QueryWord{Word: w.text, Found: p.docs, Filtered: p.at == elsewhere}
	if w.name() && p.at <= unsure {
		for i, part := range w.parts {
			q := wire.QueryWord{Word: part.text}
			if i < len(p.partDocs) {
				q.Found = p.partDocs[i]
			}
			out.Parts = append(out.Parts, q)
		}
	}
	return out
}

// effects says what each of filters alone does to what a query finds without them.
func (d *Door) effects(ctx context.Context, query string, filters []oneFilter) ([]wire.FilterEffect, error) {
	hits, err := d.Text.Search(ctx, textindex.Query{Text: query, Limit: candidates})
	if err != nil {
		return nil, err
	}
	found := map[fold.ID]bool{}
	for i := range hits {
		found[hits[i].Memory] = true
	}
	out := make([]wire.FilterEffect, len(filters))
	for i, o := range filters {
		e := wire.FilterEffect{Name: o.name, Value: o.value}
		passing, err := d.Text.Passing(ctx, o.filter)
		if err != nil {
			return nil, err
		}
		if passing == nil { // it lets everything pass
			out[i] = e
			all, err := d.Text.Passing(ctx, textindex.Filter{After: time.Unix(0, 1)})
			if err != nil {
				return nil, err
			}
			out[i].Passing = len(all)
			continue
		}
		e.Passing = len(passing)
		for id := range found {
			if !passing[id] {
				e.Removed++
			}
		}
		if e.Passing == 0 {
			if e.Known, err = d.known(ctx, o); err != nil {
				return nil, err
			}
		}
		out[i] = e
	}
	return out, nil
}

// known returns values that memories have where o asks for one that none has.
func (d *Door) known(ctx context.Context, o oneFilter) ([]string, error) {
	if o.field != noField {
		all, err := d.Text.Values(ctx, o.field)
		all = likelyFirst(o.value, all)
		return all[:min(len(all), knownValues)], err
	}
	first, last, err := d.Text.Span(ctx)
	if err != nil || first.IsZero() {
		return nil, err
	}
	if o.name == "after" {
		first = last
	}
	return []string{first.Format(time.RFC3339)}, nil
}

// likelyFirst returns the first few of values, each once, those first that begin like
// value.
func likelyFirst(value string, values []string) []string {
	rank := func(v string) int {
		a, b := strings.ToLower(value), strings.ToLower(v)
		n := 0
		for n < min(len(a), len(b)) && a[n] == b[n] {
			n++
		}
		const alike = 3 // letters
		if n < min(len(a), alike) {
			return 0
		}
		return -n
	}
	var out []string
	for _, v := range values {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	return out[:min(len(out), knownValues)]
}

// quoted lists words for people.
func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = fmt.Sprintf("%q", w)
	}
	return strings.Join(out, ", ")
}
