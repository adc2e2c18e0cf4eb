package textindex

import (
	"cmp"
	"context"
	"math"
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

	// Limit is the most hits of each kind. Zero means 10.
	Limit int

	// Explain fills Hit.Fields.
	Explain bool
}

// A Hit is one document that was found.
type Hit struct {
	Key    string
	Kind   Kind
	Memory fold.ID
	Chunk  string // id of the chunk; "" if it is none

	// Score is Fielded + a share of Exact. Scores of different kinds are not on
	// one scale.
	Score    float64
	Fielded  float64 // BM25F over all fields
	Exact    float64 // BM25 of joined identifiers and word pairs
	Name     float64 // BM25F over symbol and title alone
	Coverage float64 // share of the question's terms that occur, by idf, in [0, 1]
	Ideal    float64 // what Fielded is at most for this question and kind

	// Fields are the scores of single fields; nil unless Query.Explain.
	Fields map[string]float64
}

const (
	maxTerms     = 24 // different terms of a question that are looked at
	defaultLimit = 10 // hits of each kind
	maxLimit     = 1000
)

// A scheme is how documents of one kind are scored. Figures: retrieval.md 1.2,
// 2 and what was measured on its dev sets.
type scheme struct {
	k1     float64
	b      float64            // of the body
	weight [numFields]float64 // of a term in a field, beside one in the body
	exact  float64            // share of Exact in Score
}

var schemes = [len(kinds)]scheme{
	// Whole files.
	{k1: 2, b: .4, weight: [numFields]float64{body: 1, symbol: 2, pathWords: 3, title: 2, about: 1, tags: 1, keywords: 1}, exact: .3},
	// Functions, sections and paragraphs.
	{k1: 2, b: .8, weight: [numFields]float64{body: 1, symbol: 4, pathWords: 2, title: 2, about: .5, tags: 1, keywords: 1}, exact: .3},
	// Memories.
	{k1: 1.2, b: .5, weight: [numFields]float64{body: 1, symbol: 2, pathWords: 1, title: 2, about: 1, tags: 1, keywords: 1}, exact: .3},
}

// pivots are the lengths, in terms, of the short fields that count neither less
// nor more; their b is shortB. The body's pivot is its average.
var pivots = [numFields]float64{symbol: 4, pathWords: 6, title: 6, about: 40, tags: 4, keywords: 10}

const shortB = .3

// maxPostings bounds the postings that are read for one kind before the rest
// of the terms, the commonest, only help to order what was found already.
const maxPostings = 400_000

// candidates is how many of those found are ordered by the commonest terms.
const candidates = 1000

