package auth

import (
	"crypto/sha256"
	"errors"
	"hash/crc32"
	"math/big"
	"strings"
)

// A token is fwt_, 43 characters for 256 random bits, and 6 for their CRC-32 (IEEE), so
// that scanners can recognise tokens offline, and a mistyped one is noticed.
const (
	prefix       = "fwt_"
	secretDigits = 43 // 62^43 > 2^256
	sumDigits    = 6  // 62^6 > 2^32
	tokenBytes   = len(prefix) + secretDigits + sumDigits
	alphabet     = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// A Secret is the random part of a token.
type Secret [32]byte

var errNoToken = errors.New("no token of foldwatch")

// String returns the token. Each secret has one text form.
func (s Secret) String() string {
	digits := base62(new(big.Int).SetBytes(s[:]), secretDigits)
	return prefix + digits + checksum(digits)
}

func checksum(digits string) string {
	return base62(new(big.Int).SetUint64(uint64(crc32.ChecksumIEEE([]byte(digits)))), sumDigits)
}

// base62 writes n, which must fit, with that many digits.
func base62(n *big.Int, digits int) string {
	out := make([]byte, digits)
	rest, base := new(big.Int), big.NewInt(int64(len(alphabet)))
	n = new(big.Int).Set(n)
	for i := digits - 1; i >= 0; i-- {
		n.QuoRem(n, base, rest)
		out[i] = alphabet[rest.Int64()]
	}
	return string(out)
}

// ParseSecret parses exactly what String returns.
func ParseSecret(token string) (s Secret, err error) {
	if len(token) != tokenBytes || !strings.HasPrefix(token, prefix) {
		return s, errNoToken
	}
	digits, sum := token[len(prefix):len(prefix)+secretDigits], token[len(prefix)+secretDigits:]
	n, base := new(big.Int), big.NewInt(int64(len(alphabet)))
	for i := range len(digits) {
		at := strings.IndexByte(alphabet, digits[i])
		if at < 0 {
			return s, errNoToken
		}
		n.Mul(n, base).Add(n, big.NewInt(int64(at)))
	}
	if sum != checksum(digits) || n.BitLen() > 8*len(s) {
		return s, errNoToken
	}
	n.FillBytes(s[:])
	return s, nil
}

// digest is the stored form of a token. Random bits need no salt and no slow hash.
func digest(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }

// leastShown is how many characters after the prefix make a text look like a token.
const leastShown = 20

// InText reports whether text contains a token, or a part of one.
func InText(text string) bool {
	for {
		at := strings.Index(text, prefix)
		if at < 0 {
			return false
		}
		text = text[at+len(prefix):]
		n := 0
		for n < len(text) && strings.IndexByte(alphabet, text[n]) >= 0 {
			n++
		}
		if n >= leastShown {
			return true
		}
	}
}
