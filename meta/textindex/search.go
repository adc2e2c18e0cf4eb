package textindex

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"

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
	r, err := x.store.Reader()
	if err != nil {
		return nil, err
	}
	defer closeReader(r, &err)
	snap, ok := r.(*scorch.IndexSnapshot)
	if !ok {
		return nil, errors.New("reader is not a snapshot")
	}
	s := &search{ctx: ctx, r: snap, q: q, docs: slots(snap)}
	s.limit = min(cmp.Or(max(q.Limit, 0), defaultLimit), maxLimit)
	s.terms = distinct(words.Analyze(clip(q.Text)))
	s.joined = distinct(words.Exact(clip(q.Text)))
	if len(s.terms)+len(s.joined) == 0 || s.docs == 0 {
		return nil, nil
	}
	if s.allowed, err = q.Filter.bits(ctx, snap, s.docs); err != nil {
		return nil, err
	}
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

// slots returns how many document numbers the snapshot uses.
func slots(snap *scorch.IndexSnapshot) int {
	n := 0
	for _, seg := range snap.Segments() {
		n += int(seg.FullSize())
	}
	return n
}

// A search is one question at work.
type search struct {
	ctx     context.Context
	r       *scorch.IndexSnapshot
	q       Query
	docs    int // document numbers are below it
	limit   int
	terms   []string
	joined  []string
	allowed bitset // nil allows all
	acc     *accumulator
}

// An accumulator gathers scores by document number. Only documents in touched
// have entries that are not zero.
type accumulator struct {
	tf      []float32 // of the term at hand, weighted over fields
	fielded []float32
	exact   []float32
	mask    []uint32 // bit i: term i occurs
	touched []uint32
	term    []uint32 // documents with tf of the term at hand
}

func (a *accumulator) reset(n int) {
	if cap(a.tf) < n {
		*a = accumulator{tf: make([]float32, n), fielded: make([]float32, n), exact: make([]float32, n), mask: make([]uint32, n)}
	}
	a.tf, a.fielded, a.exact, a.mask = a.tf[:cap(a.tf)], a.fielded[:cap(a.tf)], a.exact[:cap(a.tf)], a.mask[:cap(a.tf)]
	for _, d := range a.touched {
		a.fielded[d], a.exact[d], a.mask[d] = 0, 0, 0
	}
	for _, d := range a.term {
		a.tf[d] = 0
	}
	a.touched, a.term = a.touched[:0], a.term[:0]
}

// fieldPostings are the postings of one term in one field.
type fieldPostings struct {
	field int
	tfr   index.TermFieldReader
}

// termPostings are the postings of one term in all fields of a kind.
type termPostings struct {
	term   int // index into search.terms or joined
	fields []fieldPostings
	count  int     // postings, over all fields
	df     int     // most documents in one field: at least this many have the term
	idf    float64 // set when the term is scored
}

// kind returns the best documents of one kind.
func (s *search) kind(k int, bodies int64) (_ []Hit, err error) {
	s.acc.reset(s.docs)
	all, err := s.r.TermFieldReader(s.ctx, []byte(everyDoc), fieldName(kinds[k], body), false, false, false)
	if err != nil {
		return nil, err
	}
	n := int(all.Count())
	if err := all.Close(); err != nil || n == 0 {
		return nil, err
	}
	c := &kindSearch{search: s, k: k, scheme: schemes[k], n: float64(n), pivot: pivots}
	c.pivot[body] = max(float64(bodies)/float64(n), 1)
	c.pivot[exact] = c.pivot[body]
	defer func() {
		for _, tfr := range c.open {
			if cerr := tfr.Close(); err == nil {
				err = cerr
			}
		}
	}()
	terms, err := c.postings(s.terms, symbol, pathWords, title, about, tags, keywords, body)
	if err != nil {
		return nil, err
	}
	joined, err := c.postings(s.joined, exact)
	if err != nil {
		return nil, err
	}
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
	open   []index.TermFieldReader
	doc    index.TermFieldDoc // reused
}