// Search returns the documents that share terms with the question and pass the
// filter, the best of each kind first, ties by key; kinds follow each other in
// the order file, chunk, memory. A question without terms finds nothing.
func (x *Index) Search(ctx context.Context, q Query) (_ []Hit, err error) {
	defer wrap(&err, "search text index")
	snap, err := x.snapshot()
	if err != nil {
		return nil, err
	}
	defer closeReader(snap, &err)
	s := &search{ctx: ctx, snapshot: snap, q: q}
	s.limit = min(cmp.Or(max(q.Limit, 0), defaultLimit), maxLimit)
	s.terms = distinct(words.Analyze(clip(q.Text)))
	s.joined = distinct(words.Exact(clip(q.Text)))
	if len(s.terms)+len(s.joined) == 0 || s.docs == 0 {
		return nil, nil
	}
	if s.allowed, err = snap.passing(q.Filter); err != nil {
		return nil, err
	}
	s.present = snap.liveSet()
	s.acc, _ = x.scratch.Get().(*accumulator)
	if s.acc == nil {
		s.acc = &accumulator{}
	}
	defer x.scratch.Put(s.acc)
	sums := decodeSums(snap.Internal()[lengthKey])
	var hits []Hit
	for k, kind := range kinds {
		if len(q.Kinds) > 0 && !slices.Contains(q.Kinds, kind) {
			continue
		}
		found, err := s.kind(k, sums[k])
		if err != nil {
			return nil, err
		}
		hits = append(hits, found...)
	}
	return hits, nil
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

// A search is one question at work.
type search struct {
	*snapshot

	ctx     context.Context
	q       Query
	limit   int
	terms   []string
	joined  []string
	present bitset // documents that are not deleted; nil: all
	allowed bitset // documents that pass the filter; nil: all
	acc     *accumulator
}

// An accumulator gathers scores by document number. Only documents in touched
// have entries that are not zero.
type accumulator struct {
	fielded []float32
	exact   []float32
	name    []float32
	mask    []uint32 // bit i: term i occurs
	touched []uint32
	term    []termScore // documents of the term at hand
}

// A termScore is the weighted frequency of one term in a document.
type termScore struct {
	doc      uint32
	tf, name float32 // in all fields; in symbol and title
}

func (a *accumulator) reset(n int) {
	if len(a.mask) < n {
		*a = accumulator{fielded: make([]float32, n), exact: make([]float32, n), name: make([]float32, n), mask: make([]uint32, n)}
	}
	for _, d := range a.touched {
		a.fielded[d], a.exact[d], a.name[d], a.mask[d] = 0, 0, 0, 0
	}
	a.touched = a.touched[:0]
}

// touch notes that d is about to have its first score.
func (a *accumulator) touch(d uint32) {
	if a.mask[d] == 0 && a.exact[d] == 0 {
		a.touched = append(a.touched, d)
	}
}

// leafList is the postings of one term in one segment.
type leafList struct {
	leaf *leaf
	list list
}

// termPostings are the postings of one term in a kind.
type termPostings struct {
	term  int // index into search.terms or joined
	lists []leafList
	df    int     // documents that have it, those deleted included until it is scored
	idf   float64 // set when the term is scored
}

// kind returns the best documents of one kind.
func (s *search) kind(k int, bodies int64) ([]Hit, error) {
	s.acc.reset(s.docs)
	n := s.live[k]
	if n == 0 {
		return nil, nil
	}
	c := &kindSearch{search: s, k: k, scheme: schemes[k], n: float64(n), pivot: pivots}
	c.pivot[body] = max(float64(bodies)/float64(n), 1)
	c.pivot[exact] = c.pivot[body]
	terms := c.postings(s.terms, channelWords)
	joined := c.postings(s.joined, channelExact)
	rest, err := c.scoreAll(terms, joined)
	if err != nil {
		return nil, err
	}
	top := c.top(max(s.limit, candidates*min(len(rest), 1)))
	if err := c.refine(top, rest); err != nil {
		return nil, err
	}
	return c.hits(top, terms)
}

// A kindSearch is the part of a search that concerns one kind.
type kindSearch struct {
	*search

	k      int
	scheme scheme
	n      float64 // documents of the kind
	pivot  [numFields]float64
}

// postings finds every term that occurs, rarest first.
func (c *kindSearch) postings(terms []string, channel int) []termPostings {
	var out []termPostings
	var key [maxKey]byte
	for i, term := range terms {
		b := append(key[:0], term...)
		if channel == channelExact {
			b = exactKey(key[:0], hash(b))
		}
		t := termPostings{term: i}
		for n := range c.leaves {
			leaf := &c.leaves[n]
			if l, ok := leaf.dicts[c.k][channel].find(b); ok {
				t.lists = append(t.lists, leafList{leaf, l})
				t.df += l.count
			}
		}
		if t.df > 0 {
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(a, b termPostings) int { return cmp.Compare(a.df, b.df) })
	return out
}

// scoreAll scores every document of the terms, rarest first, until maxPostings
// are read, and returns the terms that are left.
func (c *kindSearch) scoreAll(terms, joined []termPostings) (rest []*termPostings, err error) {
	read := 0
	for i := range terms {
		t := &terms[i]
		if read += t.df; i > 0 && read > maxPostings {
			rest = append(rest, t)
			err = c.countLive(t)
		} else {
			err = c.scoreTerm(t)
		}
		if err != nil {
			return nil, err
		}
	}
	for i := range joined {
		t := &joined[i]
		if read += t.df; read > maxPostings && i > 0 {
			break // joined names this common tell nothing
		}
		if err := c.scoreJoined(t); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// idf is that of BM25 with the 1 that keeps it positive: log(1 + (n - df + .5) /
// (df + .5)) (Robertson & Zaragoza 2009; Lucene).
func idf(n, df float64) float64 { return math.Log((n + 1) / (df + .5)) }

// weigh returns the weighted frequency of tf occurrences in a field of length.
func (c *kindSearch) weigh(f int, tf uint64, length uint32) float64 {
	b := shortB
	if f == body || f == exact {
		b = c.scheme.b
	}
	return float64(tf) / (1 - b + b*float64(max(length, 1))/c.pivot[f])
}

// weighAll returns the weighted frequency over all fields, and over symbol and
// title.
func (c *kindSearch) weighAll(seg *segment, p *postings) (tf, name float32) {
	for f := range exact {
		n := p.counts.of(f)
		if n == 0 {
			continue
		}
		v := float32(c.scheme.weight[f] * c.weigh(f, n, seg.length(c.k, f, p.doc)))
		tf += v
		if f == symbol || f == title {
			name += v
		}
		if f == body && p.counts <= bodyMost {
			break
		}
	}
	return tf, name
}

// each calls fn for every posting of t that is allowed, and sets how many
// documents have t and what that makes it worth.
func (c *kindSearch) each(t *termPostings, fn func(seg *segment, doc uint32, p *postings)) error {
	df := 0
	for _, l := range t.lists {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		first := l.leaf.offset + l.leaf.first[c.k]
		p := l.list.walk() // not in the for, which would make one for each posting
		for p.next() {
			d := first + p.doc
			if !c.present.has(d) {
				continue
			}
			df++
			if fn != nil && c.allowed.has(d) {
				fn(l.leaf.segment, d, &p)
			}
		}
	}
	t.df = df
	return nil
}

// countLive sets how many documents have t, and what that makes it worth.
func (c *kindSearch) countLive(t *termPostings) error {
	if c.present != nil {
		if err := c.each(t, nil); err != nil {
			return err
		}
	}
	t.idf = idf(c.n, float64(t.df))
	return nil
}

// scoreTerm adds the BM25F score of one term.
func (c *kindSearch) scoreTerm(t *termPostings) error {
	a := c.acc
	a.term = a.term[:0]
	err := c.each(t, func(seg *segment, d uint32, p *postings) {
		tf, name := c.weighAll(seg, p)
		a.term = append(a.term, termScore{d, tf, name})
	})
	if err != nil {
		return err
	}
	t.idf = idf(c.n, float64(t.df))
	for _, s := range a.term {
		a.touch(s.doc)
		a.add(c, t, s)
	}
	return nil
}

// add adds what t gives one document.
func (a *accumulator) add(c *kindSearch, t *termPostings, s termScore) {
	tf := float64(s.tf)
	a.fielded[s.doc] += float32(t.idf * tf / (c.scheme.k1 + tf))
	a.mask[s.doc] |= 1 << t.term
	if s.name > 0 {
		name := float64(s.name)
		a.name[s.doc] += float32(t.idf * name / (c.scheme.k1 + name))
	}
}

// scoreJoined adds the BM25 score of one joined form.
func (c *kindSearch) scoreJoined(t *termPostings) error {
	a := c.acc
	if err := c.countLive(t); err != nil {
		return err
	}
	return c.each(t, func(seg *segment, d uint32, p *postings) {
		a.touch(d)
		f := c.weigh(exact, uint64(p.counts), seg.length(c.k, body, p.doc))
		a.exact[d] += float32(t.idf * f / (c.scheme.k1 + f))
	})
}

// total is the score of a document.
func (c *kindSearch) total(d uint32) float64 {
	return float64(c.acc.fielded[d]) + c.scheme.exact*float64(c.acc.exact[d])
}

type docScore struct {
	doc   uint32
	score float64
}

// top returns the n best documents, sorted by score, then by number.
func (c *kindSearch) top(n int) []docScore {
	less := func(a, b docScore) int {
		if o := cmp.Compare(b.score, a.score); o != 0 {
			return o
		}
		return cmp.Compare(a.doc, b.doc)
	}
	var top []docScore
	worst := math.Inf(-1)
	for _, d := range c.acc.touched {
		score := c.total(d)
		if score < worst {
			continue
		}
		// Twice as many as wanted are gathered between two cuts, which costs
		// less than a heap. Ties at the cut stay in.
		if top = append(top, docScore{d, score}); len(top) >= 2*n+64 {
			slices.SortFunc(top, less)
			worst = top[n-1].score
			end := n
			for end < len(top) && end < 2*n && top[end].score == worst {
				end++
			}
			top = top[:end]
		}
	}
	slices.SortFunc(top, less)
	return top
}

// refine adds the scores of the commonest terms to the candidates.
func (c *kindSearch) refine(top []docScore, rest []*termPostings) error {
	if len(rest) == 0 {
		return nil
	}
	slices.SortFunc(top, func(a, b docScore) int { return cmp.Compare(a.doc, b.doc) })
	for _, t := range rest {
		err := c.at(t, top, func(i int, seg *segment, p *postings) {
			tf, name := c.weighAll(seg, p)
			c.acc.add(c, t, termScore{top[i].doc, tf, name})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// at calls fn for the postings of the documents of top, which are sorted by
// number.
func (c *kindSearch) at(t *termPostings, top []docScore, fn func(i int, seg *segment, p *postings)) error {
	for _, l := range t.lists {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		first := l.leaf.offset + l.leaf.first[c.k]
		i, _ := slices.BinarySearchFunc(top, first, func(s docScore, d uint32) int { return cmp.Compare(s.doc, d) })
		end := l.leaf.offset + l.leaf.first[c.k+1]
		p := l.list.walk()
		for i < len(top) && top[i].doc < end && p.next() {
			d := first + p.doc
			for i < len(top) && top[i].doc < d {
				i++
			}
			if i < len(top) && top[i].doc == d {
				fn(i, l.leaf.segment, &p)
			}
		}
	}
	return nil
}

// hits returns the best of top as hits.
func (c *kindSearch) hits(top []docScore, terms []termPostings) ([]Hit, error) {
	for i := range top {
		top[i].score = c.total(top[i].doc)
	}
	hits := make([]Hit, 0, len(top))
	order := make([]docScore, 0, len(top))
	sorted := slices.Clone(top)
	slices.SortFunc(sorted, func(a, b docScore) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.doc, b.doc))
	})
	for i, d := range sorted {
		if i >= c.limit && d.score < sorted[c.limit-1].score {
			break
		}
		order = append(order, d)
	}
	slices.SortFunc(order, func(a, b docScore) int { return cmp.Compare(a.doc, b.doc) })
	fields, err := c.parts(order, terms)
	if err != nil {
		return nil, err
	}
	idfs := 0.0
	for _, t := range terms {
		idfs += t.idf
	}
	// A term that occurs nowhere weighs as much as the rarest could.
	for range len(c.terms) - len(terms) {
		idfs += idf(c.n, 1)
	}
	for i, d := range order {
		leaf := c.leafOf(d.doc)
		local := d.doc - leaf.offset
		h := Hit{
			Key: leaf.key(local), Kind: kinds[c.k], Memory: fold.ID(leaf.value(leaf.ownerOf(local), ownerMemory)),
			Score: d.score, Fielded: float64(c.acc.fielded[d.doc]), Exact: float64(c.acc.exact[d.doc]), Name: float64(c.acc.name[d.doc]), Ideal: idfs,
		}
		if fields != nil {
			h.Fields = fields[i]
		}
		if kinds[c.k] == Chunk {
			h.Chunk = strings.TrimPrefix(h.Key, "c:")
		}
		for _, t := range terms {
			if c.acc.mask[d.doc]&(1<<t.term) != 0 {
				h.Coverage += t.idf / idfs
			}
		}
		hits = append(hits, h)
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Key, b.Key))
	})
	return hits[:min(c.limit, len(hits))], nil
}

// parts returns, with Explain, what every field gives the documents of order,
// which is sorted by number.
func (c *kindSearch) parts(order []docScore, terms []termPostings) ([]map[string]float64, error) {
	if !c.q.Explain {
		return nil, nil
	}
	fields := make([]map[string]float64, len(order))
	for i := range fields {
		fields[i] = map[string]float64{}
	}
	for i := range terms {
		t := &terms[i]
		err := c.at(t, order, func(i int, seg *segment, p *postings) {
			for f := range exact {
				if n := p.counts.of(f); n > 0 {
					v := c.scheme.weight[f] * c.weigh(f, n, seg.length(c.k, f, p.doc))
					fields[i][fieldNames[f]] += t.idf * v / (c.scheme.k1 + v)
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return fields, nil
}
