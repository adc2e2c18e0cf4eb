package textindex

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	index "github.com/blevesearch/bleve_index_api"

	"github.com/foldwatch/foldwatch/meta/words"
)

// An analyzer reads documents and counts their terms, for one segment. It is
// used by one goroutine at a time, and again for the next segment.
type analyzer struct {
	order    int // among those of the segment
	expected int // documents that are added until the next reset; 0: unknown
	analysis words.Analysis
	docs     []analyzedDoc
	tables   [len(kinds)]table    // of words
	joined   [len(kinds)][]hashed // joined forms as they came
	spare    [2][]hashed          // see segmentBuilder.joined
}

// An analyzedDoc is one document.
type analyzedDoc struct {
	key     string
	kind    int
	owner   owner
	lengths [exact]uint32
	number  uint32 // among the documents of its kind in the segment, or one of:
}

const (
	absent  = ^uint32(0)     // not in the segment: another of the same key follows
	present = ^uint32(0) - 1 // in the segment, not numbered yet
)

// A document is what Bleve is given: a reference to what was gathered. It
// implements index.Document and has no fields to analyse.
type document struct {
	from *analyzer
	at   int
}

func (d *document) ID() string                                 { return d.from.docs[d.at].key }
func (d *document) Size() int                                  { return int(d.from.docs[d.at].lengths[body]) }
func (d *document) VisitFields(index.FieldVisitor)             {}
func (d *document) VisitComposite(index.CompositeFieldVisitor) {}
func (d *document) HasComposite() bool                         { return false }
func (d *document) NumPlainTextBytes() uint64                  { return 0 }
func (d *document) AddIDField()                                {}
func (d *document) StoredFieldsBytes() uint64                  { return 0 }
func (d *document) Indexed() bool                              { return true }

// reset makes g ready for docs documents.
func (g *analyzer) reset(order, docs int) {
	g.order, g.expected = order, docs
	clear(g.docs)
	g.docs = slices.Grow(g.docs[:0], docs)
	for k := range kinds {
		g.tables[k].reset()
		g.joined[k] = g.joined[k][:0]
	}
}

// add reads one document.
func (g *analyzer) add(d *Doc, kind int) *document {
	at := len(g.docs)
	g.docs = append(g.docs, analyzedDoc{key: d.Key, kind: kind, owner: d.owner(), number: absent})
	lengths := &g.docs[at].lengths
	plain, joined := &g.tables[kind], g.joined[kind]
	prose := d.prose()
	for f, text := range [exact]string{d.Body, d.Symbol, d.Path, d.Title, d.Context, strings.Join(d.Tags, " ; "), strings.Join(d.Keywords, " ; ")} {
		if text == "" && f != body {
			continue
		}
		a := &g.analysis
		a.Least = words.Single
		if f == body && !prose {
			a.Least = words.Pair // see prose
		}
		a.Reset(text)
		lengths[f] = uint32(max(len(a.Terms), 1))
		for _, s := range a.Terms {
			b := a.Bytes(s)
			plain.add(hash(b), b, uint32(at), f)
		}
		for _, s := range a.Joined {
			if len(joined) == cap(joined) {
				joined = slices.Grow(joined, g.room(len(joined), at))
			}
			joined = append(joined, hashed{hash(a.Bytes(s)) & (1<<exactBits - 1), uint32(at)})
		}
	}
	g.joined[kind] = joined
	return &document{g, at}
}

// room returns for how many more a list of n shall be made longer that has to
// grow at document at: for as many as it will have if it goes on like this, so
// that a long one is not copied again and again.
func (g *analyzer) room(n, at int) int {
	if at == 0 || at >= g.expected {
		return max(256, n/4)
	}
	return max(256, n/at*(g.expected-at)*9/8)
}

// A hashed is one joined form of a document.
type hashed struct {
	hash uint64 // of exactBits
	doc  uint32
}

