package textindex

import (
	"encoding/binary"
	"errors"
)

// A layout says where the parts of a segment lie. It stands at the end of its
// bytes, before their sum. All offsets are from the start.
type layout struct {
	docs [len(kinds)]uint64 // documents of each kind; they are numbered in this order

	keys, keysLen  uint64 // packed keys, one after the other
	keyEnds        uint64 // docs+1 × 4 bytes: where each begins in keys, and the end
	table, slots   uint64 // of keys: slots × (4 bytes of hash, 4 of number+1)
	owners         uint64 // docs × 4 bytes: number of the owner
	records, owned uint64 // owned × ownerBytes
	values, valLen uint64 // strings, one after the other
	valueEnds      uint64 // valueCount+1 × 4 bytes
	valueCount     uint64

	lengths      [len(kinds)][exact]columnSpan
	dictionaries [len(kinds)][channels]dictionarySpan
}

// Channels of terms.
const (
	channelWords = iota // terms of the searched fields
	channelExact        // hashes of joined forms
	channels
)

type columnSpan struct{ at, width uint64 } // width 0: all are 0

type dictionarySpan struct{ stream, streamLen, blocks, count uint64 }

// each calls fn with every number of the layout, in the order they are stored.
func (l *layout) each(fn func(*uint64)) {
	for k := range l.docs {
		fn(&l.docs[k])
	}
	for _, p := range []*uint64{
		&l.keys, &l.keysLen, &l.keyEnds, &l.table, &l.slots, &l.owners,
		&l.records, &l.owned, &l.values, &l.valLen, &l.valueEnds, &l.valueCount,
	} {
		fn(p)
	}
	for k := range l.lengths {
		for f := range l.lengths[k] {
			fn(&l.lengths[k][f].at)
			fn(&l.lengths[k][f].width)
		}
	}
	for k := range l.dictionaries {
		for c := range l.dictionaries[k] {
			d := &l.dictionaries[k][c]
			fn(&d.stream)
			fn(&d.streamLen)
			fn(&d.blocks)
			fn(&d.count)
		}
	}
}

const (
	layoutMagic = "foldwords1"
	sumBytes    = 4
)

func (l *layout) append(b []byte) []byte {
	start := len(b)
	l.each(func(p *uint64) { b = binary.LittleEndian.AppendUint64(b, *p) })
	b = binary.LittleEndian.AppendUint32(b, uint32(len(b)-start))
	return append(b, layoutMagic...)
}

var errLayout = errors.New("not a segment of the text index, or damaged")

// parseLayout returns the layout of data. What it says lies within data.
func parseLayout(data []byte) (l layout, err error) {
	const tail = 4 + len(layoutMagic) + sumBytes
	n := len(data) - tail
	if n < 0 || string(data[n+4:len(data)-sumBytes]) != layoutMagic {
		return l, errLayout
	}
	size := 0
	l.each(func(*uint64) { size += 8 })
	if int(binary.LittleEndian.Uint32(data[n:])) != size || n < size {
		return l, errLayout
	}
	b := data[n-size : n]
	l.each(func(p *uint64) {
		*p = binary.LittleEndian.Uint64(b)
		b = b[8:]
	})
	if !l.within(uint64(n - size)) {
		return l, errLayout
	}
	return l, nil
}

// within reports whether all parts lie in the first n bytes.
func (l *layout) within(n uint64) bool {
	ok := true
	span := func(at, count, width uint64) {
		ok = ok && count <= n && at <= n && count*width <= n-at
	}
	docs := uint64(0)
	for _, d := range l.docs {
		ok = ok && d <= n
		docs += d
	}
	span(l.keys, l.keysLen, 1)
	span(l.keyEnds, docs+1, 4)
	span(l.table, l.slots, 8)
	span(l.owners, docs, 4)
	span(l.records, l.owned, ownerBytes)
	span(l.values, l.valLen, 1)
	span(l.valueEnds, l.valueCount+1, 4)
	ok = ok && l.slots&(l.slots-1) == 0 && l.slots > docs
	for k := range l.lengths {
		for _, c := range l.lengths[k] {
			ok = ok && (c.width == 0 || c.width == 1 || c.width == 2 || c.width == 4)
			span(c.at, l.docs[k], c.width)
		}
	}
	for k := range l.dictionaries {
		for _, d := range l.dictionaries[k] {
			span(d.stream, d.streamLen, 1)
			span(d.blocks, d.count, 4)
		}
	}
	return ok
}
