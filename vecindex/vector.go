package vecindex

import (
	"fmt"
	"math"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Vec is one vector to store. Key is unique in an index: "m:<id>" for a
// memory, "c:<chunk id>" for a chunk; Memory is the memory it is shown under.
type Vec struct {
	Key    string
	Memory fold.ID
	V      []float32 // of the index's dimension and unit length
}

// A Hit is one neighbour. Score is the cosine, in about [-1, 1]: larger is
// nearer.
type Hit struct {
	Key    string
	Memory fold.ID
	Score  float64
}

const (
	maxDim  = 1 << 14           // dimensions a snapshot may claim
	maxRows = math.MaxInt32 - 1 // rows of an index, tombstones included
	maxName = 1 << 12           // bytes of a key, memory id or identity
)

// unitTolerance is how far the squared length of a vector may be from 1:
// float16 and int8 originals come back a little off.
const unitTolerance = 0.02

// checkUnit returns ErrInvalid if v cannot be stored or searched for: of another
// dimension, not finite, zero, or not of unit length.
func checkUnit(v []float32, dim int) error {
	if len(v) != dim {
		return fmt.Errorf("vector has %d dimensions, the index %d: %w", len(v), dim, fold.ErrInvalid)
	}
	square := 0.0
	for _, f := range v {
		square += float64(f) * float64(f)
	}
	if math.IsNaN(square) || math.IsInf(square, 0) {
		return fmt.Errorf("vector is not finite: %w", fold.ErrInvalid)
	}
	if math.Abs(square-1) > unitTolerance {
		return fmt.Errorf("vector has length %.3g, want 1: %w", math.Sqrt(square), fold.ErrInvalid)
	}
	return nil
}

func normalize(v []float32) {
	square := 0.0
	for _, f := range v {
		square += float64(f) * float64(f)
	}
	for d := range v {
		v[d] /= float32(math.Sqrt(square))
	}
}
