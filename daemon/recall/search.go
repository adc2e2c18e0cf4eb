package recall

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

const (
	defaultResults = 10
	maxResults     = 100
	candidates     = 200 // of each kind, that are ranked
	shownChunks    = 3   // of each result; more where chunks come first
	vectorLimit    = 100
	maxQuery       = 4 << 10 // bytes
)

// rankBuffers holds the memory that searches rank in, for reuse.
var rankBuffers = sync.Pool{New: func() any { return &rank.Buffers{} }}

// A search is one search request, to one checkout or several, while it runs.
type search struct {
	checkouts []Checkout
	req       wire.SearchRequest
	filter    textindex.Filter
	channels  Channels
	words     []askedWord // of the question
	cursor    wire.SearchCursor

	found       rank.Candidates // of all checkouts
	projects    []projectResult // of each checkout
	occurrences []wordOccurrence
	rankOptions rank.Options
}

// Search finds the memories that fit req.Query, best first. It returns ErrInvalid for
// a request that cannot be understood.
func (s *Service) Search(ctx context.Context, req wire.SearchRequest) (wire.SearchReply, error) {
	checkout := Checkout{Project: s.Slug, Acquire: func(context.Context) (*Service, func(), error) { return s, func() {}, nil }}
	return SearchAll(ctx, []Checkout{checkout}, req, nil, nil)
}

// SearchAll searches several checkouts and ranks what was found in all of them
// together. Checkouts whose stores cannot be opened are left out.
func SearchAll(ctx context.Context, checkouts []Checkout, req wire.SearchRequest, channels Channels, orders *ResultOrders) (wire.SearchReply, error) {
	start := time.Now()
	reply := wire.SearchReply{Query: req.Query, Results: []wire.SearchResult{}}
	q, err := newSearch(checkouts, req, channels)
	if err != nil {
		return reply, fmt.Errorf("search: %w", err)
	}
	if err := q.gather(ctx); err != nil {
		return reply, err
	}
	buffers := rankBuffers.Get().(*rank.Buffers)
	defer func() { // the reply points to none of them
		buffers.Release()
		rankBuffers.Put(buffers)
	}()
	q.found.Buffers = buffers
	certainty, err := q.certainty(ctx)
	if err != nil {
		return reply, err
	}
	ranked := q.ranked(certainty)
	if onlyVectors(q.found) && len(ranked) > 0 {
		note(&reply, wire.NoticeNear)
	}
	page, err := q.page(ctx, &reply, ranked, orders)
	if err != nil {
		return reply, err
	}
	q.rescale(&reply, certainty)
	if q.req.Explain || reply.Total == 0 {
		if err := q.explain(ctx, &reply, certainty); err != nil {
			return reply, err
		}
	}
	finishPage(&reply, q.cursor, page.before, page.places, q.req.TokenBudget)
	if err := q.touch(ctx, page, len(reply.Results)); err != nil {
		return reply, err
	}
	reply.TookMS = float64(time.Since(start).Microseconds()) / 1000
	return reply, nil
}

func newSearch(checkouts []Checkout, req wire.SearchRequest, channels Channels) (*search, error) {
	filter, err := checkSearch(&req)
	if err != nil {
		return nil, err
	}
	q := &search{checkouts: checkouts, req: req, filter: filter, channels: channels}
	if q.cursor, err = cursorOf(req, q.slugs()); err != nil {
		return nil, err
	}
	question := parseQuestion(req.Query)
	q.words = question.words
	question.release()
	return q, nil
}

func (q *search) slugs() []string {
	slugs := make([]string, len(q.checkouts))
	for i := range q.checkouts {
		slugs[i] = q.checkouts[i].Project
	}
	return slugs
}

// checkSearch checks a request, fills in its defaults, and returns its filter.
func checkSearch(req *wire.SearchRequest) (textindex.Filter, error) {
	language, _ := chunker.LanguageCalled(req.Language)
	f := textindex.Filter{
		Source: req.Source, Type: req.Type, Author: req.Author, Language: language, PathGlob: req.FilePattern, Tags: req.Tags,
	}
	if strings.TrimSpace(req.Query) == "" {
		return f, fmt.Errorf("the query is empty: %w", fold.ErrInvalid)
	}
	if len(req.Query) > maxQuery {
		return f, fmt.Errorf("the query has %d bytes, at most %d are taken: %w", len(req.Query), maxQuery, fold.ErrInvalid)
	}
	switch fold.Source(req.Source) {
	case "", fold.SourceFile, fold.SourceAgent, fold.SourceGit:
	default:
		return f, fmt.Errorf("source %.20q is none of file, agent, git: %w", req.Source, fold.ErrInvalid)
	}
	if req.TokenBudget != 0 && req.TokenBudget < minTokenBudget {
		return f, fmt.Errorf("token_budget %d: at least %d: %w", req.TokenBudget, minTokenBudget, fold.ErrInvalid)
	}
	req.Limit = resultLimit(req.Limit)
	var err error
	if f.After, err = parseTime("after", req.After); err != nil {
		return f, err
	}
	f.Before, err = parseTime("before", req.Before)
	return f, err
}

