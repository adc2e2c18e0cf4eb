package textindex

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// An owner is what a document is shown under and filtered by. The chunks of a
// file share one.
type owner struct {
	memory, source, typ, author, language, path string
	tags                                        string // in lower case, each followed by a zero byte
	updated                                     uint64 // see nanos
	dates                                       bool   // see Doc
}

// ownerBytes is the size of a stored owner: 7 numbers of values, one of flags, and
// a time.
const ownerBytes = 8*4 + 8

func (d *Doc) owner() owner {
	var tags strings.Builder
	for _, t := range d.Tags {
		tags.WriteString(strings.ToLower(t))
		tags.WriteByte(0)
	}
	return owner{
		memory: string(d.Memory), source: d.Source, typ: d.Type, author: strings.ToLower(d.Author),
		language: strings.ToLower(d.Language), path: d.Path, tags: tags.String(), updated: nanos(d.Updated), dates: d.Dates,
	}
}

// texts returns the strings of o in the order they are stored.
func (o *owner) texts() [7]*string {
	return [...]*string{&o.memory, &o.source, &o.typ, &o.author, &o.language, &o.path, &o.tags}
}

// Numbers of the strings of a stored owner.
const (
	ownerMemory = iota
	ownerSource
	ownerType
	ownerAuthor
	ownerLanguage
	ownerPath
	ownerTags
)

// ownerTable numbers owners and their strings while a segment is made. It finds
// both by hash and compares with what was written, since maps of them took more
// than the segment.
type ownerTable struct {
	numbers map[uint64]uint32 // of records, by hash
	strings map[uint64]uint32 // of values, by hash
	records []byte
	values  []byte
	ends    []uint32
	last    owner // most documents follow one of the same file
	lastNum uint32
}

func newOwnerTable() *ownerTable {
	return &ownerTable{numbers: map[uint64]uint32{}, strings: map[uint64]uint32{}, ends: []uint32{0}}
}

// number returns the number of o.
func (t *ownerTable) number(o *owner) uint32 {
	if *o == t.last && len(t.records) > 0 {
		return t.lastNum
	}
	var texts [7][]byte
	for i, s := range o.texts() {
		texts[i] = []byte(*s)
	}
	t.last, t.lastNum = *o, t.record(&texts, o.updated, o.dates)
	return t.lastNum
}

// record returns the number of the owner with these strings, and so on.
func (t *ownerTable) record(texts *[7][]byte, updated uint64, dates bool) uint32 {
	var buf [ownerBytes]byte
	r := buf[:0]
	for _, s := range texts {
		r = binary.LittleEndian.AppendUint32(r, t.value(s))
	}
	flags := uint32(0)
	if dates {
		flags = 1
	}
	r = binary.LittleEndian.AppendUint32(r, flags)
	r = binary.LittleEndian.AppendUint64(r, updated)
	for h := hash(r); ; h++ {
		n, ok := t.numbers[h]
		if !ok {
			n = uint32(len(t.records) / ownerBytes)
			t.numbers[h] = n
			t.records = append(t.records, r...)
			return n
		}
		if bytes.Equal(t.records[ownerBytes*int(n):][:ownerBytes], r) {
			return n
		}
	}
}

func (t *ownerTable) value(s []byte) uint32 {
	for h := hash(s); ; h++ {
		n, ok := t.strings[h]
		if !ok {
			n = uint32(len(t.ends) - 1)
			t.strings[h] = n
			t.values = append(t.values, s...)
			t.ends = append(t.ends, uint32(len(t.values)))
			return n
		}
		if bytes.Equal(t.values[t.ends[n]:t.ends[n+1]], s) {
			return n
		}
	}
}

func (t *ownerTable) write(w *writer, l *layout) {
	l.records, l.owned = w.offset(), uint64(len(t.records)/ownerBytes)
	w.write(t.records)
	l.values, l.valLen = w.offset(), uint64(len(t.values))
	w.write(t.values)
	l.valueEnds, l.valueCount = w.offset(), uint64(len(t.ends)-1)
	w.numbers(t.ends)
}
