//go:build !amd64 && !arm64

package dot

// fast says which machine code there is: none for this processor.
var fast = struct{ rows, flip, halves, signs bool }{}

// Kernel names what multiplies rows here.
func Kernel() string { return "go" }

func four(a, b, c, d *byte, q *Query, out *[4]int32) {
	fourLanes(a, b, c, d, q, out)
	q.unbias(out)
}

func halves(*float32, *byte, int) float32 { panic("dot: no machine code here") }

func differ(*uint16, *uint64, *uint64, int, int) { panic("dot: no machine code here") }

func flip(*int8, *byte, int) int32 { panic("dot: no machine code here") }
