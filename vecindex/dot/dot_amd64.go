package dot

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// fast says which machine code this processor can run.
var fast = struct{ vnni, avx2, rows, flip, halves, signs bool }{
	vnni:   cpu.X86.HasAVX2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512VNNI,
	avx2:   cpu.X86.HasAVX2,
	rows:   cpu.X86.HasAVX2,
	flip:   cpu.X86.HasAVX2,
	halves: cpu.X86.HasAVX2 && cpu.X86.HasFMA && cpu.X86.HasF16C,
	signs:  cpu.X86.HasAVX512VL && cpu.X86.HasAVX512VPOPCNTDQ,
}

// Kernel names what multiplies rows here.
func Kernel() string {
	switch {
	case fast.vnni:
		return "avx512-vnni"
	case fast.avx2:
		return "avx2"
	}
	return "go"
}

func four(a, b, c, d *byte, q *Query, out *[4]int32) {
	switch {
	case fast.vnni:
		fourVNNI(a, b, c, d, unsafe.SliceData(q.bytes), len(q.bytes), out)
	case fast.avx2:
		fourAVX2(a, b, c, d, unsafe.SliceData(q.bytes), len(q.bytes), out)
	default:
		fourLanes(a, b, c, d, q, out)
	}
	q.unbias(out)
}

// n is a multiple of 64.
//
//go:noescape
func fourVNNI(a, b, c, d *byte, q *int8, n int, out *[4]int32)

// n is a multiple of 64.
//
//go:noescape
func fourAVX2(a, b, c, d *byte, q *int8, n int, out *[4]int32)

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
