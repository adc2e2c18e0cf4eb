package recall

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/textindex"
	"github.com/foldwatch/foldwatch/vecindex"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

const (
	defaultResults = 10
	maxResults     = 100
	candidates     = 200 // of each kind, that are ranked
	shownChunks    = 3   // of each result; more where places are asked for
	nearCandidates = 100
	maxQuery       = 4 << 10 // bytes
)

// rooms are those that no search ranks in.
var rooms = sync.Pool{New: func() any { return &rank.Room{} }}

// hitRooms are those that no search has hits of the text index in.
var hitRooms = sync.Pool{New: func() any { return new([]textindex.Hit) }}

// Search finds what fits req.Query, best first. It returns ErrInvalid for a
// request that cannot be understood.
func (d *Door) Search(ctx context.Context, req wire.SearchRequest) (wire.SearchReply, error) {
	return SearchAll(ctx, []Lender{{Project: d.Slug, Lend: func(context.Context) (*Door, func(), error) { return d, func() {}, nil }}}, req, nil, nil)
}

// SearchAll searches several checkouts and ranks what they have together, as
// far as the channels found it. Checkouts that cannot be opened are left out.
func SearchAll(ctx context.Context, doors []Lender, req wire.SearchRequest, channels Channels, kept *Kept) (wire.SearchReply, error) {
	start := time.Now()
	reply := wire.SearchReply{Query: req.Query, Results: []wire.SearchResult{}}
	f, err := checkSearch(&req)
	if err != nil {
		return reply, fmt.Errorf("search: %w", err)
	}
	of := req.Digest(projectsOf(doors)...)
	cursor, err := cursorOf(req, projectsOf(doors))
	if err != nil {
		return reply, fmt.Errorf("search: %w", err)
	}
	question := asked(req.Query)
	words := question.words
	question.release()
	all, parts, err := gatherAll(ctx, doors, req, words, f, channels, &cursor)
	if err != nil {
		return reply, err
	}
	tables, present, fusion := []rank.Weights(nil), [][]presence(nil), rank.RRF
	for _, p := range parts {
		if p.slug == "" {
			continue // left out
		}
		tables, present = append(tables, p.table), append(present, p.present)
		if p.fusion != string(rank.RRF) {
			fusion = rank.Linear // unless all agree
		}
	}
	weightOf := func(id fold.ID) float64 {
		i, _ := untag(id)
		return parts[i].strength
	}
	table := weightsFor(weightsOf(tables), words)
	room := rooms.Get().(*rank.Room)
	defer func() { // nothing of the reply lies there
		room.Release()
		rooms.Put(room)
	}()
	all.Room = room
	there := together(present)
	opt := rank.Options{Weights: &table, Fusion: fusion, WeightOf: weightOf}
	sure := 1.0
	if !wordless(all) { // what is only near has no word of the question, and is rated by that
		if look := lookoutFor(words, there); look != nil {
			if err := look.through(ctx, doors, all, parts, req, f, opt); err != nil {
				return reply, err
			}
			if look.missed() {
				if there[0].at = nowhere; !f.Empty() {
					if there[0].at, err = look.leftOut(ctx, doors, words, req, channels, cursor, opt); err != nil {
						return reply, err
					}
				}
			}
		}
		sure = occurring(words, there)
	}
	opt.MinScore = req.MinScore / sure
	ranked := order(all, req, opt)
	if len(words) <= lookUpWords {
		ranked = wordsFirst(ranked, opt)
	}
	if wordless(all) && len(ranked) > 0 {
		note(&reply, wire.NoticeNear)
	}
	known := false
	if req.Cursor != "" {
		if ranked, known = kept.order(keyOf(cursor, of), ranked, len(doors)); !known && kept != nil && cursor.Offset > 0 {
			note(&reply, "ranked anew: a result of the pages before may come again, or one be missing")
		}
	}
	page := ranked[min(cursor.Offset, len(ranked)):]
	page = page[:min(len(page), req.Limit)]
	limitChunks(page, req)
	shown, err := showAll(ctx, doors, page, req, f, parts, nil)
	if err != nil {
		return reply, err
	}
	gone := goneOf(page, shown)
	places := len(ranked)
	ranked = without(ranked, gone)
	held := known
	switch {
	case req.Cursor == "":
		cursor, held = kept.begin(cursor, of, ranked)
	case !known || len(gone) > 0:
		held = kept.replace(keyOf(cursor, of), ranked)
	}
	if held {
		places = len(ranked)
	}
	reply.Total = len(ranked)
	before := fill(&reply, page, shown, held)
	rate(&reply, words, there, sure)
	if req.Explain || len(ranked) == 0 {
		least := opt
		least.MinScore = 0
		without := func() []rank.Ranked { return order(all, req, least) }
		if err := tell(ctx, doors, req, f, words, there, len(ranked), without, sure, &reply); err != nil {
			return reply, err
		}
	}
	turn(&reply, cursor, before, places, req.TokenBudget)
	if err := touchAll(ctx, doors, page, shown, len(reply.Results), parts); err != nil {
		return reply, err
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
	if req.TokenBudget != 0 && req.TokenBudget < leastBudget {
		return f, fmt.Errorf("token_budget %d: at least %d: %w", req.TokenBudget, leastBudget, fold.ErrInvalid)
	}
	req.Limit = mostResults(req.Limit)
	var err error
	if f.After, err = parseTime("after", req.After); err != nil {
		return f, err
	}
	f.Before, err = parseTime("before", req.Before)
	return f, err
}

// gather asks the channels of one checkout, words and vectors side by side. The
// past commits that voted come with what was found, and where the words asked for
// occur. Memories are as strong as they are at the time now.
func (d *Door) gather(ctx context.Context, req wire.SearchRequest, asked []askedWord, f textindex.Filter, channels Channels, now time.Time) (rank.Candidates, []voter, []presence, error) {
	var c rank.Candidates
	var like []voter
	var hits []textindex.Hit
	var occurs []textindex.Occurrence
	var near []vecindex.Hit
	room := hitRooms.Get().(*[]textindex.Hit)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		hits, occurs, err = d.Text.Find(gctx, textindex.Query{Text: req.Query, Synonyms: Synonyms(d.Lexicon, req.Query), Filter: f, Limit: candidates, Room: *room})
		return err
	})
	if d.scans(channels) {
		g.Go(func() (err error) {
			near, err = d.near(gctx, req.Query, f)
			return err
		})
	}
	g.Go(func() (err error) {
		like, err = d.votes(gctx, req.Query, f, &c)
		return err
	})
	if err := g.Wait(); err != nil {
		return c, nil, nil, err
	}
	found := hits
	if !slices.ContainsFunc(hits, own) {
		hits = nil // synonyms help to order what was found; vectors know them too
	}
	if len(hits) == 0 && near == nil {
		// no word of the question occurs anywhere: a misspelt one may still be near
		var err error
		if near, err = d.near(ctx, req.Query, f); err != nil {
			return c, nil, nil, err
		}
	}
	if near == nil && channels.have(Vectors) {
		var err error
		if near, err = d.cosines(ctx, req.Query, hits); err != nil {
			return c, nil, nil, err
		}
	}
	sortHits(hits, near, &c) // which takes all of them
	if cap(found) > 0 {
		clear(found)
		*room = found[:0]
	}
	hitRooms.Put(room)
	channels.only(&c)
	if err := d.places(ctx, &c); err != nil {
		return c, nil, nil, err
	}
	if err := d.sessions(ctx, f, &c); err != nil {
		return c, nil, nil, err
	}
	if err := d.cues(ctx, req.Query, now, &c); err != nil {
		return c, like, nil, err
	}
	present, err := d.presences(ctx, asked, occurs)
	if err != nil {
		return c, like, nil, err
	}
	return c, like, present, d.strengths(ctx, now, &c)
}

