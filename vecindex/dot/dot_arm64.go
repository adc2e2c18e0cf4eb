package dot

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// fast says which machine code this processor can run: NEON every arm64 has, the
// products of four pairs at once those from about 2018 on.
var fast = struct{ sdot, rows, flip, halves, signs bool }{
	sdot: cpu.ARM64.HasASIMDDP,
	rows: true, flip: true, halves: true, signs: true,
}

// Kernel names what multiplies rows here.
func Kernel() string {
	if fast.sdot {
		return "neon-sdot"
	}
	return "neon"
}

func four(a, b, c, d *byte, q *Query, out *[4]int32) {
	if fast.sdot {
		fourSDOT(a, b, c, d, unsafe.SliceData(q.bytes), len(q.bytes), out)
	} else {
		fourNEON(a, b, c, d, unsafe.SliceData(q.bytes), len(q.bytes), out)
	}
}

// n is a multiple of 64. The bias of the rows is off the products.
//
//go:noescape
func fourSDOT(a, b, c, d *byte, q *int8, n int, out *[4]int32)

// n is a multiple of 64. The bias of the rows is off the products.
//
//go:noescape
func fourNEON(a, b, c, d *byte, q *int8, n int, out *[4]int32)

// n is a multiple of 32.
//
//go:noescape
func halves(q *float32, h *byte, n int) float32

// words and rows are multiples of 4.
//
//go:noescape
func differ(out *uint16, row, q *uint64, words, rows int)

// flip sets q to row without its bias and returns the sum of row; n is a
// multiple of 64.
//
//go:noescape
func flip(q *int8, row *byte, n int) int32
