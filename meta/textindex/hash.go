package textindex

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// hash is kept on disk: whoever changes it changes format. It multiplies as
// wyhash does (Wang Yi, public domain); nothing here is a secret, and the worst
// that equal hashes of joined forms do is one hit too many.
func hash(b []byte) uint64 {
	h := uint64(len(b)) ^ 0xa0761d6478bd642f
	for len(b) > 8 {
		h = mix(h^binary.LittleEndian.Uint64(b), 0xe7037ed1a0b428db)
		b = b[8:]
	}
	var v uint64
	for _, c := range slices.Backward(b) {
		v = v<<8 | uint64(c)
	}
	return mix(mix(h^v, 0x8ebc6af09c88c6e3)^0x589965cc75374cc3, 0xe7037ed1a0b428db)
}

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// exactBits are kept of the hash of a joined form: among ten million forms one
// that is asked for meets another once in 25 million questions.
const exactBits = 48

// exactKey returns a joined form as dictionaries hold it.
func exactKey(b []byte, h uint64) []byte {
	h <<= 64 - exactBits
	return append(b, byte(h>>56), byte(h>>48), byte(h>>40), byte(h>>32), byte(h>>24), byte(h>>16))
}
