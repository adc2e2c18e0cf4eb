package vecindex

import (
	"context"
	"slices"
	"sync"

	"github.com/foldwatch/foldwatch/vecindex/dot"
)

// A sketch is the engine that reads the sign bits of all rows, an eighth of their
// bytes: the number of signs in which two vectors differ follows their angle. A
// search takes the products of the rows that differ least; its effort is how many
// rows those are. A sketch does not change; one with more rows shares its blocks.
type sketch struct {
	generation uint64
	words      int        // of a row
	blocks     [][]uint64 // blockRows rows each
	rows       int
	spare      *sync.Pool // of *distances
}

func newSketch(t *table) *sketch {
	s := &sketch{generation: t.generation, words: dot.Words(t.dim), spare: &sync.Pool{}}
	return s.extended(t)
}

// extended returns a sketch with all rows of t. It writes only behind the rows of
// s, which no search that uses s reads.
func (s *sketch) extended(t *table) *sketch {
	e := *s
	e.blocks = slices.Clip(s.blocks)
	for row := int32(s.rows); int(row) < t.len(); row++ {
		if row%blockRows == 0 {
			e.blocks = append(e.blocks, make([]uint64, blockRows*s.words))
		}
		at := int(row%blockRows) * s.words
		dot.Signs(e.blocks[row/blockRows][at:at+s.words], t.at(row))
	}
	e.rows = t.len()
	return &e
}

func (s *sketch) extend(_ context.Context, t *table) (engine, error) { return s.extended(t), nil }

func (*sketch) name() string         { return Sketch }
func (*sketch) efforts() []int       { return []int{256, 512, 1024, 2048, 4096, 8192, 16384} }
func (s *sketch) fits(t *table) bool { return s.generation == t.generation }

func (s *sketch) propose(t *table, q *query, effort int, offer func(scored)) (covered int) {
	d, ok := s.spare.Get().(*distances)
	if !ok {
		d = &distances{}
	}
	defer s.spare.Put(d)
	d.count(s, q)
	// The largest distance for which no more than effort rows are nearer.
	bound, rows := 0, int32(0)
	for bound < len(d.rows)-1 && rows+d.rows[bound] < int32(effort) {
		rows += d.rows[bound]
		bound++
	}
	t.scanRows(q, offer, func(yield func(int32)) {
		for row, dist := range d.of {
			if int(dist) <= bound && q.may(t, int32(row)) {
				yield(int32(row))
			}
		}
	})
	return s.rows
}

// distances are the differing signs that one search counted.
type distances struct {
	of   []uint16 // by row
	rows []int32  // by distance: how many rows have it
}

// count fills d for all rows of s. Only rows that may be found count in d.rows;
// without a filter tombstones count too, as they are few.
func (d *distances) count(s *sketch, q *query) {
	if cap(d.of) < s.rows {
		d.of = make([]uint16, s.rows+s.rows/8)
	}
	d.of = d.of[:s.rows]
	most := 64*s.words + 1
	if cap(d.rows) < most {
		d.rows = make([]int32, most)
	}
	d.rows = d.rows[:most]
	clear(d.rows)
	row, signs := make([]byte, dot.Stride(len(q.v))), make([]uint64, s.words)
	dot.Quantize(row, q.v)
	dot.Signs(signs, row)
	for i, b := range s.blocks {
		first := i * blockRows
		part := d.of[first:min(first+blockRows, s.rows)]
		dot.Differ(part, b, signs)
		if q.pass == nil {
			for _, dist := range part {
				d.rows[dist]++
			}
			continue
		}
		for j, dist := range part {
			if q.pass.has(int32(first + j)) {
				d.rows[dist]++
			}
		}
	}
}
