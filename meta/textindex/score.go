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
	tallies      []tally
	touched      []uint32
	plain        []plainScore // documents that have the term at hand in their body alone
	term         []termScore  // the others
	text         []uint32     // by document: how often the term at hand stands in the chunks of a file
	texts        []uint32     // documents that have an entry in text
	batch        postingBatch // postings at hand
	found        []leafList   // of the terms of the question in every kind
	best         []float64    // scores, to find the limit'th
	eligible     bitset       // documents that may still be among the best, see narrow
	eligibleDocs []uint32     // the same as a list
	hits         [len(kinds)][]Hit
	keys         keyCache
}

// A tally is the scores of one document.
type tally struct {
	fielded, more, exact     float32 // more is what synonyms give
	body, symbol, name, path float32
	share                    float32 // of the name's terms
	mask                     uint32  // bit i: term i occurs
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
	share                        float32 // of the terms of symbol and title
}

// reset makes a ready for n documents.
func (a *accumulator) reset(n int) {
	if len(a.tallies) < n {
		// Each save adds some, and the next search must not begin with a megabyte anew.
		room := n + n/8 + 1024
		a.tallies, a.text = make([]tally, room), make([]uint32, room)
		a.touched, a.texts = a.touched[:0], a.texts[:0]
	}
	for _, d := range a.touched {
		a.tallies[d] = tally{}
	}
	for _, d := range a.texts { // left by a search that was cut short
		a.text[d] = 0
	}
	a.touched, a.texts, a.eligible = a.touched[:0], a.texts[:0], nil
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

	k       int
	scoring scoring
	n       float64 // documents of the kind
	pivot   [numFields]float64
}

// A termLists is where one term occurs, by kind.
type termLists struct {
	term  int // index into search.terms, joined or synonyms
	lists [len(kinds)][]leafList
}

// lists finds every term in the kinds that are asked for.
func (s *search) lists(terms []string, channel int) []termLists {
	out := make([]termLists, 0, len(terms))
	for i, term := range terms {
		var key [maxKey]byte
		b := append(key[:0], term...)
		if channel == channelExact {
			b = exactKey(key[:0], hash(b))
		}
		t := termLists{term: i}
		for k := range kinds {
			if !s.reads[k] {
				continue
			}
			from := len(s.acc.found)
			for n := range s.leaves {
				leaf := &s.leaves[n]
				if l, ok := leaf.dicts[k][channel].find(b); ok {
					s.acc.found = append(s.acc.found, leafList{leaf, k, l})
				}
			}
			t.lists[k] = s.acc.found[from:len(s.acc.found):len(s.acc.found)]
		}
		out = append(out, t)
	}
	return out
}

// postings returns those of the terms that occur in the kind, rarest first.
func (c *kindSearch) postings(terms []termLists) []termPostings {
	out := make([]termPostings, 0, len(terms))
	for i := range terms {
		t := termPostings{term: terms[i].term, lists: terms[i].lists[c.k]}
		if c.k == fileKind {
			t.texts = slices.Concat(terms[i].lists[chunkKind], terms[i].lists[sectionKind])
		}
		for _, lists := range [...][]leafList{t.lists, t.texts} {
			for _, l := range lists {
				t.df += l.list.count
			}
		}
		if t.df > 0 {
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(a, b termPostings) int { return cmp.Compare(a.df, b.df) })
	return out
}

// A step is one term to score.
type step struct {
	t     *termPostings
	score func(*kindSearch, *termPostings) error
	most  float64 // that it adds to a total
}

// plan returns the steps of a search, rarest term first, and the terms that are
// left once maxPostings are read. What terms, joined forms and synonyms give is
// added up apart, each rarest first, so that what comes between changes no sum.
func (c *kindSearch) plan(terms, joined, synonyms []termPostings) (steps []step, rest []*termPostings) {
	steps = make([]step, 0, len(terms)+len(joined)+len(synonyms))
	read := 0
	for i := range terms {
		t := &terms[i]
		if read += t.df; i > 0 && read > maxPostings {
			rest = append(rest, t)
		} else {
			steps = append(steps, step{t, (*kindSearch).scoreTerm, c.mostOf(t)})
		}
	}
	for i := range joined {
		t := &joined[i]
		if read += t.df; read > maxPostings && i > 0 {
			break // joined names this common tell nothing
		}
		steps = append(steps, step{t, (*kindSearch).scoreJoined, c.scoring.exact * c.mostOf(t)})
	}
	for i := range synonyms {
		t := &synonyms[i]
		if read += t.df; read > maxPostings {
			break
		}
		steps = append(steps, step{t, (*kindSearch).scoreSynonym, c.shares[t.term] * c.mostOf(t)})
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.t.df, b.t.df) })
	return steps, rest
}

