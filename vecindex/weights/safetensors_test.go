package weights

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/meta/fold"
)

func file(header string, data ...byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

func TestTensors(t *testing.T) {
	b := file(`{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"h":{"dtype":"F16","shape":[4],"data_offsets":[8,16]},"i":{"dtype":"I64","shape":[],"data_offsets":[16,24]},"b":{"dtype":"BF16","shape":[1],"data_offsets":[24,26]},"q":{"dtype":"I8","shape":[2],"data_offsets":[26,28]}}`,
		0, 0, 128, 63, 0, 0, 0, 192, // 1, -2
		0, 0x3C, 1, 0, 0, 0xFC, 0, 0xC1, // 1, the least, -inf, -2.5
		254, 255, 255, 255, 255, 255, 255, 255, // -2
		0xC0, 0x3F, // 1.5
		0x80, 0x7F, // -128, 127
	)
	got, err := Tensors(b)
	if err != nil || len(got) != 5 {
		t.Fatalf("Tensors = %v, %v", got, err)
	}
	for _, tc := range []struct {
		name string
		i    int
		want float64
	}{
		{"a", 0, 1},
		{"a", 1, -2},
		{"h", 0, 1},
		{"h", 1, 1.0 / (1 << 24)},
		{"h", 2, math.Inf(-1)},
		{"h", 3, -2.5},
		{"i", 0, -2},
		{"b", 0, 1.5},
		{"q", 0, -128},
		{"q", 1, 127},
	} {
		if v := float64(got[tc.name].Float(tc.i)); v != tc.want {
			t.Errorf("%s[%d] = %v, want %v", tc.name, tc.i, v, tc.want)
		}
	}
	sum := []float32{10}
	got["a"].AddRow(sum, 1, .5)
	got["q"].AddRow(sum, 1, 1)
	if sum[0] != 136 {
		t.Errorf("sum = %v, want 136", sum)
	}
}

func TestTensorsRefusesWhatDoesNotFit(t *testing.T) {
	for _, b := range [][]byte{
		nil,
		{1, 2, 3},
		binary.LittleEndian.AppendUint64(nil, math.MaxUint64),
		binary.LittleEndian.AppendUint64(nil, 1),
		file(`[]`),
		file(`{"a":1}`),
		file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 1, 2, 3),
		file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}}`, 1, 2, 3, 4, 5, 6, 7, 8),
		file(`{"a":{"dtype":"F32","shape":[-1],"data_offsets":[4,0]}}`, 1, 2, 3, 4),
		file(`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`),
		file(`{"a":{"dtype":"C64","shape":[1],"data_offsets":[0,8]}}`, 1, 2, 3, 4, 5, 6, 7, 8),
		file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}}`, 1, 2, 3, 4),
		file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[18446744073709551612,0]}}`, 1, 2, 3, 4),
	} {
		if got, err := Tensors(b); !errors.Is(err, fold.ErrInvalid) {
			t.Errorf("Tensors(%.80q) = %v, %v", b, got, err)
		}
	}
}

func FuzzTensors(f *testing.F) {
	f.Add(file(`{"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}}`, 0, 0, 128, 63, 0, 0, 0, 192))
	f.Add(file(`{"__metadata__":{},"h":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}}`, 0, 60))
	f.Add([]byte(strings.Repeat("\xff", 20)))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := Tensors(b)
		if err != nil {
			return
		}
		for _, x := range all {
			for i := range min(x.Len(), 1000) {
				x.Float(i)
			}
			if n := x.Len(); n > 0 {
				x.AddRow(make([]float32, 1), n-1, 1)
			}
		}
	})
}
