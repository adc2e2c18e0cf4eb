package textindex

import (
	"encoding/binary"
	"encoding/hex"
)

// columns are what a segment holds of every document beside its terms, while
// the segment is made. Documents are added by kind.
type columns struct {
	docs    [len(kinds)]uint64
	keys    []byte // packed
	ends    []uint32
	owners  []uint32
	lengths [len(kinds)][exact][]uint32 // of each field in terms; empty if all are 0
}

// newColumns makes room for docs documents.
func newColumns(docs int) *columns {
	return &columns{keys: make([]byte, 0, 12*docs), ends: append(make([]uint32, 0, docs+1), 0), owners: make([]uint32, 0, docs)}
}

// add adds a document and returns its number among those of its kind.
func (c *columns) add(kind int, key []byte, owner uint32, lengths *[exact]uint32) uint32 {
	n := c.docs[kind]
	c.docs[kind]++
	c.keys = append(c.keys, key...)
	c.ends = append(c.ends, uint32(len(c.keys)))
	c.owners = append(c.owners, owner)
	for f, length := range lengths {
		col := c.lengths[kind][f]
		if length > 0 {
			for uint64(len(col)) < n {
				col = append(col, 0)
			}
			c.lengths[kind][f] = append(col, length)
		}
	}
	return uint32(n)
}

func (c *columns) write(w *writer, l *layout) {
	l.docs = c.docs
	l.keys, l.keysLen = w.offset(), uint64(len(c.keys))
	w.write(c.keys)
	l.keyEnds = w.offset()
	w.numbers(c.ends)
	slots := 2
	for slots < len(c.owners)*3/2+1 {
		slots *= 2
	}
	table := make([]uint32, 2*slots)
	var key []byte
	for n := range c.owners {
		key = unpackKey(key[:0], c.keys[c.ends[n]:c.ends[n+1]])
		h := hash(key)
		at := int(h) & (slots - 1)
		for table[2*at+1] != 0 {
			at = (at + 1) & (slots - 1)
		}
		table[2*at], table[2*at+1] = uint32(h>>32), uint32(n+1)
	}
	l.table, l.slots = w.offset(), uint64(slots)
	w.numbers(table)
	l.owners = w.offset()
	w.numbers(c.owners)
	for k := range c.lengths {
		for f, col := range c.lengths[k] {
			l.lengths[k][f] = writeLengths(w, col, int(c.docs[k]))
		}
	}
}

// writeLengths writes n lengths, as narrow as the longest allows.
func writeLengths(w *writer, col []uint32, n int) columnSpan {
	if len(col) == 0 {
		return columnSpan{}
	}
	s, most := columnSpan{at: w.offset(), width: 1}, uint32(0)
	for _, v := range col {
		most = max(most, v)
	}
	for s.width < 4 && most>>(8*s.width) != 0 {
		s.width *= 2
	}
	var b [4]byte
	for i := range n {
		v := uint32(0)
		if i < len(col) {
			v = col[i]
		}
		binary.LittleEndian.PutUint32(b[:], v)
		w.write(b[:s.width])
	}
	return s
}

// Keys are mostly a letter, a colon and an id in hex, which is halved.
const (
	plainKey = 0
	hexKey   = 1
	hexFrom  = 2 // where the hex digits begin
)

// packKey appends key as segments hold it.
func packKey(b []byte, key string) []byte {
	if len(key) > hexFrom && len(key)%2 == 0 && isLowerHex(key[hexFrom:]) {
		b, _ = hex.AppendDecode(append(append(b, hexKey), key[:hexFrom]...), []byte(key[hexFrom:]))
		return b
	}
	return append(append(b, plainKey), key...)
}

// unpackKey appends the key that was packed into p.
func unpackKey(b, p []byte) []byte {
	if p[0] == hexKey {
		return hex.AppendEncode(append(b, p[1:1+hexFrom]...), p[1+hexFrom:])
	}
	return append(b, p[1:]...)
}

func isLowerHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
