package recall

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/textindex"
	"github.com/foldwatch/foldwatch/meta/words"
	"github.com/foldwatch/foldwatch/vecindex"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

// hitBuffers holds lists for the hits of the text index, for reuse.
var hitBuffers = sync.Pool{New: func() any { return new([]textindex.Hit) }}

// A projectResult is what one checkout contributes to a search. That of a checkout
// whose stores could not be opened is zero.
type projectResult struct {
	slug           string
	found          rank.Candidates
	voters         []commitVote
	occurrences    []wordOccurrence // of each word of the question
	strengthWeight float64
	weights        rank.Weights
	fusion         string
	touch          bool // searches count as access
}

// gather asks all channels of one checkout: words, vectors and past commits side by
// side. Strengths are those at the time now.
func (s *Service) gather(ctx context.Context, req wire.SearchRequest, words []askedWord, f textindex.Filter, channels Channels, now time.Time) (projectResult, error) {
	p := projectResult{
		slug: s.Slug, strengthWeight: s.StrengthWeight(), weights: s.model.Load().weights(), fusion: s.Fusion, touch: s.TouchOnSearch,
	}
	c := &p.found
	var hits []textindex.Hit
	var forms []textindex.Occurrence
	var near []vecindex.Hit
	buffer := hitBuffers.Get().(*[]textindex.Hit)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		hits, forms, err = s.Text.Find(gctx, textindex.Query{Text: req.Query, Synonyms: synonyms(s.Lexicon, req.Query), Filter: f, Limit: candidates, Buffer: *buffer})
		return err
	})
	if s.searchesVectors(channels) {
		g.Go(func() (err error) {
			near, err = s.near(gctx, req.Query, f)
			return err
		})
	}
	g.Go(func() (err error) {
		p.voters, err = s.votes(gctx, req.Query, f, c)
		return err
	})
	if err := g.Wait(); err != nil {
		return p, err
	}
	found := hits
	if !slices.ContainsFunc(hits, hasOwnWord) {
		hits = nil // synonyms only help to order what the words found; vectors know them too
	}
	var err error
	if len(hits) == 0 && near == nil {
		// No word of the question occurs anywhere: a misspelt one may still be near.
		if near, err = s.near(ctx, req.Query, f); err != nil {
			return p, err
		}
	}
	if near == nil && channels.have(Vectors) {
		if near, err = s.cosines(ctx, req.Query, hits); err != nil {
			return p, err
		}
	}
	splitHits(hits, near, c) // copies all that it needs of hits
	if cap(found) > 0 {
		clear(found)
		*buffer = found[:0]
	}
	hitBuffers.Put(buffer)
	channels.only(c)
	if err := s.addPlaces(ctx, c); err != nil {
		return p, err
	}
	if err := s.addSessionNeighbours(ctx, f, c); err != nil {
		return p, err
	}
	if err := s.addHints(ctx, req.Query, now, c); err != nil {
		return p, err
	}
	if p.occurrences, err = s.wordOccurrences(ctx, words, forms); err != nil {
		return p, err
	}
	return p, s.addStrengths(ctx, now, c)
}

// hasOwnWord reports whether a document has a word of the question, not just a synonym.
func hasOwnWord(h textindex.Hit) bool { return h.Coverage > 0 || h.Exact > 0 }

// splitHits turns the hits of both indexes into candidates, by their kind.
func splitHits(hits []textindex.Hit, near []vecindex.Hit, c *rank.Candidates) {
	files, chunks, terms := 0, 0, 0
	for i := range hits {
		switch hits[i].Kind {
		case textindex.Chunk, textindex.Section:
			chunks++
		case textindex.File:
			files++
		}
		terms += len(hits[i].Terms)
	}
	c.Files, c.Chunks = make([]rank.Hit, 0, files), make([]rank.Hit, 0, chunks)
	c.Memories = make([]rank.Hit, 0, len(hits)-files-chunks)
	all := make([]rank.TermCount, 0, terms)
	for i := range hits {
		h := &hits[i]
		hit := rank.Hit{
			Key: h.Key, Memory: h.Memory, Fielded: h.Fielded, Expanded: h.Expanded, Exact: h.Exact, Name: h.Name,
			Body: h.Body, Symbol: h.Symbol, Path: h.Path, Coverage: h.Coverage, NameShare: h.NameShare, Ideal: h.Ideal, K1: h.K1,
		}
		if from := len(all); len(h.Terms) > 0 {
			for _, t := range h.Terms {
				all = append(all, rank.TermCount(t))
			}
			hit.Terms = all[from:len(all):len(all)]
		}
		switch h.Kind {
		case textindex.Chunk, textindex.Section:
			c.Chunks = append(c.Chunks, hit)
		case textindex.File:
			c.Files = append(c.Files, hit)
		default:
			c.Memories = append(c.Memories, hit)
		}
	}
	c.Vectors = make([]rank.Near, 0, len(near))
	for _, n := range near {
		c.Vectors = append(c.Vectors, rank.Near{Key: n.Key, Memory: n.Memory, Score: n.Score})
	}
}