// gather collects the candidates of all checkouts. Where there are several, the ids and
// keys of the candidates say which checkout they are from. It sets the time of a cursor
// that has none.
func (q *search) gather(ctx context.Context) error {
	q.projects = make([]projectResult, len(q.checkouts))
	var clock sync.Once
	err := eachService(ctx, q.checkouts, func(int) bool { return true }, func(ctx context.Context, i int, s *Service) (err error) {
		clock.Do(func() {
			if q.cursor.At.IsZero() {
				q.cursor.At = s.Now().Truncate(time.Millisecond)
			}
		})
		if q.projects[i], err = s.gather(ctx, q.req, q.words, q.filter, q.channels, q.cursor.At); err != nil {
			return fmt.Errorf("search %s: %w", s.Slug, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(q.projects) == 1 {
		q.found = q.projects[0].found
	} else {
		for i := range q.projects {
			p := &q.projects[i].found
			merge(&q.found, withProject(i, *p))
			*p = rank.Candidates{MatchingNeighbour: p.MatchingNeighbour} // the rest has its copy in q.found
		}
	}
	var weights []rank.Weights
	var occurrences [][]wordOccurrence
	fusion := rank.RRF
	for _, p := range q.projects {
		if p.slug == "" {
			continue // its stores could not be opened
		}
		weights, occurrences = append(weights, p.weights), append(occurrences, p.occurrences)
		if p.fusion != string(rank.RRF) {
			fusion = rank.Linear // unless all projects agree on the other
		}
	}
	q.occurrences = mergeOccurrences(occurrences)
	table := weightsForQuestion(combinedWeights(weights), q.words)
	q.rankOptions = rank.Options{Weights: &table, Fusion: fusion, WeightOf: func(id fold.ID) float64 {
		i, _ := splitProjectID(id)
		return q.projects[i].strengthWeight
	}}
	return nil
}

// ranked returns the results in order. Scores are those before they are multiplied by
// certainty, which the least score of the request counts with.
func (q *search) ranked(certainty float64) []rank.Ranked {
	opt := q.rankOptions
	opt.MinScore = q.req.MinScore / certainty
	ranked := rankCandidates(q.found, q.req, opt)
	if len(q.words) <= maxLookupWords {
		ranked = demoteNeighbours(ranked, opt)
	}
	return ranked
}

// A resultPage is the part of the ranked results that one reply shows.
type resultPage struct {
	ranked []rank.Ranked
	shown  []map[fold.ID]wire.SearchResult // by checkout, see [search.results]
	before []int                           // see [addResults]
	places int                             // of all pages
}

// page puts the results of the page that the cursor names into reply. Pages after the
// first follow the order that the first one had, as far as orders still has it.
func (q *search) page(ctx context.Context, reply *wire.SearchReply, ranked []rank.Ranked, orders *ResultOrders) (resultPage, error) {
	var p resultPage
	digest, known := q.req.Digest(q.slugs()...), false
	if q.req.Cursor != "" {
		ranked, known = orders.apply(orderKeyOf(q.cursor, digest), ranked, len(q.checkouts))
		if !known && orders != nil && q.cursor.Offset > 0 {
			note(reply, "ranked anew: a result of the pages before may come again, or one be missing")
		}
	}
	p.ranked = ranked[min(q.cursor.Offset, len(ranked)):]
	p.ranked = p.ranked[:min(len(p.ranked), q.req.Limit)]
	limitChunks(p.ranked, q.req)
	var err error
	if p.shown, err = q.results(ctx, p.ranked, nil); err != nil {
		return p, err
	}
	gone := missingFrom(p.ranked, p.shown)
	p.places = len(ranked)
	ranked = without(ranked, gone)
	stored := known
	switch {
	case q.req.Cursor == "":
		q.cursor, stored = orders.begin(q.cursor, digest, ranked)
	case !known || len(gone) > 0:
		stored = orders.replace(orderKeyOf(q.cursor, digest), ranked)
	}
	if stored {
		p.places = len(ranked)
	}
	reply.Total = len(ranked)
	p.before = addResults(reply, p.ranked, p.shown, stored)
	return p, nil
}

// results returns what is shown of the ranked memories, by checkout. The map of a
// checkout whose stores could not be opened is nil. See is called for each of them,
// from several goroutines; it may be nil.
func (q *search) results(ctx context.Context, ranked []rank.Ranked, see func(*index.Summary, []quotedChunk)) ([]map[fold.ID]wire.SearchResult, error) {
	perCheckout := make([][]rank.Ranked, len(q.checkouts))
	for _, r := range ranked {
		i, bare := withoutProject(r)
		perCheckout[i] = append(perCheckout[i], bare)
	}
	shown := make([]map[fold.ID]wire.SearchResult, len(q.checkouts))
	return shown, eachService(ctx, q.checkouts, func(i int) bool { return len(perCheckout[i]) > 0 }, func(ctx context.Context, i int, s *Service) (err error) {
		if shown[i], err = s.results(ctx, perCheckout[i], q.req, q.filter, &q.projects[i], see); err != nil {
			return fmt.Errorf("search %s: %w", s.Slug, err)
		}
		return nil
	})
}

// touch records an access of the first returned results of the page, in the checkouts
// where searches count as access.
func (q *search) touch(ctx context.Context, page resultPage, returned int) error {
	read := make([][]fold.ID, len(q.checkouts))
	for _, r := range page.ranked {
		i, id := splitProjectID(r.ID)
		if _, ok := page.shown[i][id]; !ok {
			continue
		}
		if returned--; returned < 0 {
			break
		}
		if q.projects[i].touch {
			read[i] = append(read[i], id)
		}
	}
	return eachService(ctx, q.checkouts, func(i int) bool { return len(read[i]) > 0 }, func(ctx context.Context, i int, s *Service) error {
		for _, id := range read[i] {
			if err := s.State.Touch(ctx, s.Slug, id, s.Now()); err != nil {
				return err
			}
		}
		return nil
	})
}
