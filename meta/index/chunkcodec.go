package index

// All chunks of a memory are one value of one row: they are written, compared and
// read together, and a row for each cost eight times as much. The value holds their
// number and then, for each, in the order of the file, flags, id, hash, places and
// strings. A string that occurred before in the value is stored as its number.

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// Flags of a chunk.
const (
	chunkHidden  = 1 << iota
	chunkRawID   // the id is 8 bytes: 16 hex digits in half the space
	chunkRawHash // likewise the hash
)

// byPlace is the order in which chunks are stored and returned.
func byPlace(a, b fold.Chunk) int {
	return cmp.Or(cmp.Compare(a.StartByte, b.StartByte), cmp.Compare(a.EndByte, b.EndByte), strings.Compare(a.ID, b.ID))
}

// encodeChunks returns the value of chunks, which are in order and all of one
// memory; their MemoryID is not in it.
func encodeChunks(b []byte, chunks []fold.Chunk) []byte {
	b = binary.AppendUvarint(b, uint64(len(chunks)))
	known := make(map[string]uint64, 8)
	str := func(s string) {
		n, ok := known[s]
		b = binary.AppendUvarint(b, n)
		if !ok {
			known[s] = uint64(len(known) + 1)
			b = binary.AppendUvarint(b, uint64(len(s)))
			b = append(b, s...)
		}
	}
	name := func(s string, raw bool) {
		if !raw {
			str(s)
			return
		}
		b, _ = hex.AppendDecode(b, []byte(s)) // isHex16 says that it is hex
	}
	end, line := 0, 0
	for i := range chunks {
		c := &chunks[i]
		var flags byte
		if c.Hidden {
			flags |= chunkHidden
		}
		if isHex16(c.ID) {
			flags |= chunkRawID
		}
		if isHex16(c.Hash) {
			flags |= chunkRawHash
		}
		b = append(b, flags)
		name(c.ID, flags&chunkRawID != 0)
		name(c.Hash, flags&chunkRawHash != 0)
		for _, n := range [...]int{c.StartByte - end, c.EndByte - c.StartByte, c.StartLine - line, c.EndLine - c.StartLine} {
			b = binary.AppendVarint(b, int64(n))
		}
		end, line = c.EndByte, c.EndLine
		str(c.NodeType)
		str(c.NodeName)
		str(c.Parent)
		str(c.Language)
		str(c.Doc)
	}
	return b
}

// decodeChunks reads what encodeChunks wrote. It returns sqlite.ErrDamaged if it did
// not.
func decodeChunks(memory fold.ID, value []byte) ([]fold.Chunk, error) {
	return decodeSome(memory, string(value), nil, nil)
}

// decodeSome is decodeChunks of those chunks alone whose ids are wanted; nil wants
// all. A search shows three of a file's hundred. The strings are parts of value. It
// works in room, which nil makes anew.
func decodeSome(memory fold.ID, value string, want map[string]bool, room *[]string) ([]fold.Chunk, error) {
	d := chunkDecoder{s: value}
	if room != nil {
		d.known = (*room)[:0]
		defer func() { *room = d.known }()
	}
	n := d.uint()
	if n > uint64(len(d.s)) {
		return nil, fmt.Errorf("chunks of memory %s: %w", memory, sqlite.ErrDamaged)
	}
	most := int(n)
	if want != nil {
		most = min(most, len(want))
	}
	chunks := make([]fold.Chunk, 0, most)
	end, line := 0, 0
	for range n {
		flags := d.byte()
		id, hash := d.name(flags&chunkRawID != 0), d.name(flags&chunkRawHash != 0)
		c := fold.Chunk{MemoryID: memory, Hidden: flags&chunkHidden != 0}
		c.StartByte = end + d.int()
		c.EndByte = c.StartByte + d.int()
		c.StartLine = line + d.int()
		c.EndLine = c.StartLine + d.int()
		end, line = c.EndByte, c.EndLine
		c.NodeType, c.NodeName, c.Parent, c.Language, c.Doc = d.str(), d.str(), d.str(), d.str(), d.str()
		if d.bad {
			break
		}
		if want == nil || id.in(want) {
			c.ID, c.Hash = id.text(), hash.text()
			chunks = append(chunks, c)
		}
	}
	if d.bad || len(d.s) > 0 {
		return nil, fmt.Errorf("chunks of memory %s: %w", memory, sqlite.ErrDamaged)
	}
	return chunks, nil
}

// A chunkDecoder reads until something is wrong, and then returns zeros.
type chunkDecoder struct {
	s     string
	known []string
	bad   bool
}

func (d *chunkDecoder) fail() { d.bad, d.s = true, "" }

func (d *chunkDecoder) uint() uint64 {
	var v uint64
	for i := 0; i < len(d.s) && i < binary.MaxVarintLen64; i++ {
		v |= uint64(d.s[i]&0x7f) << (7 * i)
		if d.s[i] < 0x80 {
			d.s = d.s[i+1:]
			return v
		}
	}
	d.fail()
	return 0
}

func (d *chunkDecoder) int() int {
	v := d.uint()
	return int(v>>1) ^ -int(v&1)
}

func (d *chunkDecoder) byte() byte {
	if d.s == "" {
		d.fail()
		return 0
	}
	c := d.s[0]
	d.s = d.s[1:]
	return c
}

func (d *chunkDecoder) str() string {
	n := d.uint()
	switch {
	case n > uint64(len(d.known)):
		d.fail()
		return ""
	case n > 0:
		return d.known[n-1]
	}
	n = d.uint()
	if n > uint64(len(d.s)) {
		d.fail()
		return ""
	}
	s := d.s[:n]
	d.s = d.s[n:]
	d.known = append(d.known, s)
	return s
}

// A chunkName is an id or a hash as it is stored: as text, or as 8 bytes.
type chunkName struct {
	s   string
	raw bool
}

func (d *chunkDecoder) name(raw bool) chunkName {
	if !raw {
		return chunkName{d.str(), false}
	}
	if len(d.s) < 8 {
		d.fail()
		return chunkName{}
	}
	s := d.s[:8]
	d.s = d.s[8:]
	return chunkName{s, true}
}

// digits are those of a raw name.
func (n chunkName) digits() (digits [16]byte) {
	hex.AppendEncode(digits[:0], []byte(n.s))
	return digits
}

func (n chunkName) text() string {
	if !n.raw {
		return n.s
	}
	digits := n.digits()
	return string(digits[:])
}

func (n chunkName) in(set map[string]bool) bool {
	if !n.raw {
		return set[n.s]
	}
	digits := n.digits()
	return set[string(digits[:])]
}

func isHex16(s string) bool {
	if len(s) != 16 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