// synonyms returns terms that mean nearly what those of the question do, the nearest
// first. A nil table knows none.
func synonyms(t *embed.Table, question string) []textindex.Synonym {
	if t == nil {
		return nil
	}
	var out []textindex.Synonym
	for _, w := range t.Expand(words.Analyze(question)) {
		out = append(out, textindex.Synonym{Term: w.Term, Weight: w.Weight})
	}
	return out
}

// minCosine is the cosine below which vectors of the built-in embedder mean nothing
// (seed 002 has the same threshold).
const minCosine = 0.3

// near returns the nearest documents of the vector index that pass the filter.
func (s *Service) near(ctx context.Context, query string, f textindex.Filter) ([]vecindex.Hit, error) {
	m := s.model.Load()
	vecs, err := m.Embed.Embed(ctx, []string{query}, embed.Query)
	if err != nil || len(vecs) == 0 || vecs[0] == nil {
		return []vecindex.Hit{}, err
	}
	allowed, err := s.Text.MatchingMemories(ctx, f)
	if err != nil {
		return nil, err
	}
	hits := m.Vectors.Search(vecs[0], vectorLimit, &vecindex.Filter{Only: allowed})
	out := hits[:0]
	for _, h := range hits {
		if h.Score >= minCosine {
			out = append(out, h)
		}
	}
	return out, nil
}

// addPlaces sets the places of chunks in their files, so that the ranker knows which
// ones are neighbours. Files with a single found chunk need none.
func (s *Service) addPlaces(ctx context.Context, c *rank.Candidates) error {
	found := make(map[fold.ID][]string, len(c.Chunks))
	for _, h := range c.Chunks {
		found[h.Memory] = append(found[h.Memory], strings.TrimPrefix(h.Key, "c:"))
	}
	maps.DeleteFunc(found, func(_ fold.ID, ids []string) bool { return len(ids) < 2 })
	if len(found) == 0 {
		return nil
	}
	numbers, err := s.Index.Places(ctx, found)
	if err != nil {
		return err
	}
	c.Places = make(map[string]rank.Place, len(numbers))
	for _, h := range c.Chunks {
		if n, ok := numbers[strings.TrimPrefix(h.Key, "c:")]; ok {
			c.Places[h.Key] = rank.Place{Group: string(h.Memory), Ordinal: n}
		}
	}
	return nil
}

// proseLanguages are written for people; their files are ranked by other weights than
// code.
var proseLanguages = map[string]bool{"markdown": true, "text": true, "html": true}

// addStrengths sets the strength of each candidate, and which of them are prose.
func (s *Service) addStrengths(ctx context.Context, now time.Time, c *rank.Candidates) error {
	c.Strength = map[fold.ID]float64{}
	var ids []fold.ID
	add := func(id fold.ID) {
		if _, ok := c.Strength[id]; !ok {
			c.Strength[id] = 0
			ids = append(ids, id)
		}
	}
	for _, part := range [][]rank.Hit{c.Files, c.Memories, c.Chunks} {
		for _, h := range part {
			add(h.Memory)
		}
	}
	for _, n := range c.Vectors {
		add(n.Memory)
	}
	for id := range c.Votes {
		add(id)
	}
	for id := range c.Messages {
		add(id)
	}
	stats, err := s.Index.Stats(ctx, ids)
	if err != nil {
		return err
	}
	access, err := s.State.Access(ctx, s.Slug, ids)
	if err != nil {
		return err
	}
	halfLife := s.HalfLife() // read from a database: once is enough
	isProse := map[fold.ID]bool{}
	for i, id := range ids {
		st, a := &stats[i], &access[i]
		c.Strength[id] = rank.Strength(now, st.Updated, a.Last, a.Count, halfLifeOf(halfLife, st.Type), st.Pinned)
		if proseLanguages[st.Language] {
			isProse[id] = true
		}
	}
	for _, part := range [][]rank.Hit{c.Files, c.Chunks} {
		for i := range part {
			part[i].Prose = isProse[part[i].Memory]
		}
	}
	return nil
}

// halfLifeOf returns the half-life of memories of a type: that of the project, unless
// the project keeps the default and the type has one of its own.
func halfLifeOf(project time.Duration, memoryType string) time.Duration {
	if project > 0 && project != rank.DefaultHalfLife {
		return project
	}
	return rank.HalfLife(memoryType)
}

// merge adds the candidates of one checkout to all.
func merge(all *rank.Candidates, c rank.Candidates) {
	all.Files = append(all.Files, c.Files...)
	all.Memories = append(all.Memories, c.Memories...)
	all.Chunks = append(all.Chunks, c.Chunks...)
	all.Vectors = append(all.Vectors, c.Vectors...)
	if all.Strength == nil {
		all.Strength, all.Places = map[fold.ID]float64{}, map[string]rank.Place{}
		all.Votes, all.Messages = map[fold.ID]float64{}, map[fold.ID]float64{}
	}
	if all.Hints == nil {
		all.Hints = map[fold.ID]rank.Hint{}
	}
	maps.Copy(all.Hints, c.Hints)
	maps.Copy(all.Votes, c.Votes)
	maps.Copy(all.Messages, c.Messages)
	maps.Copy(all.Strength, c.Strength)
	maps.Copy(all.Places, c.Places)
}