// own reports whether a document has a word of the question itself.
func own(h textindex.Hit) bool { return h.Coverage > 0 || h.Exact > 0 }

func sortHits(hits []textindex.Hit, near []vecindex.Hit, c *rank.Candidates) {
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
	found := make(map[fold.ID][]string, len(c.Chunks))
	for _, h := range c.Chunks {
		found[h.Memory] = append(found[h.Memory], strings.TrimPrefix(h.Key, "c:"))
	}
	maps.DeleteFunc(found, func(_ fold.ID, ids []string) bool { return len(ids) < 2 })
	if len(found) == 0 {
		return nil
	}
	numbers, err := d.Index.Places(ctx, found)
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

// prose are the languages people read, which are ranked by other weights than
// code.
var prose = map[string]bool{"markdown": true, "text": true, "html": true}

// strengths computes how alive the candidates are, and tells text from code.
func (d *Door) strengths(ctx context.Context, now time.Time, c *rank.Candidates) error {
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
	pulses, err := d.Index.Stats(ctx, ids)
	if err != nil {
		return err
	}
	access, err := d.State.Access(ctx, d.Slug, ids)
	if err != nil {
		return err
	}
	own := d.HalfLife() // asked once: it is kept in a database
	text := map[fold.ID]bool{}
	for i, id := range ids {
		p, a := &pulses[i], &access[i]
		c.Strength[id] = rank.Strength(now, p.Updated, a.Last, a.Count, halfLife(own, p.Type), p.Pinned)
		if prose[p.Language] {
			text[id] = true
		}
	}
	for _, part := range [][]rank.Hit{c.Files, c.Chunks} {
		for i := range part {
			part[i].Prose = text[part[i].Memory]
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
		all.Strength, all.Places = map[fold.ID]float64{}, map[string]rank.Place{}
		all.Votes, all.Messages = map[fold.ID]float64{}, map[fold.ID]float64{}
	}
	if all.Cues == nil {
		all.Cues = map[fold.ID]rank.Cue{}
	}
	maps.Copy(all.Cues, c.Cues)
	maps.Copy(all.Votes, c.Votes)
	maps.Copy(all.Messages, c.Messages)
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
	w.SetVectors(rank.Vectors{Whole: 1, Part: 1})
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
	r.Relevance *= f
	r.Score = opt.Score(r.ID, r.Relevance, r.Strength)
	r.Evidence = r.Times(f)
	r.Chunks = slices.Clone(r.Chunks)
	for i := range r.Chunks {
		r.Chunks[i].Relevance *= f
		r.Chunks[i].Evidence = r.Chunks[i].Times(f)
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
			r.Evidence = ch.Evidence
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

// limitChunks leaves each result its three best chunks. Where places are asked for,
// it has all that are among the best req.Limit places: of a file with many
// functions, the fourth may be better than all of the next file.
func limitChunks(ranked []rank.Ranked, req wire.SearchRequest) {
	least := math.Inf(1)
	if req.ChunksFirst {
		var all []float64
		for _, r := range ranked {
			for _, c := range r.Chunks {
				all = append(all, c.Relevance)
			}
		}
		slices.Sort(all)
		if n := len(all) - req.Limit; n >= 0 && n < len(all) {
			least = all[n]
		} else if n < 0 {
			least = 0
		}
	}
	for i := range ranked {
		chunks := ranked[i].Chunks
		n := min(len(chunks), shownChunks)
		for n < min(len(chunks), req.Limit) && chunks[n].Relevance >= least {
			n++
		}
		ranked[i].Chunks = chunks[:n]
	}
}

// fits reports whether a memory still is as the filter asks, as far as a change of
// its own may alter that: it may have been ranked long before it is shown.
func fits(row *index.Summary, f *textindex.Filter) bool {
	if f.Source != "" && string(row.Source) != f.Source || f.Type != "" && row.Type != f.Type ||
		f.Author != "" && !strings.EqualFold(row.Author, f.Author) ||
		!f.After.IsZero() && row.UpdatedAt.Before(f.After) || !f.Before.IsZero() && !row.UpdatedAt.Before(f.Before) {
		return false
	}
	for _, want := range f.Tags {
		if !slices.ContainsFunc(row.Tags, func(tag string) bool { return strings.EqualFold(tag, want) }) {
			return false
		}
	}
	return true
}

// show fills in what a reader sees of the ranked memories that pass the filter.
func (d *Door) show(ctx context.Context, ranked []rank.Ranked, req wire.SearchRequest, filter textindex.Filter, p *part, look *lookout, out map[fold.ID]wire.SearchResult) error {
	var ids []fold.ID
	var chunkIDs []string
	for i := range ranked {
		ids = append(ids, ranked[i].ID)
		for _, c := range ranked[i].Chunks {
			chunkIDs = append(chunkIDs, strings.TrimPrefix(c.Key, "c:"))
		}
	}
	all := ids
	for _, id := range ids {
		if beside, ok := p.beside[id]; ok {
			all = append(all, beside)
		}
	}
	rows, err := d.Index.Summaries(ctx, all)
	if err != nil {
		return err
	}
	chunks, err := d.Index.ChunksByID(ctx, ids, chunkIDs)
	if err != nil {
		return err
	}
	q := asked(req.Query)
	defer q.release()
	for _, r := range ranked {
		row, ok := rows[r.ID]
		if !ok || !fits(row, &filter) {
			continue // forgotten since it was found, or changed
		}
		res := wire.SearchResult{
			ID: string(r.ID), Type: row.Type, Title: row.Title, Score: r.Score, Relevance: r.Relevance, Strength: r.Strength,
			Metadata: wire.ResultMetadata{
				Source: string(row.Source), FilePath: row.FilePath, Path: row.Path, Author: row.Author, Tags: slices.Clone(row.Tags), Language: row.Language,
			},
			CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt, Stale: row.Stale, Project: d.Slug,
		}
		parts := d.showChunks(ctx, row.FilePath, r.Chunks, chunks, q, &res)
		body, seen := quoteOf(withoutTitle(row.Body, row.Title), q)
		res.Snippet, _, res.Highlights = body.wire(1)
		res.Why = why(r, row, &res, parts, seen, q, p.past, rows[p.beside[r.ID]])
		look.at(row, parts)
		if req.IncludeChunks != nil && !*req.IncludeChunks {
			res.MatchedChunks = nil
		}
		if req.Explain {
			res.Explain, res.Lacks = explain(r, p.strength), q.lacks(row, parts, seen)
		}
		out[r.ID] = res
	}
	return nil
}

// A shownChunk is what was read of a chunk that is shown.
type shownChunk struct {
	text string // "" if nothing may be quoted
	seen seenForms
}

// showChunks quotes the chunks that matched from the source as it lies there,
// if it still is what was indexed. It returns what it read of each.
func (d *Door) showChunks(ctx context.Context, path string, found []rank.RankedChunk, chunks map[string]fold.Chunk, q question, res *wire.SearchResult) []shownChunk {
	if len(found) == 0 {
		return nil
	}
	shown, parts := make([]fold.Chunk, 0, len(found)), make([][2]int, 0, len(found))
	for _, f := range found {
		c, ok := chunks[strings.TrimPrefix(f.Key, "c:")]
		if !ok {
			continue
		}
		res.MatchedChunks = append(res.MatchedChunks, wire.MatchedChunk{
			ID: c.ID, NodeType: c.NodeType, NodeName: c.NodeName, StartLine: c.StartLine, EndLine: c.EndLine, Score: f.Relevance,
		})
		part := [2]int{c.StartByte, c.EndByte}
		if c.Hidden {
			part[1] = part[0] - 1 // nobody reads it
		}
		shown, parts = append(shown, c), append(parts, part)
	}
	texts := make([]shownChunk, len(shown))
	// What cannot be read is not quoted: the place is still right to name.
	_ = d.SourceParts(ctx, path, parts, func(i int, part []byte) {
		c := &shown[i]
		if c.Hidden || fold.ChunkHash(part) != c.Hash {
			return
		}
		m, text := &res.MatchedChunks[i], string(part)
		quote, seen := quoteOf(text, q)
		m.Snippet, m.SnippetLines, m.Highlights = quote.wire(c.StartLine)
		texts[i] = shownChunk{text, seen}
	})
	return texts
}
