package vecindex

import (
	"sync"

	"github.com/foldwatch/foldwatch/vecindex/dot"
)

// A sketch is the sign bits of all rows of a table, an eighth of their bytes: in
// what two vectors differ in sign is about their angle. A search counts them in
// every row, and takes the products of those that differ least. It changes with
// the table, under the same lock.
type sketch struct {
	words  int        // of a row
	blocks [][]uint64 // blockRows rows each
	n      int        // rows
}

func newSketch(t *table) *sketch {
	s := &sketch{words: dot.Words(t.dim)}
	for row := range int32(t.len()) {
		s.add(row, t.at(row))
	}
	return s
}

// add takes the next row.
func (s *sketch) add(row int32, b []byte) {
	if int(row) != s.n {
		return // it is there
	}
	if row%blockRows == 0 {
		s.blocks = append(s.blocks, make([]uint64, blockRows*s.words))
	}
	at := int(row%blockRows) * s.words
	dot.Signs(s.blocks[row/blockRows][at:at+s.words], b)
	s.n++
}

// distances are the counts of one search, kept for the next.
type distances struct {
	of  []uint16 // by row
	hit []int32  // by distance: how many rows
}

// bySketch is the way through the sign bits. Its effort is how many rows have
// their products taken.
type bySketch struct{ spare sync.Pool }

func (*bySketch) name() string   { return Sketch }
func (*bySketch) efforts() []int { return []int{256, 512, 1024, 2048, 4096, 8192, 16384} }

func (*bySketch) fits(t *table) bool { return t.sketch != nil }

func (w *bySketch) propose(t *table, a *ask, n, effort int) top {
	s := t.sketch
	d, ok := w.spare.Get().(*distances)
	if !ok {
		d = &distances{}
	}
	defer w.spare.Put(d)
	d.count(s, a)
	// The largest distance at which no more than effort rows are nearer.
	bound, rows := 0, int32(0)
	for bound < len(d.hit)-1 && rows+d.hit[bound] < int32(effort) {
		rows += d.hit[bound]
		bound++
	}
	best := newTop(n)
	t.scanRows(a, best.offer(t, n), func(yield func(int32)) {
		for row, dist := range d.of {
			if int(dist) <= bound && a.may(t, int32(row)) {
				yield(int32(row))
			}
		}
	})
	return best
}

// count fills d with the distances of all rows, and how many rows that may be
// found have each; tombstones count where nothing is filtered, since they are
// few.
func (d *distances) count(s *sketch, a *ask) {
	if cap(d.of) < s.n {
		d.of = make([]uint16, s.n+s.n/8)
	}
	d.of = d.of[:s.n]
	bits := 64*s.words + 1
	if cap(d.hit) < bits {
		d.hit = make([]int32, bits)
	}
	d.hit = d.hit[:bits]
	clear(d.hit)
	row, q := make([]byte, dot.Stride(len(a.v))), make([]uint64, s.words)
	dot.Quantize(row, a.v)
	dot.Signs(q, row)
	for i, b := range s.blocks {
		first := i * blockRows
		part := d.of[first:min(first+blockRows, s.n)]
		dot.Differ(part, b, q)
		if a.pass == nil {
			for _, dist := range part {
				d.hit[dist]++
			}
			continue
		}
		for j, dist := range part {
			if a.pass.has(int32(first + j)) {
				d.hit[dist]++
			}
		}
	}
}
