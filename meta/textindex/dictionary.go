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

// find returns the postings of term. It compares as far as it must: entries come
// in order, so that how much of term the one before begins with says of most what
// they are without a look at their bytes.
func (d dictionary) find(term []byte) (list, bool) {
	// The first block that begins after term.
	block := sort.Search(len(d.blocks)/4, func(i int) bool {
		at := d.stream[binary.LittleEndian.Uint32(d.blocks[4*i:]):]
		return bytes.Compare(at[2:2+int(at[1])], term) > 0
	})
	if block == 0 {
		return list{}, false
	}
	rest := d.stream[binary.LittleEndian.Uint32(d.blocks[4*block-4:]):]
	if 4*block < len(d.blocks) {
		rest = d.stream[binary.LittleEndian.Uint32(d.blocks[4*block-4:]):binary.LittleEndian.Uint32(d.blocks[4*block:])]
	}
	same := 0 // bytes that term and the entry before begin with
	for len(rest) > 0 {
		shared, own := int(rest[0]), rest[2:2+int(rest[1])]
		if shared < same {
			return list{}, false // after term, as it differs from what is before it where that is still equal
		}
		var l list
		l, rest = readList(rest[2+len(own):])
		if shared > same {
			continue // before term, as the one before it is
		}
		n := 0
		for n < len(own) && same+n < len(term) && own[n] == term[same+n] {
			n++
		}
		same += n
		switch {
		case n == len(own) && same == len(term):
			return l, true
		case n == len(own): // term goes on
		case same == len(term) || own[n] > term[same]:
			return list{}, false
		}
	}
	return list{}, false
}

// readList reads what follows the term of an entry, and returns what is behind it.
func readList(b []byte) (l list, rest []byte) {
	count, b := uvarint(b)
	if l.count = int(count); count == 1 {
		p := postings{rest: b, left: 1}
		p.next()
		l.last, l.data = p.doc, b[:len(b)-len(p.rest)]
		return l, p.rest
	}
	last, b := uvarint(b)
	size, b := uvarint(b)
	l.last, l.data = uint32(last), b[:size]
	return l, b[size:]
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
	c.list, c.rest = readList(c.rest[2+own:])
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
