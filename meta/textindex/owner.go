package textindex

import (
	"encoding/binary"
	"strings"
)

// An owner is what a document is shown under and filtered by. The chunks of a
// file share one.
type owner struct {
	memory, source, typ, author, language, path string
	tags                                        string // in lower case, each followed by a zero byte
	updated                                     uint64 // see nanos
}

// ownerBytes is the size of a stored owner: 7 numbers of values, and a time.
const ownerBytes = 7*4 + 8

func (d *Doc) owner() owner {
	var tags strings.Builder
	for _, t := range d.Tags {
		tags.WriteString(strings.ToLower(t))
		tags.WriteByte(0)
	}
	return owner{
		memory: string(d.Memory), source: d.Source, typ: d.Type, author: strings.ToLower(d.Author),
		language: strings.ToLower(d.Language), path: d.Path, tags: tags.String(), updated: nanos(d.Updated),
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

// ownerTable numbers owners and their strings while a segment is made.
type ownerTable struct {
	numbers map[owner]uint32
	last    owner // most documents follow one of the same file
	lastNum uint32
	records []byte
	strings map[string]uint32
	values  []byte
	ends    []uint32
}

func newOwnerTable() *ownerTable {
	return &ownerTable{numbers: map[owner]uint32{}, strings: map[string]uint32{}, ends: []uint32{0}}
}

func (t *ownerTable) number(o owner) uint32 {
	if o == t.last && len(t.records) > 0 {
		return t.lastNum
	}
	n, ok := t.numbers[o]
	if !ok {
		n = uint32(len(t.numbers))
		t.numbers[o] = n
		for _, s := range o.texts() {
			t.records = binary.LittleEndian.AppendUint32(t.records, t.value(*s))
		}
		t.records = binary.LittleEndian.AppendUint64(t.records, o.updated)
	}
	t.last, t.lastNum = o, n
	return n
}

func (t *ownerTable) value(s string) uint32 {
	n, ok := t.strings[s]
	if !ok {
		n = uint32(len(t.strings))
		t.strings[s] = n
		t.values = append(t.values, s...)
		t.ends = append(t.ends, uint32(len(t.values)))
	}
	return n
}

func (t *ownerTable) write(w *writer, l *layout) {
	l.records, l.owned = w.offset(), uint64(len(t.numbers))
	w.write(t.records)
	l.values, l.valLen = w.offset(), uint64(len(t.values))
	w.write(t.values)
	l.valueEnds, l.valueCount = w.offset(), uint64(len(t.ends)-1)
	w.numbers(t.ends)
}