// sortHashed sorts list by hash, and keeps the order of equal ones. It needs
// another list as long and returns the one that has the outcome: forms are many
// and nearly all occur once, so that to count digits costs a fraction of what
// comparing does.
func sortHashed(list, other []hashed) []hashed {
	if len(list) < 1<<8 {
		slices.SortStableFunc(list, func(a, b hashed) int { return cmp.Compare(a.hash, b.hash) })
		return list
	}
	const digits = exactBits / 8
	var starts [digits][256]uint32
	for _, e := range list {
		for d := range digits {
			starts[d][byte(e.hash>>(8*d))]++
		}
	}
	for d := range digits {
		n := uint32(0)
		for i, count := range starts[d] {
			starts[d][i] = n
			n += count
		}
	}
	for d := range digits {
		next := &starts[d]
		for _, e := range list {
			i := byte(e.hash >> (8 * d))
			other[next[i]] = e
			next[i]++
		}
		list, other = other, list
	}
	return list
}

// A table counts terms by document: of the documents that were added, in the
// order they were.
type table struct {
	slots  []uint32 // number of a term + 1, by hash
	terms  []term
	text   []byte // of the terms
	log    []record
	sorted []record // by term; made by sort
}

// A term is one term of a table.
type term struct {
	hash   uint64
	lo, hi uint32 // in table.text
	count  uint32 // records
	doc    uint32 // the last one
	at     uint32 // where its record is
}

// A record is how often a term stands in a document.
type record struct {
	term, doc uint32
	counts    counts
}

func (t *table) reset() {
	if len(t.slots) > 1<<16 && 16*len(t.terms) < len(t.slots) {
		t.slots = nil // left by a first index: a save need not clear a megabyte
	}
	clear(t.slots)
	t.terms, t.text, t.log, t.sorted = t.terms[:0], t.text[:0], t.log[:0], t.sorted[:0]
}

// add counts a term in field f of doc. Documents come in order.
func (t *table) add(h uint64, b []byte, doc uint32, f int) {
	if 2*len(t.terms) >= len(t.slots) {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	at := h & mask
	for ; t.slots[at] != 0; at = (at + 1) & mask {
		n := t.slots[at] - 1
		e := &t.terms[n]
		if e.hash != h || !bytes.Equal(t.text[e.lo:e.hi], b) {
			continue
		}
		if e.doc == doc {
			r := &t.log[e.at]
			r.counts = r.counts.and(f)
			return
		}
		e.doc, e.at = doc, uint32(len(t.log))
		e.count++
		t.log = append(t.log, record{n, doc, counts(0).and(f)})
		return
	}
	n := uint32(len(t.terms))
	lo := uint32(len(t.text))
	t.text = append(t.text, b...)
	t.terms = append(t.terms, term{hash: h, lo: lo, hi: uint32(len(t.text)), count: 1, doc: doc, at: uint32(len(t.log))})
	t.log = append(t.log, record{n, doc, counts(0).and(f)})
	t.slots[at] = n + 1
}

func (t *table) grow() {
	t.slots = make([]uint32, max(1024, 2*len(t.slots)))
	mask := uint64(len(t.slots) - 1)
	for n := range t.terms {
		at := t.terms[n].hash & mask
		for t.slots[at] != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = uint32(n + 1)
	}
}

// sort puts the records into t.sorted by term, and returns where each term's
// begin and, at last, where they end.
func (t *table) sort() []uint32 {
	starts := make([]uint32, len(t.terms)+1)
	for n, e := range t.terms {
		starts[n+1] = starts[n] + e.count
	}
	if cap(t.sorted) < len(t.log) {
		t.sorted = make([]record, len(t.log), cap(t.log))
	}
	t.sorted = t.sorted[:len(t.log)]
	next := make([]uint32, len(t.terms))
	copy(next, starts)
	for _, r := range t.log {
		t.sorted[next[r.term]] = r
		next[r.term]++
	}
	return starts
}
