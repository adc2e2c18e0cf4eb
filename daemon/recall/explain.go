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
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

// maxFilterValues is how many existing values are named for a filter that nothing passes.
const maxFilterValues = 8

// A singleFilter is one filter of a search alone.
type singleFilter struct {
	name, value string
	filter      textindex.Filter
	field       textindex.Field // whose values are named; noField for none
}

const noField textindex.Field = -1

// filtersOf splits the filter f of req into single filters.
func filtersOf(req wire.SearchRequest, f textindex.Filter) (out []singleFilter) {
	add := func(name, value string, field textindex.Field, one textindex.Filter) {
		if value != "" {
			out = append(out, singleFilter{name, value, one, field})
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

// explain adds to the reply what each word and each filter did: to one that asks for an
// explanation, or that found nothing.
func (q *search) explain(ctx context.Context, reply *wire.SearchReply, certainty float64) error {
	for i := range q.occurrences {
		reply.Words = append(reply.Words, q.words[i].wire(&q.occurrences[i]))
	}
	if err := q.explainFilters(ctx, reply); err != nil {
		return err
	}
	if q.req.MinScore > 0 {
		all := rankCandidates(q.found, q.req, q.rankOptions)
		e := wire.FilterEffect{Name: "min_score", Value: fmt.Sprint(q.req.MinScore), Passing: reply.Total, Removed: len(all) - reply.Total}
		if reply.Total == 0 && len(all) > 0 {
			e.Known = []string{fmt.Sprintf("%.3f", all[0].Score*certainty)}
		}
		reply.Filters = append(reply.Filters, e)
	}
	return nil
}

// explainFilters adds what each filter did, summed up over all checkouts.
func (q *search) explainFilters(ctx context.Context, reply *wire.SearchReply) error {
	filters := filtersOf(q.req, q.filter)
	if len(filters) == 0 {
		return nil
	}
	reply.Filters = make([]wire.FilterEffect, len(filters))
	var mu sync.Mutex // guards reply.Filters
	err := eachService(ctx, q.checkouts, func(int) bool { return true }, func(ctx context.Context, _ int, s *Service) error {
		effects, err := s.filterEffects(ctx, q.req.Query, filters)
		if err != nil {
			return fmt.Errorf("filters of a search of %s: %w", s.Slug, err)
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
		if len(q.checkouts) > 1 {
			slices.Sort(r.Known) // the checkouts answered in any order
		}
		if r.Known = mostSimilarFirst(r.Value, r.Known); r.Passing > 0 {
			r.Known = nil
		}
	}
	return nil
}

// wire returns where a word occurs, for the reply.
func (w *askedWord) wire(p *wordOccurrence) wire.QueryWord {
	out := wire.QueryWord{Word: w.text, Found: p.docs, Filtered: p.at == onlyFiltered}
	if w.name() && p.at <= possible {
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

// filterEffects returns what each of the filters alone does to what a query finds.
func (s *Service) filterEffects(ctx context.Context, query string, filters []singleFilter) ([]wire.FilterEffect, error) {
	hits, err := s.Text.Search(ctx, textindex.Query{Text: query, Limit: candidates})
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
		passing, err := s.Text.MatchingMemories(ctx, o.filter)
		if err != nil {
			return nil, err
		}
		if passing == nil { // it lets everything pass
			out[i] = e
			all, err := s.Text.MatchingMemories(ctx, textindex.Filter{After: time.Unix(0, 1)})
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
			if e.Known, err = s.knownFilterValues(ctx, o); err != nil {
				return nil, err
			}
		}
		out[i] = e
	}
	return out, nil
}

// knownFilterValues returns values that memories have for the filter o, which none passes.
func (s *Service) knownFilterValues(ctx context.Context, o singleFilter) ([]string, error) {
	if o.field != noField {
		all, err := s.Text.Values(ctx, o.field)
		all = mostSimilarFirst(o.value, all)
		return all[:min(len(all), maxFilterValues)], err
	}
	first, last, err := s.Text.Span(ctx)
	if err != nil || first.IsZero() {
		return nil, err
	}
	if o.name == "after" {
		first = last
	}
	return []string{first.Format(time.RFC3339)}, nil
}

// mostSimilarFirst returns the first few of values, each once: those first that share a
// prefix with value.
func mostSimilarFirst(value string, values []string) []string {
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
	return out[:min(len(out), maxFilterValues)]
}

// quoted returns words in quotes, separated by commas.
func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = fmt.Sprintf("%q", w)
	}
	return strings.Join(out, ", ")
}
