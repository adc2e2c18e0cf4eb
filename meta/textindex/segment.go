package textindex

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"
	mmap "github.com/blevesearch/mmap-go"
	scorch "github.com/blevesearch/scorch_segment_api/v2"
)

// A segment is an immutable part of the index: documents by number, their
// terms, and by what they are filtered. Its bytes are the same in memory and on
// disk. To Bleve it is a [scorch.Segment] that can be deleted from, merged and
// kept; its terms are read by [Index.Search] alone.
type segment struct {
	layout

	id    uint64 // no other of this process has it; not 0
	data  []byte
	first [len(kinds) + 1]uint32 // number of the first document of each kind; the last is their count
	dicts [len(kinds)][channels]dictionary

	refs   atomic.Int64
	mapped mmap.MMap
	file   *os.File
}

// A memorySegment is not on disk yet.
type memorySegment struct{ *segment }

// A fileSegment is a mapped file.
type fileSegment struct {
	*segment

	path string
}

var (
	_ scorch.UnpersistedSegment = memorySegment{}
	_ scorch.PersistedSegment   = fileSegment{}

	// errOwnTerms is what Bleve's own queries get, which nothing here asks.
	errOwnTerms = errors.New("the terms of this segment are read by textindex only")
)

// ownSegment returns the segment that Bleve hands back.
func ownSegment(s scorch.Segment) (*segment, error) {
	switch s := s.(type) {
	case memorySegment:
		return s.segment, nil
	case fileSegment:
		return s.segment, nil
	}
	return nil, fmt.Errorf("segment of type %T", s)
}

// segments is how many were made or opened.
var segments atomic.Uint64

func newSegment(data []byte) (*segment, error) {
	l, err := parseLayout(data)
	if err != nil {
		return nil, err
	}
	s := &segment{layout: l, id: segments.Add(1), data: data}
	s.refs.Store(1)
	for k := range kinds {
		s.first[k+1] = s.first[k] + uint32(l.docs[k])
		for c, d := range l.dictionaries[k] {
			s.dicts[k][c] = dictionary{stream: data[d.stream:][:d.streamLen], blocks: data[d.blocks:][:4*d.count]}
		}
	}
	return s, nil
}

func openSegment(path string) (_ scorch.Segment, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	m, err := mmap.Map(f, mmap.RDONLY, 0)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s, err := newSegment(m)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), m.Unmap(), f.Close())
	}
	s.mapped, s.file = m, f
	return fileSegment{s, path}, nil
}

func (s fileSegment) Path() string { return s.path }

// Persist writes the segment to a new file at path.
func (s memorySegment) Persist(path string) error {
	return writeFile(path, func(f *os.File) error {
		if _, err := f.Write(s.data); err != nil {
			return err
		}
		return f.Sync()
	})
}

func (s *segment) AddRef() { s.refs.Add(1) }

func (s *segment) DecRef() error {
	if s.refs.Add(-1) > 0 || s.mapped == nil {
		return nil
	}
	return errors.Join(s.mapped.Unmap(), s.file.Close())
}

func (s *segment) Close() error { return s.DecRef() }

func (s *segment) Count() uint64 { return uint64(s.first[len(kinds)]) }

// Size returns what the segment takes in memory; mapped bytes are not counted.
func (s *segment) Size() int {
	const fixed = 2048
	if s.mapped != nil {
		return fixed
	}
	return fixed + len(s.data)
}

func (s *segment) DocID(num uint64) ([]byte, error) { return []byte(s.key(uint32(num))), nil }

// DocNumbers returns the documents that have one of keys.
func (s *segment) DocNumbers(keys []string) (*roaring.Bitmap, error) {
	found := roaring.New()
	for _, key := range keys {
		if doc, ok := s.find(key); ok {
			found.Add(doc)
		}
	}
	return found, nil
}

func (s *segment) Fields() []string                                 { return nil }
func (s *segment) Dictionary(string) (scorch.TermDictionary, error) { return nil, errOwnTerms }
func (s *segment) BytesRead() uint64                                { return 0 }
func (s *segment) ResetBytesRead(uint64)                            {}
func (s *segment) BytesWritten() uint64                             { return uint64(len(s.data)) }
func (s *segment) VisitStoredFields(num uint64, visit scorch.StoredFieldValueVisitor) error {
	visit("_id", 't', []byte(s.key(uint32(num))), nil)
	return nil
}

func (s *segment) number(at uint64, i uint32) uint32 {
	return binary.LittleEndian.Uint32(s.data[at+4*uint64(i):])
}

// packed returns the packed key of a document.
func (s *segment) packed(doc uint32) []byte {
	return s.data[s.keys:][s.number(s.keyEnds, doc):s.number(s.keyEnds, doc+1)]
}

func (s *segment) key(doc uint32) string { return string(unpackKey(nil, s.packed(doc))) }

// find returns the document of a key.
func (s *segment) find(key string) (doc uint32, ok bool) {
	h, mask := hash([]byte(key)), s.slots-1
	for at := h & mask; ; at = (at + 1) & mask {
		slot := binary.LittleEndian.Uint64(s.data[s.table+8*at:])
		doc := uint32(slot >> 32)
		if doc == 0 {
			return 0, false
		}
		if uint32(slot) == uint32(h>>32) && s.key(doc-1) == key {
			return doc - 1, true
		}
	}
}

// kindOf returns the kind of a document and its number among those of its kind.
func (s *segment) kindOf(doc uint32) (kind int, n uint32) {
	for kind+1 < len(kinds) && doc >= s.first[kind+1] {
		kind++
	}
	return kind, doc - s.first[kind]
}

// length returns how many terms a field of a document has.
func (s *segment) length(kind, field int, n uint32) uint32 {
	switch c := s.lengths[kind][field]; c.width {
	case 1:
		return uint32(s.data[c.at+uint64(n)])
	case 2:
		return uint32(binary.LittleEndian.Uint16(s.data[c.at+2*uint64(n):]))
	case 4:
		return s.number(c.at, n)
	}
	return 0
}

// ownerOf returns the number of the owner of a document.
func (s *segment) ownerOf(doc uint32) uint32 { return s.number(s.owners, doc) }

// value returns one string of an owner; it lies in the segment.
func (s *segment) value(owner uint32, which int) []byte {
	v := binary.LittleEndian.Uint32(s.data[s.records+ownerBytes*uint64(owner)+4*uint64(which):])
	return s.data[s.values:][s.number(s.valueEnds, v):s.number(s.valueEnds, v+1)]
}

// updated returns the time of an owner, see nanos.
func (s *segment) updated(owner uint32) uint64 {
	return binary.LittleEndian.Uint64(s.data[s.records+ownerBytes*uint64(owner)+8*4:])
}

// dates reports whether the time of an owner is that of its memory; see Doc.
func (s *segment) dates(owner uint32) bool {
	return s.data[s.records+ownerBytes*uint64(owner)+7*4]&1 == 1
}
