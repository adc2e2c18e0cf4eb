// Package dot computes what a search among many vectors spends its time on:
// inner products of bytes with a scale, of halves with floats, and distances of
// sign bits. Each has a scalar form that runs everywhere, and machine code where
// the processor has the instructions; both give the same integers.
package dot

import (
	"math"
	"unsafe"
)

// lane is what rows are padded to, in bytes: one register of the widest kernel.
const lane = 64

// bias is added to the components of a row, so that its bytes are unsigned: the
// instruction that multiplies four pairs at once wants one side so.
const bias = 128

// Stride returns how many bytes a row of dim components takes.
func Stride(dim int) int { return (dim + lane - 1) / lane * lane }

// Quantize writes v, which must be finite and not all zero, into row, Stride(len(v)) bytes, and returns its
// scale: component d is about (row[d]-128)*scale.
func Quantize(row []byte, v []float32) float32 {
	top := largest(v)
	inverse := 127 / top
	for d, f := range v {
		row[d] = byte(nearest(f*inverse) + bias)
	}
	for d := len(v); d < len(row); d++ {
		row[d] = bias
	}
	return top / 127
}

func largest(v []float32) float32 {
	top := float32(0)
	for _, f := range v {
		top = max(top, f, -f)
	}
	return top
}

// nearest rounds, halves to even. The constant pushes what is behind the point
// out of the 23 bits of a float32; |f| must be below 2^22.
func nearest(f float32) int32 {
	const push = 3 << 22
	return int32(math.Float32bits(f+push)) - int32(math.Float32bits(push))
}

// Restore writes the components of a row of that scale into v.
func Restore(v []float32, row []byte, scale float32) {
	for d := range v {
		v[d] = float32(int(row[d])-bias) * scale
	}
}

// A Query is one side of many products. It must not be changed while it is used;
// its methods may then be called from several goroutines.
type Query struct {
	Scale float32 // of its own components

	bytes []int8
	lanes [][4]uint64 // of 8 bytes each, where there is no machine code: see lanes.go
	base  int32       // what the bias of the rows adds to each product
}

// NewQuery returns v, finite and not all zero, as a query.
func NewQuery(v []float32) *Query {
	q := &Query{}
	q.Set(v)
	return q
}

// Set makes q the query for v, finite and not all zero.
func (q *Query) Set(v []float32) {
	q.room(Stride(len(v)))
	top := largest(v)
	inverse, sum := 127/top, int32(0)
	for d, f := range v {
		n := nearest(f * inverse)
		q.bytes[d] = int8(n)
		sum += n
	}
	clear(q.bytes[len(v):])
	q.Scale, q.base = top/127, bias*sum
	q.spread()
}

// SetRow makes q the query for a stored row of that scale.
func (q *Query) SetRow(row []byte, scale float32) {
	q.room(len(row))
	var sum int32
	if fast.flip {
		sum = flip(unsafe.SliceData(q.bytes), unsafe.SliceData(row), len(row)) - int32(bias*len(row))
	} else {
		sum = flipScalar(q.bytes, row)
	}
	q.Scale, q.base = scale, bias*sum
	q.spread()
}

// flipScalar sets q to a row without its bias, and returns the sum of q.
func flipScalar(q []int8, row []byte) int32 {
	sum := int32(0)
	for d, b := range row {
		n := int8(b ^ bias)
		q[d] = n
		sum += int32(n)
	}
	return sum
}

func (q *Query) room(n int) {
	if cap(q.bytes) < n {
		q.bytes = make([]int8, n)
	}
	q.bytes = q.bytes[:n]
}

// Four sets out to the products of q with four rows, each the address of
// Stride bytes. A product times both scales is the inner product of the vectors.
func (q *Query) Four(out *[4]int32, a, b, c, d *byte) {
	four(a, b, c, d, q, out)
}

// unbias takes off the products of q what the bias of the rows added to them.
func (q *Query) unbias(out *[4]int32) {
	out[0] -= q.base
	out[1] -= q.base
	out[2] -= q.base
	out[3] -= q.base
}

// One returns the product of q with one row.
func (q *Query) One(row *byte) int32 {
	var out [4]int32
	if !fast.rows {
		return byLanes(row, q.lanes) - q.base
	}
	four(row, row, row, row, q, &out)
	return out[0]
}

// Rows sets out to the products of q with the rows that lie one after another in
// rows: len(out) times Stride bytes.
func (q *Query) Rows(out []int32, rows []byte) {
	n := len(q.bytes)
	if len(out) == 0 {
		return
	}
	_ = rows[len(out)*n-1]
	row := unsafe.SliceData(rows)
	at := func(i int) *byte { return (*byte)(unsafe.Add(unsafe.Pointer(row), i*n)) }
	i := 0
	for ; i+4 <= len(out); i += 4 {
		q.Four((*[4]int32)(out[i:]), at(i), at(i+1), at(i+2), at(i+3))
	}
	for ; i < len(out); i++ {
		out[i] = q.One(at(i))
	}
}

// fourScalar is what the machine code for four must agree with.
func fourScalar(a, b, c, d *byte, q *int8, n int, out *[4]int32) {
	for i, row := range [4]*byte{a, b, c, d} {
		out[i] = scalar(unsafe.Slice(row, n), unsafe.Slice(q, n))
	}
}

func scalar(row []byte, q []int8) int32 {
	var s0, s1, s2, s3 int32
	for len(row) >= 8 && len(q) >= 8 {
		s0 += int32(row[0])*int32(q[0]) + int32(row[4])*int32(q[4])
		s1 += int32(row[1])*int32(q[1]) + int32(row[5])*int32(q[5])
		s2 += int32(row[2])*int32(q[2]) + int32(row[6])*int32(q[6])
		s3 += int32(row[3])*int32(q[3]) + int32(row[7])*int32(q[7])
		row, q = row[8:], q[8:]
	}
	for i, b := range row {
		s0 += int32(b) * int32(q[i])
	}
	return s0 + s1 + s2 + s3
}