// scoreAll scores every document of the terms that can be among the n best.
func (c *kindSearch) scoreAll(n int, steps []step) error {
	done, ahead := 0.0, 0.0 // what the steps behind and those to come add at most
	for i := range steps {
		ahead += steps[i].most
	}
	for i := range steps {
		if c.k != fileKind && steps[i].t.df >= narrowFrom && done > ahead {
			c.narrow(n, ahead)
		}
		if err := steps[i].score(c, steps[i].t); err != nil {
			return err
		}
		done, ahead = done+steps[i].most, ahead-steps[i].most
	}
	return nil
}

// mostOf returns what a term of another kind than files gives at most: in how many
// files it is, only its postings say.
func (c *kindSearch) mostOf(t *termPostings) float64 {
	gone := 0
	for _, l := range t.lists {
		gone += min(l.list.count, l.leaf.gone[c.k])
	}
	return idf(c.n, float64(t.df-gone))
}

// narrowFrom is how many postings a term has before it is worth a look whether
// all documents it is in can still be among the best.
const narrowFrom = 1000

// narrow finds out which documents may still be among the n best if terms that
// add at most ahead are to come: where n have more than that already, none of
// those that have nothing yet (Turtle & Flood 1995, MaxScore). All that is left
// out would have been cut off at the end, so that no result changes.
func (c *kindSearch) narrow(n int, ahead float64) {
	const rounding = 1 - 1e-4 // scores are sums of float32
	a := c.acc
	all := a.touched
	if a.eligible != nil {
		all = a.eligibleDocs
	}
	if len(all) <= 2*n {
		return // so few that it does not pay
	}
	a.best = a.best[:0]
	for _, d := range all {
		a.best = append(a.best, c.total(d))
	}
	least := nth(a.best, n)*rounding - ahead
	if least <= 0 {
		return
	}
	if a.eligible == nil {
		a.eligible = newBitset(c.docs)
		a.eligibleDocs = append(a.eligibleDocs[:0], all...)
		for _, d := range all {
			a.eligible.add(d)
		}
	}
	kept := a.eligibleDocs[:0]
	for _, d := range a.eligibleDocs {
		if c.total(d) >= least {
			kept = append(kept, d)
		} else {
			a.eligible.drop(d)
		}
	}
	a.eligibleDocs = kept
}

// nth returns the n'th largest of scores, of which there are more, and changes
// their order.
func nth(scores []float64, n int) float64 {
	lo, hi := 0, len(scores)-1
	for lo < hi {
		pivot := scores[int(uint(lo+hi)/2)]
		i, j := lo, hi
		for i <= j {
			for scores[i] > pivot {
				i++
			}
			for scores[j] < pivot {
				j--
			}
			if i <= j {
				scores[i], scores[j] = scores[j], scores[i]
				i++
				j--
			}
		}
		switch {
		case n-1 <= j:
			hi = j
		case n-1 >= i:
			lo = i
		default:
			return scores[n-1]
		}
	}
	return scores[lo]
}

