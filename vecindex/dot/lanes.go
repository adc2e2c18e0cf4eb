package dot

import (
	"encoding/binary"
	"unsafe"
)

// Without machine code, four components are multiplied by one multiplication of
// 64 bits. Every other byte of a word of a row stands in a lane of 16 bits, and
// so does half a byte of the query, in the other order: the highest lane of the
// product is then a0*b0 + a2*b2 + a4*b4 + a6*b6, at most 4*255*15, and in the
// lanes below it are fewer products, so that four such products can be added up
// before anything is carried over. Both halves of a byte take two
// multiplications, and even and odd bytes as many: half of what bytes by
// themselves would take.
const laneMask = 0x00FF00FF00FF00FF

// spread fills q.lanes, if they are needed.
func (q *Query) spread() {
	if !fast.rows {
		q.lanes = lanesOf(q.lanes, q.bytes)
	}
}

// lanesOf returns for each 8 bytes of a query, with a bias of 128, the low and
// the high halves of the even bytes and those of the odd ones.
func lanesOf(lanes [][4]uint64, q []int8) [][4]uint64 {
	n := len(q) / 8
	if cap(lanes) < n {
		lanes = make([][4]uint64, n)
	}
	lanes = lanes[:n]
	clear(lanes)
	for d, b := range q {
		u, shift := uint64(byte(b)^bias), 48-uint(d%8)/2*16
		lanes[d/8][d%2*2] |= u & 15 << shift
		lanes[d/8][d%2*2+1] |= u >> 4 << shift
	}
	return lanes
}

// byLanes returns the product of a row with the query of lanes.
func byLanes(p *byte, lanes [][4]uint64) int32 {
	row := unsafe.Slice(p, 8*len(lanes)) // rows are padded to 8 words
	var low, high, sum uint64
	for len(row) >= 64 && len(lanes) >= 8 {
		var bytes uint64 // in each lane at most 16 bytes
		for i := 0; i < 8; i += 2 {
			w0, w1 := binary.LittleEndian.Uint64(row[8*i:]), binary.LittleEndian.Uint64(row[8*i+8:])
			l0, l1 := &lanes[i], &lanes[i+1]
			e0, o0, e1, o1 := w0&laneMask, w0>>8&laneMask, w1&laneMask, w1>>8&laneMask
			low += (e0*l0[0] + o0*l0[2] + e1*l1[0] + o1*l1[2]) >> 48
			high += (e0*l0[1] + o0*l0[3] + e1*l1[1] + o1*l1[3]) >> 48
			bytes += e0 + o0 + e1 + o1
		}
		sum += bytes * 0x0001000100010001 >> 48
		row, lanes = row[64:], lanes[8:]
	}
	return int32(low+high<<4) - bias*int32(sum)
}

func fourLanes(a, b, c, d *byte, q *Query, out *[4]int32) {
	for i, row := range [4]*byte{a, b, c, d} {
		out[i] = byLanes(row, q.lanes)
	}
}
