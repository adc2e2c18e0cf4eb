package textindex

import (
	"cmp"
	"math"
	"slices"
)

// maxPostings bounds the postings that are read for one kind before the rest
// of the terms, the commonest, only help to order what was found already.
const maxPostings = 400_000

// candidates is how many of those found are ordered by the commonest terms.
const candidates = 1000

// An accumulator gathers scores by document number. Only documents in touched
// have entries that are not zero.
type accumulator struct {
	tallies []tally
	touched []uint32
	plain   []plainScore // documents that have the term at hand in their body alone
	term    []termScore  // the others
	text    []uint32     // by document: how often the term at hand stands in the chunks of a file
	texts   []uint32     // documents that have an entry in text
}

// A tally is the scores of one document.
type tally struct {
	fielded, more, exact     float32 // more is what synonyms give
	body, symbol, name, path float32
	mask                     uint32 // bit i: term i occurs
}

// A plainScore is the weighted frequency of a term that stands in the body alone:
// nine postings in ten.
type plainScore struct {
	doc uint32
	tf  float32
}

// A termScore is the weighted frequency of one term in a document.
type termScore struct {
	doc                          uint32
	tf, body, symbol, name, path float32 // in all fields, and in single ones
}

func (a *accumulator) reset(n int) {
	if len(a.tallies) < n {
		*a = accumulator{tallies: make([]tally, n), text: make([]uint32, n)}
	}
	for _, d := range a.touched {
		a.tallies[d] = tally{}
	}
	for _, d := range a.texts { // left by a search that was cut short
		a.text[d] = 0
	}
	a.touched, a.texts = a.touched[:0], a.texts[:0]
}

// of returns the tally of d, which is about to have a score.
func (a *accumulator) of(d uint32) *tally {
	t := &a.tallies[d]
	if t.mask == 0 && t.exact == 0 && t.more == 0 {
		a.touched = append(a.touched, d)
	}
	return t
}

// leafList is the postings of one term in one segment.
type leafList struct {
	leaf *leaf
	kind int
	list list
}

