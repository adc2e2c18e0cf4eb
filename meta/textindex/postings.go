package textindex

import (
	"encoding/binary"
	"math/bits"
)

// counts says how often a term stands in each searched field of one document.
// The body has 16 bits, every other field 8; what is more is cut there.
type counts uint64

const (
	bodyMost  = 1<<16 - 1
	fieldMost = 1<<8 - 1
)

func shift(f int) int {
	if f == body {
		return 0
	}
	return 8 + 8*f
}

func (c counts) of(f int) uint64 {
	if f == body {
		return uint64(c & bodyMost)
	}
	return uint64(c>>shift(f)) & fieldMost
}

// and returns c with one more in field f.
func (c counts) and(f int) counts {
	most := uint64(fieldMost)
	if f == body {
		most = bodyMost
	}
	if c.of(f) == most {
		return c
	}
	return c + 1<<shift(f)
}

// The forms of a posting, in the two low bits of its first number; the others
// are the distance from the document before it. Nine in ten postings of code
// are a word that stands once in the body, or in the path.
const (
	bodyOnce = iota
	bodyOnly // followed by how often
	pathOnce
	anyField // followed by a byte of one bit for each field, and its counts
)

// appendPosting appends the posting of a document that is delta further than
// the one before it; before the first stands 0.
func appendPosting(b []byte, delta uint32, c counts) []byte {
	form := uint64(anyField)
	switch {
	case c == 1:
		form = bodyOnce
	case c <= bodyMost:
		form = bodyOnly
	case c == 1<<(8+8*pathWords):
		form = pathOnce
	}
	b = binary.AppendUvarint(b, uint64(delta)<<2|form)
	switch form {
	case bodyOnce, pathOnce:
		return b
	case bodyOnly:
		return binary.AppendUvarint(b, uint64(c))
	}
	at := len(b)
	b = append(b, 0)
	for f := range exact {
		if n := c.of(f); n > 0 {
			b[at] |= 1 << f
			b = binary.AppendUvarint(b, n)
		}
	}
	return b
}

// postings is a walk over the postings of one term. Its bytes have been
// compared with their sum when the index was opened.
type postings struct {
	rest   []byte
	left   int
	doc    uint32 // number among the documents of its kind in the segment
	counts counts
}

// next moves on and reports whether there was one more.
func (p *postings) next() bool {
	if p.left == 0 {
		return false
	}
	p.left--
	v, b := uvarint(p.rest)
	p.doc += uint32(v >> 2)
	switch v & 3 {
	case bodyOnce:
		p.counts = 1
	case bodyOnly:
		v, b = uvarint(b)
		p.counts = counts(v)
	case pathOnce:
		p.counts = 1 << (8 + 8*pathWords)
	default:
		p.counts = 0
		mask := b[0]
		for b = b[1:]; mask != 0; mask &= mask - 1 {
			v, b = uvarint(b)
			p.counts |= counts(v) << shift(bits.TrailingZeros8(mask))
		}
	}
	p.rest = b
	return true
}

// A postingBatch is some postings that follow each other. Walks over many postings
// take them in batches: numbers stay in registers while they are read, and what is done
// with them is a loop of its own.
type postingBatch struct {
	docs   [64]uint32
	counts [64]counts
}

// fill reads the next postings into r and returns how many there were; 0 is the
// end.
func (p *postings) fill(r *postingBatch) int {
	n := min(p.left, len(r.docs))
	p.left -= n
	rest, doc := p.rest, p.doc
	for i := range n {
		v := uint64(rest[0])
		if v < 0x80 {
			rest = rest[1:]
		} else {
			v, rest = uvarint(rest)
		}
		doc += uint32(v >> 2)
		c := counts(1)
		switch v & 3 {
		case bodyOnce:
		case bodyOnly:
			v, rest = uvarint(rest)
			c = counts(v)
		case pathOnce:
			c = 1 << (8 + 8*pathWords)
		default:
			mask := rest[0]
			c = 0
			for rest = rest[1:]; mask != 0; mask &= mask - 1 {
				v, rest = uvarint(rest)
				c |= counts(v) << shift(bits.TrailingZeros8(mask))
			}
		}
		r.docs[i&63], r.counts[i&63] = doc, c
	}
	p.rest, p.doc = rest, doc
	return n
}

// uvarint returns the number at the start of b and what follows it.
func uvarint(b []byte) (uint64, []byte) {
	if b[0] < 0x80 {
		return uint64(b[0]), b[1:]
	}
	if b[1] < 0x80 {
		return uint64(b[0]&0x7F) | uint64(b[1])<<7, b[2:]
	}
	v, n := binary.Uvarint(b)
	return v, b[n:]
}
