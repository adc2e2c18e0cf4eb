package textindex

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sort"
)

// A dictionary holds the terms of one kind of document in order, each with its
// postings behind it, so that a merge reads and writes nothing but streams. An
// entry is:
//
//	bytes shared with the term before it, bytes of its own, those bytes,
//	number of documents; if more than one: the last of them, size of postings,
//	postings
//
// The first entry of a block shares nothing; blocks are found by their offsets.
type dictionary struct {
	stream []byte
	blocks []byte // offsets into stream, 4 bytes each
}

const (
	blockTerms = 16   // most entries of a block
	blockBytes = 2048 // a block ends after the entry that passes this
)

// A list is the postings of one term.
type list struct {
	count int
	last  uint32 // document
	data  []byte
}

func (l list) walk() postings { return postings{rest: l.data, left: l.count} }

// find returns the postings of term.
func (d dictionary) find(term []byte) (list, bool) {
	n := len(d.blocks) / 4
	block := sort.Search(n, func(i int) bool {
		at := d.stream[binary.LittleEndian.Uint32(d.blocks[4*i:]):]
		return bytes.Compare(at[2:2+int(at[1])], term) > 0
	}) - 1
	if block < 0 {
		return list{}, false
	}
	end := len(d.stream)
	if block+1 < n {
		end = int(binary.LittleEndian.Uint32(d.blocks[4*block+4:]))
	}
	var buf [maxKey]byte
	c := cursor{rest: d.stream[binary.LittleEndian.Uint32(d.blocks[4*block:]):end], term: buf[:0]}
	for c.next() {
		switch bytes.Compare(c.term, term) {
		case 0:
			return c.list, true
		case 1:
			return list{}, false
		}
	}
	return list{}, false
}

// maxKey is more than the longest term of a dictionary has bytes.
const maxKey = 256

// A cursor walks over the entries of a dictionary.
type cursor struct {
	rest []byte
	term []byte // valid until the next next
	list list
}

// next moves on and reports whether there was one more.
func (c *cursor) next() bool {
	if len(c.rest) == 0 {
		return false
	}
	shared, own := int(c.rest[0]), int(c.rest[1])
	c.term = append(c.term[:shared], c.rest[2:2+own]...)
	count, b := uvarint(c.rest[2+own:])
	if c.list.count = int(count); count == 1 {
		p := postings{rest: b, left: 1}
		p.next()
		c.list.last, c.list.data, c.rest = p.doc, b[:len(b)-len(p.rest)], p.rest
		return true
	}
	last, b := uvarint(b)
	size, b := uvarint(b)
	c.list.last, c.list.data, c.rest = uint32(last), b[:size], b[size:]
	return true
}

// A dictionaryWriter writes a dictionary, term by term in order.
type dictionaryWriter struct {
	w       *writer
	start   uint64
	term    []byte // the last one
	blocks  []uint32
	inBlock int
	block   uint64 // where it starts
}

func newDictionaryWriter(w *writer) *dictionaryWriter {
	return &dictionaryWriter{w: w, start: w.offset(), inBlock: blockTerms}
}

func (d *dictionaryWriter) add(term []byte, l list) {
	w, shared := d.w, 0
	if at := w.offset(); d.inBlock == blockTerms || at-d.block > blockBytes {
		d.blocks = append(d.blocks, uint32(at-d.start))
		d.block, d.inBlock = at, 0
	} else {
		most := min(len(term), len(d.term))
		for shared < most && term[shared] == d.term[shared] {
			shared++
		}
	}
	d.inBlock++
	d.term = append(d.term[:shared], term[shared:]...)
	w.buf = append(w.buf, byte(shared), byte(len(term)-shared))
	w.buf = append(w.buf, term[shared:]...)
	w.buf = binary.AppendUvarint(w.buf, uint64(l.count))
	if l.count > 1 {
		w.buf = binary.AppendUvarint(w.buf, uint64(l.last))
		w.buf = binary.AppendUvarint(w.buf, uint64(len(l.data)))
	}
	w.write(l.data)
}

// expect makes room for about n terms of a few bytes.
func (d *dictionaryWriter) expect(n int) {
	d.blocks = slices.Grow(d.blocks, n/blockTerms+1)
	if d.w.file == nil {
		d.w.buf = slices.Grow(d.w.buf, 10*n)
	}
}

// close ends the dictionary and returns where it lies.
func (d *dictionaryWriter) close() dictionarySpan {
	s := dictionarySpan{stream: d.start, streamLen: d.w.offset() - d.start, count: uint64(len(d.blocks))}
	if s.streamLen > 1<<32-1 {
		d.w.fail(errTooLarge)
	}
	s.blocks = d.w.offset()
	d.w.numbers(d.blocks)
	return s
}
