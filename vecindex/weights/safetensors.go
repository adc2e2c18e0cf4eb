// Package weights is about model folders on this machine: which models there are,
// how one is fetched and checked, and the numbers in its files.
package weights

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// Bounds of a file of tensors: what is larger is no embedding model.
const (
	MaxFile   = 4 << 30 // bytes
	maxHeader = 16 << 20
	maxShape  = 8
	maxNames  = 10_000
)

// A Tensor is an array of numbers in a file. Its bytes are those of the file.
type Tensor struct {
	Type  string // F64, F32, F16, BF16, I64, I32, I16, I8, U8
	Shape []int
	data  []byte
}

// Tensors reads the index of a safetensors file b: eight bytes with the length of
// a JSON object that says where each tensor lies, then the tensors. It returns
// ErrInvalid for anything that does not fit. The tensors share the bytes of b.
func Tensors(b []byte) (map[string]Tensor, error) {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("safetensors: %s: %w", fmt.Sprintf(format, args...), fold.ErrInvalid)
	}
	if len(b) < 8 {
		return nil, bad("%d bytes", len(b))
	}
	n := binary.LittleEndian.Uint64(b)
	if n > maxHeader || n > uint64(len(b)-8) {
		return nil, bad("a header of %d bytes in %d", n, len(b))
	}
	var header map[string]json.RawMessage
	if err := json.Unmarshal(b[8:8+n], &header); err != nil {
		return nil, bad("the header is no JSON object")
	}
	if len(header) > maxNames {
		return nil, bad("%d tensors", len(header))
	}
	data, out := b[8+n:], map[string]Tensor{}
	for name, raw := range header {
		if name == "__metadata__" {
			continue
		}
		var h struct {
			Type    string   `json:"dtype"`
			Shape   []int    `json:"shape"`
			Offsets []uint64 `json:"data_offsets"`
		}
		if err := json.Unmarshal(raw, &h); err != nil {
			return nil, bad("tensor %.60q is not described", name)
		}
		size := typeSize(h.Type)
		if size == 0 {
			return nil, bad("tensor %.60q is of type %.20q", name, h.Type)
		}
		if len(h.Shape) > maxShape || len(h.Offsets) != 2 {
			return nil, bad("tensor %.60q has %d dimensions and %d offsets", name, len(h.Shape), len(h.Offsets))
		}
		count := 1
		for _, d := range h.Shape {
			if d < 0 || d > 0 && count > MaxFile/d {
				return nil, bad("tensor %.60q has shape %v", name, h.Shape)
			}
			count *= d
		}
		from, to := h.Offsets[0], h.Offsets[1]
		if from > to || to > uint64(len(data)) || to-from != uint64(count)*uint64(size) {
			return nil, bad("tensor %.60q lies at %d to %d of %d", name, from, to, len(data))
		}
		out[name] = Tensor{Type: h.Type, Shape: h.Shape, data: data[from:to]}
	}
	return out, nil
}

func typeSize(t string) int {
	switch t {
	case "F64", "I64":
		return 8
	case "F32", "I32":
		return 4
	case "F16", "BF16", "I16":
		return 2
	case "I8", "U8":
		return 1
	}
	return 0
}

// Len returns how many numbers t holds.
func (t Tensor) Len() int {
	if size := typeSize(t.Type); size > 0 {
		return len(t.data) / size
	}
	return 0
}

// Float returns the i-th number, from 0.
func (t Tensor) Float(i int) float32 {
	switch t.Type {
	case "F32":
		return math.Float32frombits(binary.LittleEndian.Uint32(t.data[4*i:]))
	case "F64":
		return float32(math.Float64frombits(binary.LittleEndian.Uint64(t.data[8*i:])))
	case "F16":
		return half(binary.LittleEndian.Uint16(t.data[2*i:]))
	case "BF16":
		return math.Float32frombits(uint32(binary.LittleEndian.Uint16(t.data[2*i:])) << 16)
	}
	return float32(t.Int(i))
}

// Int returns the i-th number of a tensor of whole ones, from 0; 0 of others.
func (t Tensor) Int(i int) int {
	switch t.Type {
	case "I64":
		return int(binary.LittleEndian.Uint64(t.data[8*i:]))
	case "I32":
		return int(int32(binary.LittleEndian.Uint32(t.data[4*i:])))
	case "I16":
		return int(int16(binary.LittleEndian.Uint16(t.data[2*i:])))
	case "I8":
		return int(int8(t.data[i]))
	case "U8":
		return int(t.data[i])
	}
	return 0
}

// AddRow adds row i of a matrix, times w, to sum, whose length is that of a row.
func (t Tensor) AddRow(sum []float32, i int, w float32) {
	at := i * len(sum)
	if t.Type == "F32" {
		row := t.data[4*at : 4*(at+len(sum))]
		for d := range sum {
			sum[d] += w * math.Float32frombits(binary.LittleEndian.Uint32(row[4*d:]))
		}
		return
	}
	for d := range sum {
		sum[d] += w * t.Float(at+d)
	}
}

// half is a float16 (IEEE 754 binary16) as float32.
func half(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	switch exp {
	case 0:
		f := float32(frac) / (1 << 24)
		if sign != 0 {
			f = -f
		}
		return f
	case 31:
		return math.Float32frombits(sign | 0xFF<<23 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}
