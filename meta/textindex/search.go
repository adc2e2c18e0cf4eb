package textindex

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/words"
)

// A Query asks for documents.
type Query struct {
	Text   string // as typed; analysed by meta/words
	Kinds  []Kind // none means all
	Filter Filter

	// Synonyms are terms that count for the question beside its own.
	Synonyms []Synonym

	// Limit is the most hits of each kind. Zero means 10.
	Limit int

	// Buffer is overwritten with the hits if they fit: those of a search before, which
	// nobody needs any more. It may be nil.
	Buffer []Hit
}

// A Synonym is a term, as meta/words makes them, that means something like one of
// the question.
type Synonym struct {
	Term   string
	Weight float64 // of its score, beside that of a term of the question; in (0, 1]
}

// A Hit is one document that was found. Its scores are those of BM25 with the
// constants of its kind; what lies in which field is said in the scheme.
type Hit struct {
	Key    string
	Kind   Kind
	Memory fold.ID
	Chunk  string // id of the chunk; "" if it is none

	// Score is Expanded + a share of Exact. Scores of different kinds are not on
	// one scale.
	Score     float64
	Fielded   float64 // BM25F over all fields
	Expanded  float64 // Fielded, and what the synonyms give
	Exact     float64 // BM25 of joined identifiers and word pairs
	Name      float64 // BM25F over symbol and title alone
	Body      float64 // BM25 of the body alone; of a file, of the text of its chunks
	Symbol    float64 // BM25 of the qualified name alone
	Path      float64 // BM25 of the path alone
	NameShare float64 // share of the terms of symbol and title that the question has
	Coverage  float64 // share of the question's terms that occur, by idf, in [0, 1]
	Ideal     float64 // what Fielded is at most for this question and kind

	// Terms are the question's terms in a memory, those too that it does not have,
	// in one order for all hits; nil for other kinds. With the K1 of the BM25 they
	// are for, they are what it takes to score a memory with its neighbours.
	Terms []TermCount
	K1    float64
}

// A TermCount is one term of the question in one document.
type TermCount struct {
	Worth float64 // its idf
	Count float64 // weighted frequency over all fields
}

const (
	maxTerms     = 24 // different terms of a question that are looked at
	maxSynonyms  = 32
	defaultLimit = 10 // hits of each kind
	maxLimit     = 1000
)

// Search returns the documents that share terms with the question and pass the
// filter, the best of each kind first, ties by key; kinds follow each other in
// the order file, chunk, section, memory. A question without terms finds nothing.
func (x *Index) Search(ctx context.Context, q Query) ([]Hit, error) {
	hits, _, err := x.Find(ctx, q)
	return hits, err
}

// Find is [Index.Search] that also says how often the forms of the question occur, as
// far as they are looked at: maxTerms terms, and as many joined forms.
func (x *Index) Find(ctx context.Context, q Query) (_ []Hit, _ []Occurrence, err error) {
	defer wrap(&err, "search text index")
	snap, err := x.snapshot()
	if err != nil {
		return nil, nil, err
	}
	defer closeReader(snap, &err)
	s := &search{ctx: ctx, snapshot: snap, q: q}
	s.limit = min(cmp.Or(max(q.Limit, 0), defaultLimit), maxLimit)
	s.terms = distinct(words.Analyze(clip(q.Text)))
	s.joined = distinct(words.Exact(clip(q.Text)))
	if len(s.terms)+len(s.joined) == 0 {
		return nil, nil, nil
	}
	s.synonyms, s.shares = synonyms(q.Synonyms, s.terms)
	if s.allowed, err = snap.passing(q.Filter); err != nil {
		return nil, nil, err
	}
	s.present = snap.liveSet()
	select {
	case s.acc = <-x.scratch:
	default:
		s.acc = &accumulator{}
	}
	defer func() {
		clear(s.acc.found) // they hold segments
		for k := range s.acc.hits {
			clear(s.acc.hits[k])
		}
		select {
		case x.scratch <- s.acc:
		default: // more searched at once than will for long
		}
	}()
	s.find()
	occurs := s.occurrences()
	if s.docs == 0 {
		return nil, occurs, nil
	}
	sums := decodeSums(snap.Internal()[lengthKey])
	var parts [][]Hit
	for k, kind := range kinds {
		if len(q.Kinds) > 0 && !slices.Contains(q.Kinds, kind) {
			continue
		}
		if k == fileKind && snap.live[k] > 0 {
			s.fileTexts = x.fileTextsOf(snap)
		}
		found, err := s.kind(k, sums[k])
		if err != nil {
			return nil, nil, err
		}
		parts = append(parts, found)
	}
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	out := slices.Grow(q.Buffer[:0], n)
	for _, p := range parts {
		out = append(out, p...)
	}
	return out, occurs, nil
}

// clip bounds the length of a question.
func clip(text string) string {
	const most = 4096
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return text
}