// termPostings are the postings of one term in a kind.
type termPostings struct {
	term  int        // index into search.terms, joined or synonyms
	lists []leafList // of the kind itself
	texts []leafList // of the chunks of files
	df    int        // documents that have it, those deleted included until it is scored
	idf   float64    // set when the term is scored
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
				t.lists = append(t.lists, leafList{leaf, c.k, l})
				t.df += l.count
			}
			if c.k != fileKind {
				continue
			}
			for _, k := range [...]int{chunkKind, sectionKind} {
				if l, ok := leaf.dicts[k][channel].find(b); ok {
					t.texts = append(t.texts, leafList{leaf, k, l})
					t.df += l.count
				}
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
func (c *kindSearch) scoreAll(terms, joined, synonyms []termPostings) (rest []*termPostings, err error) {
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
	for i := range synonyms {
		t := &synonyms[i]
		if read += t.df; read > maxPostings {
			break
		}
		if err := c.scoreSynonym(t); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// each calls fn for every posting of t in documents of the kind itself that are
// live, and says whether the document is allowed.
func (c *kindSearch) each(t *termPostings, fn func(seg *segment, doc uint32, allowed bool, p *postings)) error {
	for _, l := range t.lists {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		first := l.leaf.offset + l.leaf.first[c.k]
		p := l.list.walk() // not in the for, which would make one for each posting
		for p.next() {
			if d := first + p.doc; c.present.has(d) {
				fn(l.leaf.segment, d, c.allowed.has(d), &p)
			}
		}
	}
	return nil
}

// countLive sets in how many documents t is, and what that makes it worth. For
// whole files it is an upper bound, which does for terms this common.
func (c *kindSearch) countLive(t *termPostings) error {
	if c.k == fileKind {
		t.df = min(t.df, int(c.n))
	} else if c.present != nil {
		t.df = 0
		if err := c.each(t, func(*segment, uint32, bool, *postings) { t.df++ }); err != nil {
			return err
		}
	}
	t.idf = idf(c.n, float64(t.df))
	return nil
}

// gather puts the weighted frequencies of t in every document that is allowed
// into c.acc, and sets what t is worth.
func (c *kindSearch) gather(t *termPostings) error {
	a := c.acc
	a.plain, a.term, t.df = a.plain[:0], a.term[:0], 0
	var err error
	if c.k == fileKind {
		err = c.gatherWhole(t)
	} else {
		err = c.gatherOwn(t)
	}
	t.idf = idf(c.n, float64(t.df))
	return err
}

// gatherOwn is gather for what has its terms itself.
func (c *kindSearch) gatherOwn(t *termPostings) error {
	a, weight := c.acc, float32(c.scheme.weight[body])
	flat, slope := float32(1-c.scheme.b), float32(c.scheme.b/c.pivot[body]) // see weigh
	for _, l := range t.lists {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		seg, first := l.leaf.segment, l.leaf.offset+l.leaf.first[c.k]
		p := l.list.walk() // not in the for, which would make one for each posting
		for p.next() {
			d := first + p.doc
			if !c.present.has(d) {
				continue
			}
			t.df++
			switch {
			case !c.allowed.has(d):
			case p.counts <= bodyMost:
				length := float32(max(seg.length(c.k, body, p.doc), 1))
				a.plain = append(a.plain, plainScore{d, weight * float32(p.counts) / (flat + slope*length)})
			default:
				s := c.weighAll(seg, &p)
				s.doc = d
				a.term = append(a.term, s)
			}
		}
	}
	return nil
}

// gatherWhole is gather for whole files.
func (c *kindSearch) gatherWhole(t *termPostings) error {
	a := c.acc
	if err := c.readTexts(t); err != nil {
		return err
	}
	err := c.each(t, func(seg *segment, d uint32, allowed bool, p *postings) {
		t.df++
		text := a.text[d]
		a.text[d] = 0
		if allowed {
			a.term = append(a.term, c.weighWhole(seg, d, p, text))
		}
	})
	if err != nil {
		return err
	}
	for _, d := range a.texts { // that have t in their text alone
		if text := a.text[d]; text > 0 {
			t.df++
			a.text[d] = 0
			if c.allowed.has(d) {
				a.plain = append(a.plain, plainScore{d, float32(c.scheme.weight[body] * c.weigh(body, uint64(text), c.whole.length[d]))})
			}
		}
	}
	a.texts = a.texts[:0]
	return nil
}

// scoreTerm adds the BM25F score of one term.
func (c *kindSearch) scoreTerm(t *termPostings) error {
	if err := c.gather(t); err != nil {
		return err
	}
	a, w, k := c.acc, float32(t.idf), float32(c.scheme.k1)
	for _, s := range a.plain {
		y, score := a.of(s.doc), w*s.tf/(k+s.tf)
		y.fielded += score
		y.body += score
		y.mask |= 1 << t.term
	}
	for i := range a.term {
		s := &a.term[i]
		a.of(s.doc).add(c.scheme.k1, t, s)
	}
	return nil
}

// add adds what t gives one document.
func (y *tally) add(k1 float64, t *termPostings, s *termScore) {
	w, k := float32(t.idf), float32(k1)
	score := w * s.tf / (k + s.tf)
	y.fielded += score
	y.mask |= 1 << t.term
	y.body += w * s.body / (k + s.body)
	y.symbol += w * s.symbol / (k + s.symbol)
	y.name += w * s.name / (k + s.name)
	y.path += w * s.path / (k + s.path)
}

// scoreSynonym adds the share of the BM25F score of a synonym.
func (c *kindSearch) scoreSynonym(t *termPostings) error {
	if err := c.gather(t); err != nil {
		return err
	}
	a, w, k := c.acc, float32(t.idf*c.shares[t.term]), float32(c.scheme.k1)
	for _, s := range a.plain {
		a.of(s.doc).more += w * s.tf / (k + s.tf)
	}
	for _, s := range a.term {
		a.of(s.doc).more += w * s.tf / (k + s.tf)
	}
	return nil
}

// scoreJoined adds the BM25 score of one joined form.
func (c *kindSearch) scoreJoined(t *termPostings) error {
	a := c.acc
	a.plain, t.df = a.plain[:0], 0
	if err := c.readTexts(t); err != nil {
		return err
	}
	err := c.each(t, func(seg *segment, d uint32, allowed bool, p *postings) {
		t.df++
		n := uint64(p.counts) + uint64(a.text[d])
		a.text[d] = 0
		if allowed {
			a.plain = append(a.plain, plainScore{d, c.weighJoined(seg, d, p.doc, n)})
		}
	})
	if err != nil {
		return err
	}
	for _, d := range a.texts {
		if n := a.text[d]; n > 0 {
			t.df++
			a.text[d] = 0
			if c.allowed.has(d) {
				a.plain = append(a.plain, plainScore{d, c.weighJoined(nil, d, 0, uint64(n))})
			}
		}
	}
	a.texts = a.texts[:0]
	t.idf = idf(c.n, float64(t.df))
	w, k := float32(t.idf), float32(c.scheme.k1)
	for _, s := range a.plain {
		a.of(s.doc).exact += w * s.tf / (k + s.tf)
	}
	return nil
}

// weighJoined returns the weighted frequency of a joined form in document d,
// which is number n of its kind in seg.
func (c *kindSearch) weighJoined(seg *segment, d, n uint32, tf uint64) float32 {
	if c.k == fileKind {
		return float32(c.weigh(exact, tf, c.whole.length[d]))
	}
	return float32(c.weigh(exact, tf, seg.length(c.k, body, n)))
}

// total is the score of a document.
func (c *kindSearch) total(d uint32) float64 {
	t := &c.acc.tallies[d]
	return float64(t.fielded+t.more) + c.scheme.exact*float64(t.exact)
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
		for _, l := range t.lists {
			if err := c.ctx.Err(); err != nil {
				return err
			}
			c.refineIn(t, l, top)
		}
	}
	return nil
}

// refineIn adds the scores of t in one segment to the candidates of top, which
// are sorted by number.
func (c *kindSearch) refineIn(t *termPostings, l leafList, top []docScore) {
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
			s := c.weighWhole(l.leaf.segment, d, &p, 0)
			c.acc.of(d).add(c.scheme.k1, t, &s)
		}
	}
}

// count sets the Terms of hits, which are the documents of top.
func (c *kindSearch) count(hits []Hit, top []docScore, terms []termPostings) error {
	a, counts := c.acc, make([]TermCount, len(hits)*len(terms))
	for i, d := range top {
		hits[i].Terms, hits[i].K1 = counts[i*len(terms):(i+1)*len(terms)], c.scheme.k1
		a.text[d.doc] = uint32(i + 1)
		a.texts = append(a.texts, d.doc) // so that it is cleared for the next search
	}
	for n := range terms {
		t := &terms[n]
		for i := range hits {
			hits[i].Terms[n].Worth = t.idf
		}
		err := c.each(t, func(seg *segment, d uint32, _ bool, p *postings) {
			if i := a.text[d]; i > 0 {
				hits[i-1].Terms[n].Count = float64(c.weighAll(seg, p).tf)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}
