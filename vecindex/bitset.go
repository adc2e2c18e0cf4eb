package vecindex

import "math/bits"

// A bitset has one bit per row. Rows past its end are not in it.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) has(row int32) bool {
	i := int(row >> 6)
	return i < len(b) && b[i]>>(uint(row)&63)&1 != 0
}

func (b bitset) set(row int32)   { b[row>>6] |= 1 << (uint(row) & 63) }
func (b bitset) clear(row int32) { b[row>>6] &^= 1 << (uint(row) & 63) }

// grown returns b with room for n rows.
func (b bitset) grown(n int) bitset {
	for len(b) < (n+63)/64 {
		b = append(b, 0)
	}
	return b
}

func (b bitset) count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// each calls f for the rows in b, in order.
func (b bitset) each(f func(row int32)) {
	for i, w := range b {
		for ; w != 0; w &= w - 1 {
			f(int32(i<<6 + bits.TrailingZeros64(w)))
		}
	}
}
