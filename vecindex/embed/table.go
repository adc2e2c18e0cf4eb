package embed

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// TableDim is how many numbers a vector of a [Table] has.
const TableDim = 128

// Neighbours is how many of the nearest terms a [Table] knows of each term, and
// NeighbourCosine how near they must at least be (retrieval.md 3.6).
const (
	Neighbours      = 4
	NeighbourCosine = 0.45
)

// A TableRow is one term of a [Table] to be encoded.
type TableRow struct {
	Term   string
	Weight float32 // how much the term counts in a text
	Vector [TableDim]float32
}

// A Table is a static embedding: one vector for each term. It is read only.
//
// Its bytes, numbers with the low byte first: magic; dim, the number of terms n,
// the length of the analyser's version, as uint32; that version; n+1 bounds of
// terms as uint32; the terms, sorted; n scales and n weights as float32; n rows of
// dim signed bytes, which times the scale are a vector of unit length; n times
// four neighbours, nearest first, each a uint16, the number of a term, and its
// cosine in 255ths. Where there are fewer, the number is that of the term itself.
type Table struct {
	analyser string
	count    int
	bounds   string
	terms    string
	scales   string
	weights  string
	rows     string
	near     string

	slots []uint16 // open addressing by hash of the term; number + 1, 0 is free
	shift uint     // of a hash, so that what is left is a slot
}

const tableMagic = "fwstatic1\n"

// maxTable is the most terms of a table: their numbers fit into uint16.
const maxTable = 1<<16 - 2

var errTable = errors.New("not a table of static vectors")

// EncodeTable returns the bytes of a table of rows, whose terms must differ, and
// which analyser they came from.
func EncodeTable(analyser string, rows []TableRow) ([]byte, error) {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b TableRow) int { return cmp.Compare(a.Term, b.Term) })
	if len(rows) > maxTable {
		return nil, fmt.Errorf("%d terms, at most %d fit", len(rows), maxTable)
	}
	u32 := binary.LittleEndian.AppendUint32
	var b, terms, scales, weights, vecs []byte
	b = u32(u32(u32([]byte(tableMagic), TableDim), uint32(len(rows))), uint32(len(analyser)))
	b = append(b, analyser...)
	for i, r := range rows {
		if i > 0 && rows[i-1].Term == r.Term {
			return nil, fmt.Errorf("term %q is there twice", r.Term)
		}
		b = u32(b, uint32(len(terms)))
		terms = append(terms, r.Term...)
		scale, q, err := quantise(&r.Vector)
		if err != nil {
			return nil, fmt.Errorf("term %q: %w", r.Term, err)
		}
		scales = u32(scales, math.Float32bits(scale))
		weights = u32(weights, math.Float32bits(r.Weight))
		vecs = append(vecs, q[:]...)
	}
	b = u32(b, uint32(len(terms)))
	b = slices.Concat(b, terms, scales, weights, vecs)
	return append(b, nearest(vecs, len(rows))...), nil
}

// quantise returns v as signed bytes, and what they must be multiplied by to be
// of unit length.
func quantise(v *[TableDim]float32) (scale float32, q [TableDim]byte, err error) {
	most := float32(0)
	for _, f := range v {
		if f != f || f > math.MaxFloat32 || f < -math.MaxFloat32 {
			return 0, q, errors.New("its vector is not finite")
		}
		most = max(most, f, -f)
	}
	if most == 0 {
		return 0, q, errors.New("its vector has no direction")
	}
	square := 0
	for i, f := range v {
		n := int(math.Round(float64(f/most) * math.MaxInt8))
		q[i] = byte(int8(n))
		square += n * n
	}
	return float32(1 / math.Sqrt(float64(square))), q, nil
}

// nearest returns the neighbours of all rows as they stand in a table.
func nearest(rows []byte, n int) []byte {
	type hit struct {
		number int
		cosine float64
	}
	lengths := make([]float64, n)
	row := func(i int) []byte { return rows[i*TableDim : (i+1)*TableDim] }
	for i := range n {
		lengths[i] = math.Sqrt(float64(product(row(i), row(i))))
	}
	hits := make([][]hit, n)
	for i := range n {
		for j := range i {
			cosine := float64(product(row(i), row(j))) / (lengths[i] * lengths[j])
			if cosine > NeighbourCosine {
				hits[i], hits[j] = append(hits[i], hit{j, cosine}), append(hits[j], hit{i, cosine})
			}
		}
	}
	var out []byte
	for i, h := range hits {
		slices.SortFunc(h, func(a, b hit) int {
			return cmp.Or(cmp.Compare(b.cosine, a.cosine), cmp.Compare(a.number, b.number))
		})
		for k := range Neighbours {
			own := hit{number: i}
			if k < len(h) {
				own = h[k]
			}
			out = binary.LittleEndian.AppendUint16(out, uint16(own.number))
			out = append(out, byte(math.Round(min(own.cosine, 1)*255)))
		}
	}
	return out
}

