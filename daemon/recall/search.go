package recall

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/textindex"
	"github.com/foldwatch/foldwatch/vecindex"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

const (
	defaultResults = 10
	maxResults     = 100
	candidates     = 200 // of each kind, that are ranked
	shownChunks    = 3   // of each result
	nearCandidates = 100
	maxQuery       = 4 << 10 // bytes
)

// Search finds what fits req.Query, best first. It returns ErrInvalid for a
// request that cannot be understood.
func (d *Door) Search(ctx context.Context, req wire.SearchRequest) (wire.SearchReply, error) {
	return SearchAll(ctx, []*Door{d}, req, nil)
}

// SearchAll searches several checkouts and ranks what they have together, as
// far as the channels found it.
func SearchAll(ctx context.Context, doors []*Door, req wire.SearchRequest, channels Channels) (wire.SearchReply, error) {
	start := time.Now()
	reply := wire.SearchReply{Query: req.Query, Results: []wire.SearchResult{}}
	f, err := checkSearch(&req)
	if err != nil {
		return reply, fmt.Errorf("search: %w", err)
	}
	var all rank.Candidates
	weights := make([]float64, len(doors))
	fusion := rank.RRF
	for i, d := range doors {
		c, err := d.gather(ctx, req, f, channels)
		if err != nil {
			return reply, fmt.Errorf("search %s: %w", d.Slug, err)
		}
		merge(&all, tagged(i, c))
		weights[i] = d.StrengthWeight()
		if d.Fusion != string(rank.RRF) {
			fusion = rank.Linear // unless all agree
		}
	}
	weightOf := func(id fold.ID) float64 {
		i, _ := untag(id)
		return weights[i]
	}
	table := weightsOf(doors)
	ranked := order(all, req, rank.Options{Weights: &table, Fusion: fusion, WeightOf: weightOf, MinScore: req.MinScore})
	reply.Total = len(ranked)
	if wordless(all) && len(ranked) > 0 {
		reply.Notice = "near; no word matched"
	}
	ranked = ranked[:min(len(ranked), req.Limit)]
	byDoor := make([][]rank.Ranked, len(doors))
	for _, r := range ranked {
		i, bare := untagged(r)
		byDoor[i] = append(byDoor[i], bare)
	}
	shown := make([]map[fold.ID]wire.SearchResult, len(doors))
	for i, part := range byDoor {
		shown[i] = map[fold.ID]wire.SearchResult{}
		if len(part) == 0 {
			continue
		}
		if err := doors[i].show(ctx, part, req, weights[i], shown[i]); err != nil {
			return reply, fmt.Errorf("search %s: %w", doors[i].Slug, err)
		}
	}
	for _, r := range ranked {
		i, id := untag(r.ID)
		if res, ok := shown[i][id]; ok {
			reply.Results = append(reply.Results, res)
		}
	}
	reply.TookMS = float64(time.Since(start).Microseconds()) / 1000
	return reply, nil
}

// checkSearch fills in defaults and returns the filter of a request.
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
	if req.Limit <= 0 {
		req.Limit = defaultResults
	}
	req.Limit = min(req.Limit, maxResults)
	var err error
	if f.After, err = parseTime("after", req.After); err != nil {
		return f, err
	}
	f.Before, err = parseTime("before", req.Before)
	return f, err
}

// gather asks the channels of one checkout, words and vectors side by side.
func (d *Door) gather(ctx context.Context, req wire.SearchRequest, f textindex.Filter, channels Channels) (rank.Candidates, error) {
	var c rank.Candidates
	var hits []textindex.Hit
	var near []vecindex.Hit
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		hits, err = d.Text.Search(gctx, textindex.Query{Text: req.Query, Synonyms: Synonyms(d.Lexicon, req.Query), Filter: f, Limit: candidates})
		return err
	})
	if w := d.meaning.Load().weights(); w.VectorWeight() > 0 || slices.Contains(channels, Vectors) {
		g.Go(func() (err error) {
			near, err = d.near(gctx, req.Query, f)
			return err
		})
	}
	g.Go(func() (err error) {
		c.Votes, err = d.votes(gctx, req.Query, f)
		return err
	})
	if err := g.Wait(); err != nil {
		return c, err
	}
	if !slices.ContainsFunc(hits, own) {
		hits = nil // synonyms help to order what was found; vectors know them too
	}
	if len(hits) == 0 && near == nil {
		// no word of the question occurs anywhere: a misspelt one may still be near
		var err error
		if near, err = d.near(ctx, req.Query, f); err != nil {
			return c, err
		}
	}
	sortHits(hits, near, &c)
	channels.only(&c)
	if err := d.places(ctx, &c); err != nil {
		return c, err
	}
	if err := d.sessions(ctx, f, &c); err != nil {
		return c, err
	}
	return c, d.strengths(ctx, &c)
}

