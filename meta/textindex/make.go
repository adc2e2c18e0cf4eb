package textindex

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	index "github.com/blevesearch/bleve_index_api"
)

// makeSegment returns a segment of what was gathered of docs. Documents are
// numbered by kind, then in the order they were put, so that the chunks of one
// file are neighbours.
func makeSegment(docs []index.Document) (*segment, error) {
	var from []*gatherer
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
	slices.SortFunc(from, func(a, b *gatherer) int { return cmp.Compare(a.order, b.order) })

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
	m := maker{w: w, from: from}
	for k := range kinds {
		for c := range channels {
			l.dictionaries[k][c] = m.dictionary(k, c)
		}
	}
	if w.close(&l); w.err != nil {
		return nil, w.err
	}
	return newSegment(slices.Clip(w.buf))
}

// A maker writes the dictionaries of a segment.
type maker struct {
	w    *writer
	from []*gatherer
	refs []termRef
	data []byte
	key  []byte
}

// A termRef is a term of one gatherer. Its first eight bytes order most terms.
type termRef struct {
	prefix uint64
	term   uint32
	from   uint32 // index into maker.from
}

func (m *maker) text(t *table, ref termRef) []byte {
	e := &t.terms[ref.term]
	return t.text[e.lo:e.hi]
}

// dictionary writes the terms of one kind and channel, in order.
func (m *maker) dictionary(kind, channel int) dictionarySpan {
	m.refs = m.refs[:0]
	tables := make([]*table, len(m.from))
	starts := make([][]uint32, len(m.from))
	for i, g := range m.from {
		t := &g.tables[kind][channel]
		tables[i], starts[i] = t, t.sort()
		for n, e := range t.terms {
			prefix := e.hash << (64 - exactBits)
			if channel == channelWords {
				prefix = firstBytes(t.text[e.lo:e.hi])
			}
			m.refs = append(m.refs, termRef{prefix, uint32(n), uint32(i)})
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
			m.append(&l, m.from[ref.from], tables[ref.from].sorted[s[ref.term]:s[ref.term+1]])
		}
		if l.count == 0 {
			continue // only in documents that were put again
		}
		l.data = m.data
		m.key = m.key[:0]
		if channel == channelExact {
			m.key = exactKey(m.key, tables[first.from].terms[first.term].hash)
		} else {
			m.key = append(m.key, m.text(tables[first.from], first)...)
		}
		d.add(m.key, l)
	}
	return d.close()
}

// append appends the postings of records to m.data and counts them in l.
func (m *maker) append(l *list, g *gatherer, records []record) {
	for _, r := range records {
		doc := g.docs[r.doc].number
		if doc == absent {
			continue
		}
		m.data = appendPosting(m.data, doc-l.last, r.counts)
		l.last = doc
		l.count++
	}
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