// product of two rows; whole numbers, so that no order matters.
func product(a, b []byte) int {
	sum := int32(0)
	b = b[:len(a)]
	for i := range a {
		sum += int32(int8(a[i])) * int32(int8(b[i]))
	}
	return int(sum)
}

// DecodeTable reads what [EncodeTable] wrote. The table keeps b.
func DecodeTable(b string) (*Table, error) {
	rest, ok := strings.CutPrefix(b, tableMagic)
	if !ok || len(rest) < 12 || u32at(rest, 0) != TableDim {
		return nil, errTable
	}
	t := &Table{count: int(u32at(rest, 1))}
	version := int(u32at(rest, 2))
	rest = rest[12:]
	take := func(n int) (part string) {
		if n < 0 || n > len(rest) {
			ok = false
			return ""
		}
		part, rest = rest[:n], rest[n:]
		return part
	}
	if t.count > maxTable {
		return nil, errTable
	}
	t.analyser = take(version)
	if t.bounds = take(4 * (t.count + 1)); !ok {
		return nil, errTable
	}
	t.terms = take(int(u32at(t.bounds, t.count)))
	t.scales, t.weights = take(4*t.count), take(4*t.count)
	t.rows, t.near = take(TableDim*t.count), take(3*Neighbours*t.count)
	if !ok || rest != "" {
		return nil, errTable
	}
	return t, t.index()
}

// index checks the terms and builds slots.
func (t *Table) index() error {
	bits := uint(1)
	for 1<<bits < 2*(t.count+1) {
		bits++
	}
	t.slots, t.shift = make([]uint16, 1<<bits), 64-bits
	for i := range t.count {
		from, to := u32at(t.bounds, i), u32at(t.bounds, i+1)
		if from > to || int(to) > len(t.terms) || i > 0 && t.Term(i-1) >= t.terms[from:to] {
			return errTable
		}
		for k := range Neighbours {
			if n, _ := t.neighbour(i, k); n >= t.count {
				return errTable
			}
		}
		at := mix(fnv(termSeed, []byte(t.terms[from:to]))) >> t.shift
		for t.slots[at] != 0 {
			at = (at + 1) & uint64(len(t.slots)-1)
		}
		t.slots[at] = uint16(i + 1)
	}
	return nil
}

// Len is how many terms the table has.
func (t *Table) Len() int { return t.count }

// Term returns the i-th term, in alphabetical order.
func (t *Table) Term(i int) string { return t.terms[u32at(t.bounds, i):u32at(t.bounds, i+1)] }

// Number returns the number of a term, -1 if it has no vector.
func (t *Table) Number(term []byte) int { return t.number(term, fnv(termSeed, term)) }

// number is Number for a term whose hash is known.
func (t *Table) number(term []byte, hash uint64) int {
	if len(t.slots) == 0 {
		return -1
	}
	for at := mix(hash) >> t.shift; ; at = (at + 1) & uint64(len(t.slots)-1) {
		n := int(t.slots[at]) - 1
		if n < 0 || t.Term(n) == string(term) {
			return n
		}
	}
}

// factor is what the i-th row is multiplied by in a text: its weight, and its
// scale.
func (t *Table) factor(i int) float32 { return t.weight(i) * f32at(t.scales, i) }

func (t *Table) weight(i int) float32 { return f32at(t.weights, i) }

func (t *Table) row(i int) string { return t.rows[i*TableDim : (i+1)*TableDim] }

// neighbour returns the k-th nearest term of the i-th, and the cosine of both: i
// itself and 0 if there is none.
func (t *Table) neighbour(i, k int) (int, float64) {
	s := t.near[3*(Neighbours*i+k):][:3]
	return int(s[0]) | int(s[1])<<8, float64(s[2]) / 255
}

// u32at and f32at return the i-th number of s.
func u32at(s string, i int) uint32 {
	s = s[4*i:][:4]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

func f32at(s string, i int) float32 { return math.Float32frombits(u32at(s, i)) }