// own reports whether a document has a word of the question itself.
func own(h textindex.Hit) bool { return h.Coverage > 0 || h.Exact > 0 }

func sortHits(hits []textindex.Hit, near []vecindex.Hit, c *rank.Candidates) {
	for _, h := range hits {
		hit := rank.Hit{
			Key: h.Key, Memory: h.Memory, Fielded: h.Fielded, Expanded: h.Expanded, Exact: h.Exact, Name: h.Name,
			Body: h.Body, Symbol: h.Symbol, Path: h.Path, Coverage: h.Coverage, Ideal: h.Ideal, K1: h.K1,
		}
		for _, t := range h.Terms {
			hit.Terms = append(hit.Terms, rank.TermCount(t))
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
	for _, n := range near {
		c.Vectors = append(c.Vectors, rank.Near{Key: n.Key, Memory: n.Memory, Score: n.Score})
	}
}

// leastNear is the cosine below which the builtin vectors say nothing (seed 002
// has the same threshold).
const leastNear = 0.3

// near asks the vector index. The filter acts inside the scan.
func (d *Door) near(ctx context.Context, query string, f textindex.Filter) ([]vecindex.Hit, error) {
	m := d.meaning.Load()
	vecs, err := m.Embed.Embed(ctx, []string{query}, embed.Query)
	if err != nil || len(vecs) == 0 || vecs[0] == nil {
		return []vecindex.Hit{}, err
	}
	allowed, err := d.Text.Passing(ctx, f)
	if err != nil {
		return nil, err
	}
	hits := m.Vectors.Search(vecs[0], nearCandidates, &vecindex.Filter{Only: allowed})
	out := hits[:0]
	for _, h := range hits {
		if h.Score >= leastNear {
			out = append(out, h)
		}
	}
	return out, nil
}

// places tells the ranker which chunks stand side by side, where a file has
// more than one that was found.
func (d *Door) places(ctx context.Context, c *rank.Candidates) error {
	found := map[fold.ID]int{}
	for _, h := range c.Chunks {
		found[h.Memory]++
	}
	var ids []string
	var owners []fold.ID
	for _, h := range c.Chunks {
		if found[h.Memory] > 1 {
			ids, owners = append(ids, strings.TrimPrefix(h.Key, "c:")), append(owners, h.Memory)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	chunks, err := d.Index.ChunksByID(ctx, owners, ids)
	if err != nil {
		return err
	}
	c.Places = neighbours(slices.Collect(maps.Values(chunks)))
	return nil
}

// neighbours numbers chunks so that those which touch have consecutive numbers:
// the chunks of a file partition it.
func neighbours(chunks []fold.Chunk) map[string]rank.Place {
	slices.SortFunc(chunks, func(a, b fold.Chunk) int {
		return cmp.Or(strings.Compare(string(a.MemoryID), string(b.MemoryID)), cmp.Compare(a.StartByte, b.StartByte))
	})
	places := make(map[string]rank.Place, len(chunks))
	n := 0
	for i, ch := range chunks {
		if n++; i > 0 && (chunks[i-1].MemoryID != ch.MemoryID || chunks[i-1].EndByte != ch.StartByte) {
			n++
		}
		places["c:"+ch.ID] = rank.Place{Group: string(ch.MemoryID), Ordinal: n}
	}
	return places
}

// prose are the languages people read, which are ranked by other weights than
// code.
var prose = map[string]bool{"markdown": true, "text": true, "html": true}

// strengths computes how alive the candidates are, and tells text from code.
func (d *Door) strengths(ctx context.Context, c *rank.Candidates) error {
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
	pulses, err := d.Index.Pulses(ctx, ids)
	if err != nil {
		return err
	}
	access, err := d.State.Access(ctx, d.Slug, ids)
	if err != nil {
		return err
	}
	now, own := d.Now(), d.HalfLife() // asked once: it is kept in a database
	for _, id := range ids {
		p, a := pulses[id], access[id]
		c.Strength[id] = rank.Strength(now, p.Updated, a.Last, a.Count, halfLife(own, p.Type), p.Pinned)
	}
	for _, part := range [][]rank.Hit{c.Files, c.Chunks} {
		for i := range part {
			part[i].Prose = prose[pulses[part[i].Memory].Language]
		}
	}
	return nil
}

// halfLife is own, the project's, unless the type of memory has one of its own and
// the project keeps the default.
func halfLife(own time.Duration, memoryType string) time.Duration {
	if own > 0 && own != rank.DefaultHalfLife {
		return own
	}
	return rank.HalfLife(memoryType)
}

func merge(all *rank.Candidates, c rank.Candidates) {
	all.Files = append(all.Files, c.Files...)
	all.Memories = append(all.Memories, c.Memories...)
	all.Chunks = append(all.Chunks, c.Chunks...)
	all.Vectors = append(all.Vectors, c.Vectors...)
	if all.Strength == nil {
		all.Strength, all.Places, all.Votes = map[fold.ID]float64{}, map[string]rank.Place{}, map[fold.ID]float64{}
	}
	maps.Copy(all.Votes, c.Votes)
	maps.Copy(all.Strength, c.Strength)
	maps.Copy(all.Places, c.Places)
}

// order ranks the candidates: memories by all they have, or by their best chunk
// where chunks come first.
func order(c rank.Candidates, req wire.SearchRequest, opt rank.Options) []rank.Ranked {
	if !wordless(c) {
		return arrange(c, req, opt)
	}
	var w rank.Weights
	w.SetVector(1)
	least := opt.MinScore
	opt.Weights, opt.MinScore = &w, 0
	best := 0.0
	for _, n := range c.Vectors {
		best = max(best, n.Score)
	}
	ranked := arrange(c, req, opt)
	out := ranked[:0]
	for _, r := range ranked {
		if r = lessSure(r, nearMost*min(best, 1), opt); r.Score >= least {
			out = append(out, r)
		}
	}
	return out
}

// nearMost is the relevance of what is near and shares no word with the
// question, if it could not be nearer.
const nearMost = 0.5

// wordless reports whether no word of the question was found, and only what is
// near was.
func wordless(c rank.Candidates) bool {
	return len(c.Files)+len(c.Memories)+len(c.Chunks) == 0 && len(c.Vectors) > 0
}

// lessSure is r with its relevance times f, which is in [0, 1]: relevance
// compares results of one search, and a search that found nothing better does
// not make the best of it fit.
func lessSure(r rank.Ranked, f float64, opt rank.Options) rank.Ranked {
	scaled := func(terms []rank.Term) []rank.Term {
		out := slices.Clone(terms)
		for i := range out {
			out[i].Weight *= f
		}
		return out
	}
	r.Relevance *= f
	r.Score = opt.Score(r.ID, r.Relevance, r.Strength)
	r.Terms = scaled(r.Terms)
	r.Chunks = slices.Clone(r.Chunks)
	for i := range r.Chunks {
		r.Chunks[i].Relevance *= f
		r.Chunks[i].Terms = scaled(r.Chunks[i].Terms)
	}
	return r
}

// arrange is order with the weights of opt.
func arrange(c rank.Candidates, req wire.SearchRequest, opt rank.Options) []rank.Ranked {
	ranked := rank.Rank(c, opt)
	if !req.ChunksFirst {
		return ranked
	}
	byID := make(map[fold.ID]rank.Ranked, len(ranked))
	for _, r := range ranked {
		byID[r.ID] = r
	}
	var out []rank.Ranked
	for _, ch := range rank.RankChunks(c, opt) {
		if r, ok := byID[ch.Memory]; ok {
			delete(byID, ch.Memory)
			r.Relevance = ch.Relevance
			r.Score = opt.Score(r.ID, ch.Relevance, r.Strength)
			r.Terms = ch.Terms
			out = append(out, r)
		}
	}
	for _, r := range ranked { // what matched as a whole only comes after
		if _, left := byID[r.ID]; left {
			out = append(out, r)
		}
	}
	return out
}

// show fills in what a reader sees of the ranked memories.
func (d *Door) show(ctx context.Context, ranked []rank.Ranked, req wire.SearchRequest, weight float64, out map[fold.ID]wire.SearchResult) error {
	var ids []fold.ID
	var chunkIDs []string
	for i := range ranked {
		ids = append(ids, ranked[i].ID)
		ranked[i].Chunks = ranked[i].Chunks[:min(len(ranked[i].Chunks), shownChunks)]
		for _, c := range ranked[i].Chunks {
			chunkIDs = append(chunkIDs, strings.TrimPrefix(c.Key, "c:"))
		}
	}
	rows, err := d.Index.Memories(ctx, ids)
	if err != nil {
		return err
	}
	chunks, err := d.Index.ChunksByID(ctx, slices.Clone(ids), chunkIDs)
	if err != nil {
		return err
	}
	terms := queryTerms(req.Query)
	for _, r := range ranked {
		row, ok := rows[r.ID]
		if !ok {
			continue // forgotten since it was found
		}
		res := wire.SearchResult{
			ID: string(r.ID), Type: row.Type, Title: row.Title, Score: r.Score, Relevance: r.Relevance, Strength: r.Strength,
			Metadata: wire.ResultMetadata{
				Source: string(row.Source), FilePath: row.FilePath, Path: row.Path, Author: row.Author, Tags: row.Tags, Language: row.Language,
			},
			CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt, Stale: row.Stale, Project: d.Slug,
		}
		d.showChunks(ctx, row.FilePath, r.Chunks, chunks, terms, &res)
		res.Snippet = passage(withoutTitle(row.Body, row.Title), terms, 3)
		if req.IncludeChunks != nil && !*req.IncludeChunks {
			res.MatchedChunks = nil
		}
		if req.Explain {
			res.Explain = explain(r, weight)
		}
		out[r.ID] = res
	}
	if d.TouchOnSearch {
		for _, r := range ranked {
			if err := d.State.Touch(ctx, d.Slug, r.ID, d.Now()); err != nil {
				return err
			}
		}
	}
	return nil
}

// showChunks quotes the chunks that matched from the source as it lies there,
// if it still is what was indexed.
func (d *Door) showChunks(ctx context.Context, path string, found []rank.RankedChunk, chunks map[string]fold.Chunk, terms map[string]bool, res *wire.SearchResult) {
	if len(found) == 0 {
		return
	}
	src, err := d.Source(ctx, path)
	if err != nil {
		src = nil // the place is still right to name
	}
	for _, f := range found {
		c, ok := chunks[strings.TrimPrefix(f.Key, "c:")]
		if !ok {
			continue
		}
		m := wire.MatchedChunk{ID: c.ID, NodeType: c.NodeType, NodeName: c.NodeName, StartLine: c.StartLine, EndLine: c.EndLine, Score: f.Relevance}
		if !c.Hidden && c.EndByte <= len(src) {
			if text := src[c.StartByte:c.EndByte]; fold.ChunkHash(text) == c.Hash {
				m.Snippet = passage(string(text), terms, 3)
			}
		}
		res.MatchedChunks = append(res.MatchedChunks, m)
	}
}

// explain lists the addends of a score: they sum up to it.
func explain(r rank.Ranked, weight float64) []wire.ScoreTerm {
	var out []wire.ScoreTerm
	for _, t := range r.Terms {
		w := t.Weight * (1 - weight)
		out = append(out, wire.ScoreTerm{Name: t.Name, Value: t.Value, Weight: w, Adds: t.Value * w})
	}
	return append(out, wire.ScoreTerm{Name: "strength", Value: r.Strength, Weight: weight, Adds: r.Strength * weight})
}
