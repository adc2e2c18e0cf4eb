package embed

import (
	"encoding/json"
	"math"
	"testing"
)

// CheckVector reads any bytes as a vector: what is taken is of unit length.
func CheckVector(t *testing.T, b []byte) {
	var v vector
	if json.Unmarshal(b, &v) != nil {
		return
	}
	u, err := unit(v)
	if err != nil {
		return
	}
	square := 0.0
	for _, f := range u {
		square += float64(f) * float64(f)
	}
	if math.Abs(square-1) > 1e-3 || len(u) != len(v) {
		t.Errorf("%q: length² %v, %d of %d dimensions", b, square, len(u), len(v))
	}
}