// postings opens the given fields for every term that occurs, rarest first.
func (c *kindSearch) postings(terms []string, fields ...int) ([]termPostings, error) {
	var out []termPostings
	for i, term := range terms {
		t := termPostings{term: i}
		for _, f := range fields {
			tfr, err := c.r.TermFieldReader(c.ctx, []byte(term), fieldName(kinds[c.k], f), true, true, false)
			if err != nil {
				return nil, err
			}
			c.open = append(c.open, tfr)
			if n := int(tfr.Count()); n > 0 {
				t.fields = append(t.fields, fieldPostings{f, tfr})
				t.count += n
				t.df = max(t.df, n)
			}
		}
		if t.df > 0 {
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(a, b termPostings) int { return cmp.Compare(a.df, b.df) })
	return out, nil
}

// scoreAll scores every document of the terms, rarest first, until maxPostings
// are read, and returns the terms that are left.
func (c *kindSearch) scoreAll(terms, joined []termPostings) (rest []*termPostings, err error) {
	read := 0
	for i := range terms {
		t := &terms[i]
		if read += t.count; i > 0 && read > maxPostings {
			t.idf = idf(c.n, float64(t.df))
			rest = append(rest, t)
			continue
		}
		if err := c.scoreTerm(t); err != nil {
			return nil, err
		}
	}
	for i := range joined {
		t := &joined[i]
		if read += t.count; read > maxPostings && i > 0 {
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

// weigh returns the weighted frequency of one posting.
func (c *kindSearch) weigh(f int, tf uint64, norm float64) float64 {
	b := shortB
	if f == body || f == exact {
		b = c.scheme.b
	}
	return float64(tf) / (1 - b + b*lengthOf(norm)/c.pivot[f])
}

// each calls fn for every allowed posting.
func (c *kindSearch) each(tfr index.TermFieldReader, fn func(doc uint32, tf uint64, norm float64)) error {
	for n := 0; ; n++ {
		if n&0xFFFF == 0xFFFF && c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		p, err := tfr.Next(&c.doc)
		if err != nil || p == nil {
			return err
		}
		if d := p.ID.Value(); c.allowed.has(d) {
			fn(uint32(d), p.Freq, p.Norm)
		}
	}
}

// scoreTerm adds the BM25F score of one term.
func (c *kindSearch) scoreTerm(t *termPostings) error {
	a := c.acc
	for _, f := range t.fields {
		w := c.scheme.weight[f.field]
		err := c.each(f.tfr, func(d uint32, tf uint64, norm float64) {
			if a.tf[d] == 0 {
				a.term = append(a.term, d)
			}
			a.tf[d] += float32(w * c.weigh(f.field, tf, norm))
		})
		if err != nil {
			return err
		}
	}
	// The union of the fields is only known where nothing was filtered.
	if c.allowed == nil {
		t.df = len(a.term)
	}
	t.idf = idf(c.n, float64(t.df))
	for _, d := range a.term {
		if a.mask[d] == 0 && a.exact[d] == 0 {
			a.touched = append(a.touched, d)
		}
		tf := float64(a.tf[d])
		a.fielded[d] += float32(t.idf * tf / (c.scheme.k1 + tf))
		a.mask[d] |= 1 << t.term
		a.tf[d] = 0
	}
	a.term = a.term[:0]
	return nil
}

// scoreJoined adds the BM25 score of one joined form.
func (c *kindSearch) scoreJoined(t *termPostings) error {
	a, w := c.acc, idf(c.n, float64(t.df))
	return c.each(t.fields[0].tfr, func(d uint32, tf uint64, norm float64) {
		if a.mask[d] == 0 && a.exact[d] == 0 {
			a.touched = append(a.touched, d)
		}
		f := c.weigh(exact, tf, norm)
		a.exact[d] += float32(w * f / (c.scheme.k1 + f))
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
		sums := make([]float64, len(top))
		for _, f := range t.fields {
			w := c.scheme.weight[f.field]
			err := c.at(f.tfr, top, func(i int, tf uint64, norm float64) { sums[i] += w * c.weigh(f.field, tf, norm) })
			if err != nil {
				return err
			}
		}
		for i, tf := range sums {
			if tf > 0 {
				c.acc.fielded[top[i].doc] += float32(t.idf * tf / (c.scheme.k1 + tf))
				c.acc.mask[top[i].doc] |= 1 << t.term
			}
		}
	}
	return nil
}

// at calls fn for the postings of the documents of top, which are sorted by
// number.
func (c *kindSearch) at(tfr index.TermFieldReader, top []docScore, fn func(i int, tf uint64, norm float64)) error {
	var id index.IndexInternalID
	have := uint64(0)
	var p *index.TermFieldDoc
	for i, d := range top {
		if p == nil || have < uint64(d.doc) {
			id = index.NewIndexInternalID(id, uint64(d.doc))
			var err error
			if p, err = tfr.Advance(id, &c.doc); err != nil || p == nil {
				return err
			}
			have = p.ID.Value()
		}
		if have == uint64(d.doc) {
			fn(i, p.Freq, p.Norm)
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
	names, fields, err := c.parts(order, terms)
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
	values, err := c.r.DocValueReader([]string{byMemory})
	if err != nil {
		return nil, err
	}
	for i, d := range order {
		id := index.NewIndexInternalID(nil, uint64(d.doc))
		key, err := c.r.ExternalID(id)
		if err != nil {
			return nil, err
		}
		h := Hit{Key: key, Kind: kinds[c.k], Score: d.score, Fielded: float64(c.acc.fielded[d.doc]), Exact: float64(c.acc.exact[d.doc]), Name: names[i], Ideal: idfs}
		if fields != nil {
			h.Fields = fields[i]
		}
		if kinds[c.k] == Chunk {
			h.Chunk = strings.TrimPrefix(key, "c:")
		}
		for _, t := range terms {
			if c.acc.mask[d.doc]&(1<<t.term) != 0 {
				h.Coverage += t.idf / idfs
			}
		}
		err = values.VisitDocValues(id, func(_ string, v []byte) { h.Memory = fold.ID(v) })
		if err != nil {
			return nil, err
		}
		hits = append(hits, h)
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Key, b.Key))
	})
	return hits[:min(c.limit, len(hits))], nil
}

// parts returns what single fields give the documents of order, which is sorted
// by number: the name score, and with Explain every field.
func (c *kindSearch) parts(order []docScore, terms []termPostings) (names []float64, fields []map[string]float64, err error) {
	names = make([]float64, len(order))
	if c.q.Explain {
		fields = make([]map[string]float64, len(order))
		for i := range fields {
			fields[i] = map[string]float64{}
		}
	}
	for _, t := range terms {
		sums := make([]float64, len(order))
		for _, f := range t.fields {
			name := f.field == symbol || f.field == title
			if !name && !c.q.Explain {
				continue
			}
			w := c.scheme.weight[f.field]
			tfr, err := c.r.TermFieldReader(c.ctx, []byte(c.terms[t.term]), fieldName(kinds[c.k], f.field), true, true, false)
			if err != nil {
				return nil, nil, err
			}
			c.open = append(c.open, tfr)
			err = c.at(tfr, order, func(i int, tf uint64, norm float64) {
				v := w * c.weigh(f.field, tf, norm)
				if name {
					sums[i] += v
				}
				if fields != nil {
					fields[i][fieldNames[f.field]] += t.idf * v / (c.scheme.k1 + v)
				}
			})
			if err != nil {
				return nil, nil, err
			}
		}
		for i, tf := range sums {
			names[i] += t.idf * tf / (c.scheme.k1 + tf)
		}
	}
	return names, fields, nil
}

// A bitset is a set of document numbers. A nil one holds all.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) has(d uint64) bool { return b == nil || b[d/64]>>(d%64)&1 == 1 }

func (b bitset) add(d uint64) { b[d/64] |= 1 << (d % 64) }

// and keeps what is in c too.
func (b bitset) and(c bitset) {
	for i := range b {
		b[i] &= c[i]
	}
}
