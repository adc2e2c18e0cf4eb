package dot

import (
	"math/bits"
	"unsafe"
)

// Words returns how many words the signs of dim components take.
func Words(dim int) int { return (dim + 255) / 256 * 4 }

// Signs writes the sign bits of a row into words: a component that is not
// negative is a 1. Padding is 1 everywhere, so that it never differs.
func Signs(words []uint64, row []byte) {
	for i := range words {
		w := ^uint64(0)
		if at := i * 64; at < len(row) {
			w = 0
			for j, b := range row[at : at+64] {
				w |= uint64(b>>7) << j
			}
		}
		words[i] = w
	}
}

// Differ sets out to how many signs differ between q and each of the rows that
// lie one after another in rows: len(out) times len(q) words.
func Differ(out []uint16, rows, q []uint64) {
	n, i := len(q), 0
	if len(out) == 0 || n == 0 {
		return
	}
	_ = rows[len(out)*n-1]
	if four := len(out) &^ 3; fast.signs && n%4 == 0 && four > 0 {
		differ(unsafe.SliceData(out), unsafe.SliceData(rows), unsafe.SliceData(q), n, four)
		i = four
	}
	differScalar(out[i:], rows[i*n:], q)
}

func differScalar(out []uint16, rows, q []uint64) {
	for i := range out {
		row, sum := rows[i*len(q):(i+1)*len(q)], 0
		for j, w := range q {
			sum += bits.OnesCount64(row[j] ^ w)
		}
		out[i] = uint16(sum)
	}
}