// each calls fn for every posting of t in documents of the kind itself that are
// live, and says whether the document is allowed. Doc is its number, which among
// those of its kind in seg is n.
func (c *kindSearch) each(t *termPostings, fn func(seg *segment, doc, n uint32, allowed bool, counts counts)) error {
	a := c.acc
	for _, l := range t.lists {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		first := l.leaf.offset + l.leaf.first[c.k]
		p := l.list.walk()
		for n := p.fill(&a.batch); n > 0; n = p.fill(&a.batch) {
			for i, doc := range a.batch.docs[:n] {
				if d := first + doc; c.present.has(d) {
					fn(l.leaf.segment, d, doc, a.eligible.has(d) && c.allowed.has(d), a.batch.counts[i])
				}
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
		if err := c.each(t, func(*segment, uint32, uint32, bool, counts) { t.df++ }); err != nil {
			return err
		}
	}
	t.idf = idf(c.n, float64(t.df))
	return nil
}

// collect puts the weighted frequencies of t in every document that is allowed
// into c.acc, and sets what t is worth.
func (c *kindSearch) collect(t *termPostings) error {
	a := c.acc
	a.plain, a.term, t.df = a.plain[:0], a.term[:0], 0
	var err error
	if c.k == fileKind {
		err = c.collectFiles(t)
	} else {
		err = c.collectOwn(t)
	}
	t.idf = idf(c.n, float64(t.df))
	return err
}

// collectOwn is collect for what has its terms itself.
func (c *kindSearch) collectOwn(t *termPostings) error {
	a, weight := c.acc, float32(c.scoring.weight[body])
	flat, slope := float32(1-c.scoring.b), float32(c.scoring.b/c.pivot[body]) // see weigh
	for _, l := range t.lists {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		seg, first := l.leaf.segment, l.leaf.offset+l.leaf.first[c.k]
		p := l.list.walk()
		for n := p.fill(&a.batch); n > 0; n = p.fill(&a.batch) {
			for i, doc := range a.batch.docs[:n] {
				d, counts := first+doc, a.batch.counts[i]
				if !c.present.has(d) {
					continue
				}
				t.df++
				switch {
				case !a.eligible.has(d) || !c.allowed.has(d):
				case counts <= bodyMost:
					length := float32(max(seg.length(c.k, body, doc), 1))
					a.plain = append(a.plain, plainScore{d, weight * float32(counts) / (flat + slope*length)})
				default:
					s := c.weighAll(seg, doc, counts)
					s.doc = d
					a.term = append(a.term, s)
				}
			}
		}
	}
	return nil
}

// collectFiles is collect for whole files.
func (c *kindSearch) collectFiles(t *termPostings) error {
	a := c.acc
	if err := c.readTexts(t); err != nil {
		return err
	}
	err := c.each(t, func(seg *segment, d, n uint32, allowed bool, counts counts) {
		t.df++
		text := a.text[d]
		a.text[d] = 0
		if allowed {
			a.term = append(a.term, c.weighFile(seg, d, n, counts, text))
		}
	})
	if err != nil {
		return err
	}
	for _, d := range a.texts { // that have t in their text alone
		if text := a.text[d]; text > 0 {
			t.df++
			a.text[d] = 0
			if a.eligible.has(d) && c.allowed.has(d) {
				a.plain = append(a.plain, plainScore{d, float32(c.scoring.weight[body] * c.weigh(body, uint64(text), c.fileTexts.length[d]))})
			}
		}
	}
	a.texts = a.texts[:0]
	return nil
}

// scoreTerm adds the BM25F score of one term.
func (c *kindSearch) scoreTerm(t *termPostings) error {
	if err := c.collect(t); err != nil {
		return err
	}
	a, w, k := c.acc, float32(t.idf), float32(c.scoring.k1)
	for _, s := range a.plain {
		y, score := a.of(s.doc), w*s.tf/(k+s.tf)
		y.fielded += score
		y.body += score
		y.mask |= 1 << t.term
	}
	for i := range a.term {
		s := &a.term[i]
		a.of(s.doc).add(c.scoring.k1, t, s)
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
	y.share += s.share
}

// scoreSynonym adds the share of the BM25F score of a synonym.
func (c *kindSearch) scoreSynonym(t *termPostings) error {
	if err := c.collect(t); err != nil {
		return err
	}
	a, w, k := c.acc, float32(t.idf*c.shares[t.term]), float32(c.scoring.k1)
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
	err := c.each(t, func(seg *segment, d, n uint32, allowed bool, counts counts) {
		t.df++
		tf := uint64(counts) + uint64(a.text[d])
		a.text[d] = 0
		if allowed {
			a.plain = append(a.plain, plainScore{d, c.weighJoined(seg, d, n, tf)})
		}
	})
	if err != nil {
		return err
	}
	for _, d := range a.texts {
		if n := a.text[d]; n > 0 {
			t.df++
			a.text[d] = 0
			if a.eligible.has(d) && c.allowed.has(d) {
				a.plain = append(a.plain, plainScore{d, c.weighJoined(nil, d, 0, uint64(n))})
			}
		}
	}
	a.texts = a.texts[:0]
	t.idf = idf(c.n, float64(t.df))
	w, k := float32(t.idf), float32(c.scoring.k1)
	for _, s := range a.plain {
		a.of(s.doc).exact += w * s.tf / (k + s.tf)
	}
	return nil
}

// weighJoined returns the weighted frequency of a joined form in document d,
// which is number n of its kind in seg.
func (c *kindSearch) weighJoined(seg *segment, d, n uint32, tf uint64) float32 {
	if c.k == fileKind {
		return float32(c.weigh(exact, tf, c.fileTexts.length[d]))
	}
	return float32(c.weigh(exact, tf, seg.length(c.k, body, n)))
}

// total is the score of a document.
func (c *kindSearch) total(d uint32) float64 {
	t := &c.acc.tallies[d]
	return float64(t.fielded+t.more) + c.scoring.exact*float64(t.exact)
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
	all := c.acc.touched
	if c.acc.eligible != nil {
		all = c.acc.eligibleDocs
	}
	for _, d := range all {
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
			s := c.weighFile(l.leaf.segment, d, p.doc, p.counts, 0)
			c.acc.of(d).add(c.scoring.k1, t, &s)
		}
	}
}

// count sets the Terms of hits, which are the documents of top.
func (c *kindSearch) count(hits []Hit, top []docScore, terms []termPostings) error {
	a, all := c.acc, make([]TermCount, len(hits)*len(terms))
	for i, d := range top {
		hits[i].Terms, hits[i].K1 = all[i*len(terms):(i+1)*len(terms)], c.scoring.k1
		a.text[d.doc] = uint32(i + 1)
		a.texts = append(a.texts, d.doc) // so that it is cleared for the next search
	}
	for n := range terms {
		t := &terms[n]
		for i := range hits {
			hits[i].Terms[n].Worth = t.idf
		}
		err := c.each(t, func(seg *segment, d, doc uint32, _ bool, counts counts) {
			if i := a.text[d]; i > 0 {
				hits[i-1].Terms[n].Count = float64(c.weighAll(seg, doc, counts).tf)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}