// distinct returns the first maxTerms different terms.
func distinct(terms []string) []string {
	var out []string
	for _, t := range terms {
		if len(out) < maxTerms && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// synonyms returns the terms of all that are none of the question's own, each
// once, and what they weigh.
func synonyms(all []Synonym, own []string) (terms []string, shares []float64) {
	for _, s := range all {
		if len(terms) < maxSynonyms && s.Weight > 0 && !slices.Contains(own, s.Term) && !slices.Contains(terms, s.Term) {
			terms, shares = append(terms, s.Term), append(shares, min(s.Weight, 1))
		}
	}
	return terms, shares
}

// A search is one question at work.
type search struct {
	*snapshot

	ctx       context.Context
	q         Query
	limit     int
	terms     []string
	joined    []string
	synonyms  []string
	shares    []float64 // of synonyms
	present   bitset    // documents that are not deleted; nil: all
	allowed   bitset    // documents that pass the filter; nil: all
	fileTexts *fileTexts
	acc       *accumulator
	reads     [len(kinds)]bool // kinds whose postings are needed
	found     struct{ terms, joined, synonyms []termLists }
}

// find looks up all that is asked for, once: whole files are found by the
// postings of their chunks.
func (s *search) find() {
	for k, kind := range kinds {
		if len(s.q.Kinds) == 0 || slices.Contains(s.q.Kinds, kind) {
			s.reads[k] = true
			if k == fileKind {
				s.reads[chunkKind], s.reads[sectionKind] = true, true
			}
		}
	}
	s.acc.found = s.acc.found[:0]
	s.found.terms = s.lists(s.terms, channelWords)
	s.found.joined = s.lists(s.joined, channelExact)
	s.found.synonyms = s.lists(s.synonyms, channelWords)
}

// kind returns the best documents of one kind, in the room of s.acc.
func (s *search) kind(k int, bodies int64) ([]Hit, error) {
	s.acc.reset(s.docs)
	n := s.live[k]
	if n == 0 {
		return nil, nil
	}
	c := &kindSearch{search: s, k: k, scoring: scorings[k], n: float64(n), pivot: pivots}
	c.pivot[body] = max(float64(bodies)/float64(n), 1)
	if k == fileKind {
		c.pivot[about] = c.pivot[body] // the description, see [fileTexts]
		c.pivot[body] = max(s.fileTexts.mean, 1)
	}
	c.pivot[exact] = c.pivot[body]
	terms := c.postings(s.found.terms)
	steps, rest := c.plan(terms, c.postings(s.found.joined), c.postings(s.found.synonyms))
	for _, t := range rest {
		if err := c.countLive(t); err != nil {
			return nil, err
		}
	}
	n = max(s.limit, candidates*min(len(rest), 1))
	if err := c.scoreAll(n, steps); err != nil {
		return nil, err
	}
	top := c.top(n)
	if err := c.refine(top, rest); err != nil {
		return nil, err
	}
	return c.hits(top, terms)
}

// hits returns the best of top as hits, in the room of c.acc.
func (c *kindSearch) hits(top []docScore, terms []termPostings) ([]Hit, error) {
	for i := range top {
		top[i].score = c.total(top[i].doc)
	}
	slices.SortFunc(top, func(a, b docScore) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.doc, b.doc))
	})
	idfs := 0.0
	for _, t := range terms {
		idfs += t.idf
	}
	// A term that occurs nowhere weighs as much as the rarest could.
	for range len(c.terms) - len(terms) {
		idfs += idf(c.n, 1)
	}
	for i := range top {
		if i >= c.limit && top[i].score < top[c.limit-1].score {
			top = top[:i] // ties stay until they are ordered by key
			break
		}
	}
	hits := slices.Grow(c.acc.hits[c.k][:0], len(top))
	for _, d := range top {
		leaf := c.leafOf(d.doc)
		local := d.doc - leaf.offset
		t := &c.acc.tallies[d.doc]
		key, memory := c.acc.keys.of(leaf.segment, local)
		h := Hit{
			Key: key, Kind: kinds[c.k], Memory: memory,
			Score: d.score, Fielded: float64(t.fielded), Expanded: float64(t.fielded + t.more), Exact: float64(t.exact),
			Name: float64(t.name), Body: float64(t.body), Symbol: float64(t.symbol), Path: float64(t.path), Ideal: idfs, NameShare: min(float64(t.share), 1),
		}
		if c.k == chunkKind || c.k == sectionKind {
			h.Chunk = strings.TrimPrefix(h.Key, "c:")
		}
		covered := 0.0
		for _, term := range terms {
			if t.mask&(1<<term.term) != 0 {
				covered += term.idf
			}
		}
		if idfs > 0 {
			h.Coverage = covered / idfs
		}
		hits = append(hits, h)
	}
	if c.k == memoryKind {
		if err := c.count(hits, top, terms); err != nil {
			return nil, err
		}
	}
	c.acc.hits[c.k] = hits
	for from := 0; from < len(hits); { // those of a score, which are in order
		end := from + 1
		for end < len(hits) && hits[end].Score == hits[from].Score {
			end++
		}
		if end-from > 1 {
			slices.SortFunc(hits[from:end], func(a, b Hit) int { return cmp.Compare(a.Key, b.Key) })
		}
		from = end
	}
	return hits[:min(c.limit, len(hits))], nil
}
