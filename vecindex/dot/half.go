package dot

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// PutHalves writes v into b as float16, two bytes each, the low one first. What
// is too small for a normal half loses bits; |f| must be below 65504.
func PutHalves(b []byte, v []float32) {
	for i, f := range v {
		binary.LittleEndian.PutUint16(b[2*i:], half(f))
	}
}

// half rounds to the nearest float16, halves to even.
func half(f float32) uint16 {
	b := math.Float32bits(f)
	sign, b := uint16(b>>16&0x8000), b&0x7FFFFFFF
	if b < 113<<23 { // below 2^-14: what is left has steps of 2^-24
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(b))*(1<<24)))
	}
	b += 0x0FFF + b>>13&1 // round, and carry into the exponent
	return sign | uint16(b>>13-112<<10)
}

// Halves writes the floats that PutHalves put into b into v.
func Halves(v []float32, b []byte) {
	for i := range v {
		v[i] = float(binary.LittleEndian.Uint16(b[2*i:]))
	}
}

func float(h uint16) float32 {
	// The exponent of a half is 112 less than that of a float; the multiplication
	// also makes subnormal halves normal.
	f := math.Float32frombits(uint32(h&0x7FFF)<<13) * (1 << 112)
	return math.Float32frombits(math.Float32bits(f) | uint32(h&0x8000)<<16)
}

// WithHalves returns the inner product of q and the halves in b, 2*len(q)
// bytes. Machine code adds in another order than scalar code, so the last bits
// differ between machines.
func WithHalves(q []float32, b []byte) float32 {
	if len(q) == 0 {
		return 0
	}
	_ = b[2*len(q)-1]
	n := 0
	sum := float32(0)
	if wide := len(q) &^ 31; wide > 0 && fast.halves {
		sum, n = halves(unsafe.SliceData(q), unsafe.SliceData(b), wide), wide
	}
	return sum + halvesScalar(q[n:], b[2*n:])
}

func halvesScalar(q []float32, b []byte) float32 {
	sum := float32(0)
	for i, f := range q {
		sum += f * float(binary.LittleEndian.Uint16(b[2*i:]))
	}
	return sum
}
