package textindex

import (
	"bytes"
	"os"

	"github.com/RoaringBitmap/roaring/v2"
	api "github.com/blevesearch/scorch_segment_api/v2"
)

// dropped is the new number of a document that is in no merged segment.
const dropped = ^uint64(0)

// mergeSegments writes what is live of segments into one at path. It returns
// the new number of every document, and how many bytes it wrote. It returns
// api.ErrClosed soon after closed is closed.
func mergeSegments(segments []api.Segment, drops []*roaring.Bitmap, path string, closed chan struct{}, stats api.StatsReporter) ([][]uint64, uint64, error) {
	m := &merge{closed: closed}
	for i, s := range segments {
		base, err := ownSegment(s)
		if err != nil {
			return nil, 0, err
		}
		in := &input{segment: base, numbers: make([]uint64, base.Count())}
		if i < len(drops) && drops[i] != nil && !drops[i].IsEmpty() {
			in.drop = drops[i]
		}
		m.inputs = append(m.inputs, in)
	}
	err := writeFile(path, func(f *os.File) error {
		m.w = &writer{file: f, buf: make([]byte, 0, flushAt+4096)}
		return m.run()
	})
	if err != nil {
		return nil, 0, err
	}
	if stats != nil {
		stats.ReportBytesWritten(m.w.flushed)
	}
	numbers := make([][]uint64, len(m.inputs))
	for i, in := range m.inputs {
		numbers[i] = in.numbers
	}
	return numbers, m.w.flushed, nil
}

// A merge is one merge at work.
type merge struct {
	inputs []*input
	w      *writer
	closed chan struct{}
}

// An input is one segment of a merge.
type input struct {
	*segment

	drop    *roaring.Bitmap // nil: none
	numbers []uint64        // in the new segment, by old number
	owned   []uint32        // new numbers of owners + 1, 0 where there is none yet
	base    uint32          // of its documents of the kind at hand, if none is dropped
	cursor  cursor
	prefix  uint64 // first bytes of the cursor's term
}

func (m *merge) run() error {
	var l layout
	docs := 0
	for _, in := range m.inputs {
		docs += len(in.numbers)
	}
	cols, owners := newColumns(docs), newOwnerTable()
	for k := range kinds {
		for _, in := range m.inputs {
			m.columns(in, k, cols, owners)
		}
	}
	// Numbers run through all kinds, and so far they begin anew in each.
	first := uint64(0)
	for k := range kinds {
		for _, in := range m.inputs {
			for doc := in.first[k]; doc < in.first[k+1]; doc++ {
				if in.numbers[doc] != dropped {
					in.numbers[doc] += first
				}
			}
		}
		first += cols.docs[k]
	}
	cols.write(m.w, &l)
	owners.write(m.w, &l)
	first = 0
	for k := range kinds {
		for c := range channels {
			span, err := m.dictionary(k, c, uint32(first))
			if err != nil {
				return err
			}
			l.dictionaries[k][c] = span
		}
		first += cols.docs[k]
	}
	m.w.close(&l)
	return m.w.err
}

// columns adds the live documents of one kind, and numbers them.
func (m *merge) columns(in *input, kind int, cols *columns, owners *ownerTable) {
	var lengths [exact]uint32
	if in.owned == nil {
		in.owned = make([]uint32, in.segment.owned)
	}
	for doc := in.first[kind]; doc < in.first[kind+1]; doc++ {
		if in.drop != nil && in.drop.Contains(doc) {
			in.numbers[doc] = dropped
			continue
		}
		old := in.ownerOf(doc)
		if in.owned[old] == 0 {
			var texts [7][]byte
			for i := range texts {
				texts[i] = in.value(old, i)
			}
			in.owned[old] = owners.record(&texts, in.updated(old), in.dates(old)) + 1
		}
		for f := range lengths {
			lengths[f] = in.length(kind, f, doc-in.first[kind])
		}
		in.numbers[doc] = uint64(cols.add(kind, in.packed(doc), in.owned[old]-1, &lengths))
	}
}

// dictionary merges the terms of one kind and channel; the documents of the
// kind begin with first in the new segment.
func (m *merge) dictionary(kind, channel int, first uint32) (dictionarySpan, error) {
	var heap []*input // by term, then by place in inputs
	base := uint32(0)
	for _, in := range m.inputs {
		in.base = base
		for doc := in.first[kind]; doc < in.first[kind+1]; doc++ {
			if in.numbers[doc] != dropped {
				base++
			}
		}
		if in.cursor = (cursor{rest: in.dicts[kind][channel].stream}); in.next() {
			heap = append(heap, in)
		}
	}
	place := make(map[*input]int, len(m.inputs))
	for i, in := range m.inputs {
		place[in] = i
	}
	less := func(a, b *input) bool {
		if a.prefix != b.prefix {
			return a.prefix < b.prefix
		}
		if o := bytes.Compare(a.cursor.term, b.cursor.term); o != 0 {
			return o < 0
		}
		return place[a] < place[b]
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		siftDown(heap, i, less)
	}
	d := newDictionaryWriter(m.w)
	var key, data []byte
	for n := 0; len(heap) > 0; n++ {
		if n&0xFFFF == 0xFFFF && isClosed(m.closed) {
			return dictionarySpan{}, api.ErrClosed
		}
		key, data = append(key[:0], heap[0].cursor.term...), data[:0]
		var l list
		for len(heap) > 0 && bytes.Equal(heap[0].cursor.term, key) {
			in := heap[0]
			data = in.append(data, &l, kind, first)
			if !in.next() {
				heap[0] = heap[len(heap)-1]
				heap = heap[:len(heap)-1]
			}
			siftDown(heap, 0, less)
		}
		if l.count > 0 {
			l.data = data
			d.add(key, l)
		}
	}
	return d.close(), m.w.err
}

func (in *input) next() bool {
	if !in.cursor.next() {
		return false
	}
	in.prefix = firstBytes(in.cursor.term)
	return true
}

// append appends the postings of the cursor's term, with new numbers, to those
// of other inputs. Where nothing is dropped all but the first are as they were,
// since each holds the distance to the one before.
func (in *input) append(data []byte, l *list, kind int, first uint32) []byte {
	from := in.cursor.list
	p := from.walk()
	if in.drop == nil {
		p.next()
		data = appendPosting(data, in.base+p.doc-l.last, p.counts)
		l.count += from.count
		l.last = in.base + from.last
		return append(data, p.rest...)
	}
	for p.next() {
		n := in.numbers[in.first[kind]+p.doc]
		if n == dropped {
			continue
		}
		doc := uint32(n) - first
		data = appendPosting(data, doc-l.last, p.counts)
		l.last = doc
		l.count++
	}
	return data
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// siftDown moves heap[i] down to where it belongs.
func siftDown(heap []*input, i int, less func(a, b *input) bool) {
	for {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if child+1 < len(heap) && less(heap[child+1], heap[child]) {
			child++
		}
		if !less(heap[child], heap[i]) {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}
