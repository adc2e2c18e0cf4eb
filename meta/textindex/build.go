package textindex

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	index "github.com/blevesearch/bleve_index_api"
)

// buildSegment returns a segment of what was analyzed of docs. Documents are
// numbered by kind, then in the order they were put, so that the chunks of one
// file are neighbours.
func buildSegment(docs []index.Document) (*segment, error) {
	var from []*analyzer
	for _, d := range docs {
		doc, ok := d.(*document)
		if !ok {
			return nil, fmt.Errorf("document of type %T", d)
		}
		doc.from.docs[doc.at].number = present
		if !slices.Contains(from, doc.from) {
			from = append(from, doc.from)
		}
	}
	slices.SortFunc(from, func(a, b *analyzer) int { return cmp.Compare(a.order, b.order) })

	cols, owners := newColumns(len(docs)), newOwnerTable()
	var packed []byte
	for k := range kinds {
		for _, g := range from {
			for i := range g.docs {
				if d := &g.docs[i]; d.kind == k && d.number == present {
					packed = packKey(packed[:0], d.key)
					d.number = cols.add(k, packed, owners.number(&d.owner), &d.lengths)
				}
			}
		}
	}
	var l layout
	w := &writer{buf: make([]byte, 0, 400*len(docs))}
	cols.write(w, &l)
	owners.write(w, &l)
	m := segmentBuilder{w: w, from: from}
	for _, g := range from {
		numbers := make([]uint32, len(g.docs))
		for i := range g.docs {
			numbers[i] = g.docs[i].number
		}
		m.numbers = append(m.numbers, numbers)
	}
	for k := range kinds {
		l.dictionaries[k][channelWords] = m.words(k)
		l.dictionaries[k][channelExact] = m.joined(k)
	}
	if w.close(&l); w.err != nil {
		return nil, w.err
	}
	return newSegment(slices.Clip(w.buf))
}

// A segmentBuilder writes the dictionaries of a segment.
type segmentBuilder struct {
	w       *writer
	from    []*analyzer
	numbers [][]uint32 // of the documents of each of from
	refs    []termRef
	data    []byte
}

// A termRef is a term of one analyzer. Its first eight bytes order most terms.
type termRef struct {
	prefix uint64
	term   uint32
	from   uint32 // index into segmentBuilder.from
}

func (m *segmentBuilder) text(t *table, ref termRef) []byte {
	e := &t.terms[ref.term]
	return t.text[e.lo:e.hi]
}

// words writes the words of one kind, in order.
func (m *segmentBuilder) words(kind int) dictionarySpan {
	m.refs = m.refs[:0]
	tables := make([]*table, len(m.from))
	starts := make([][]uint32, len(m.from))
	for i, g := range m.from {
		t := &g.tables[kind]
		tables[i], starts[i] = t, t.sort()
		m.refs = slices.Grow(m.refs, len(t.terms))
		for n, e := range t.terms {
			m.refs = append(m.refs, termRef{firstBytes(t.text[e.lo:e.hi]), uint32(n), uint32(i)})
		}
	}
	compare := func(a, b termRef) int {
		// A term that ends within the prefix is equal to another of that prefix.
		if a.prefix != b.prefix || a.prefix&0xFF == 0 {
			return cmp.Compare(a.prefix, b.prefix)
		}
		return bytes.Compare(m.text(tables[a.from], a), m.text(tables[b.from], b))
	}
	slices.SortFunc(m.refs, func(a, b termRef) int {
		if o := compare(a, b); o != 0 {
			return o
		}
		return cmp.Compare(a.from, b.from)
	})
	d := newDictionaryWriter(m.w)
	for i := 0; i < len(m.refs); {
		first := m.refs[i]
		var l list
		m.data = m.data[:0]
		for ; i < len(m.refs) && compare(first, m.refs[i]) == 0; i++ {
			ref := m.refs[i]
			s := starts[ref.from]
			m.append(&l, m.numbers[ref.from], tables[ref.from].sorted[s[ref.term]:s[ref.term+1]])
		}
		if l.count == 0 {
			continue // only in documents that were put again
		}
		l.data = m.data
		d.add(m.text(tables[first.from], first), l)
	}
	return d.close()
}

// append appends the postings of records to m.data and counts them in l.
func (m *segmentBuilder) append(l *list, numbers []uint32, records []record) {
	for _, r := range records {
		if doc := numbers[r.doc]; doc != absent {
			m.posting(l, doc, r.counts)
		}
	}
}

func (m *segmentBuilder) posting(l *list, doc uint32, c counts) {
	m.data = appendPosting(m.data, doc-l.last, c)
	l.last = doc
	l.count++
}

// joined writes the joined forms of one kind, in the order of their hashes.
func (m *segmentBuilder) joined(kind int) dictionarySpan {
	total := 0
	for _, g := range m.from {
		total += len(g.joined[kind])
	}
	d := newDictionaryWriter(m.w)
	if total == 0 {
		return d.close()
	}
	spare := &m.from[0].spare
	for i := range spare {
		spare[i] = slices.Grow(spare[i][:0], total)
	}
	all := spare[0]
	for i, g := range m.from {
		for _, e := range g.joined[kind] {
			if doc := m.numbers[i][e.doc]; doc != absent {
				all = append(all, hashed{e.hash, doc})
			}
		}
	}
	all = sortHashed(all, spare[1][:len(all)])
	d.expect(len(all))
	var key [exactBits / 8]byte
	for i := 0; i < len(all); {
		h := all[i].hash
		var l list
		m.data = m.data[:0]
		for i < len(all) && all[i].hash == h {
			doc, c := all[i].doc, counts(0)
			for ; i < len(all) && all[i].hash == h && all[i].doc == doc; i++ {
				c = c.and(body)
			}
			m.posting(&l, doc, c)
		}
		l.data = m.data
		d.add(exactKey(key[:0], h), l)
	}
	return d.close()
}

// firstBytes returns the first eight bytes of b as a number that orders as they
// do.
func firstBytes(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	var v uint64
	for i, c := range b {
		v |= uint64(c) << (56 - 8*i)
	}
	return v
}
