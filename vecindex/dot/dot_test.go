package dot

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"unsafe"
)

// rows returns n random rows, some of them of extreme bytes alone.
func rows(r *rand.Rand, n, stride int) []byte {
	b := make([]byte, n*stride)
	for i := range b {
		switch i / stride % 4 {
		case 0:
			b[i] = 255
		case 1:
			b[i] = byte(r.IntN(2) * 255)
		default:
			b[i] = byte(r.Uint32())
		}
	}
	return b
}

func query(r *rand.Rand, n int, extreme bool) *Query {
	q := &Query{Scale: 1, bytes: make([]int8, n)}
	sum := int32(0)
	for i := range q.bytes {
		q.bytes[i] = int8(r.IntN(255) - 127)
		if extreme {
			q.bytes[i] = -128
		}
		sum += int32(q.bytes[i])
	}
	q.base = bias * sum
	q.spread()
	return q
}

// TestKernelIsTheOneMeant is for who runs the tests on a processor of a certain
// kind, as `make cross` does: KERNEL is what must be used there.
func TestKernelIsTheOneMeant(t *testing.T) {
	if want := os.Getenv("KERNEL"); want != "" && Kernel() != want {
		t.Errorf("rows are multiplied by %s, want %s", Kernel(), want)
	}
}

func TestKernelsAgreeWithScalarCode(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, dim := range []int{1, 63, 64, 65, 100, 128, 256, 384, 768, 1024, 1536, 4096, 1 << 14} {
		stride := Stride(dim)
		b := rows(r, 9, stride)
		for _, extreme := range []bool{false, true} {
			q := query(r, stride, extreme)
			got := make([]int32, 9)
			q.Rows(got, b)
			for i := range got {
				row := b[i*stride : (i+1)*stride]
				want := int64(0)
				for d, f := range row {
					want += (int64(f) - bias) * int64(q.bytes[d])
				}
				if int64(got[i]) != want {
					t.Fatalf("dim %d, row %d, %s: product %d, want %d", dim, i, Kernel(), got[i], want)
				}
				if one := q.One(&row[0]); one != got[i] {
					t.Fatalf("One = %d, Rows %d", one, got[i])
				}
			}
			sameFour(t, b, stride, q)
		}
	}
}

// lanesKernel is the one without machine code as the others are.
func lanesKernel(a, b, c, d *byte, q *int8, n int, out *[4]int32) {
	fourLanes(a, b, c, d, &Query{lanes: lanesOf(nil, unsafe.Slice(q, n))}, out)
}

// sameFour compares every kernel this machine can run with the scalar one.
func sameFour(t *testing.T, b []byte, stride int, q *Query) {
	t.Helper()
	at := func(i int) *byte { return &b[i*stride] }
	var want [4]int32
	fourScalar(at(0), at(1), at(2), at(3), &q.bytes[0], stride, &want)
	for name, kernel := range kernels() {
		var got [4]int32
		kernel(at(0), at(1), at(2), at(3), &q.bytes[0], stride, &got)
		if got != want {
			t.Errorf("%s of %d bytes = %v, want %v", name, stride, got, want)
		}
	}
}

func TestSetRowTakesTheBiasOff(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, dim := range []int{1, 64, 65, 256, 768, 1 << 14} {
		stride := Stride(dim)
		b := rows(r, 8, stride)
		for i := range 8 {
			row := b[i*stride : (i+1)*stride]
			var q Query
			q.SetRow(row, .5)
			want := make([]int8, stride)
			sum := flipScalar(want, row)
			if !slices.Equal(q.bytes, want) || q.base != bias*sum || q.Scale != .5 {
				t.Errorf("dim %d, row %d: base %d, want %d", dim, i, q.base, bias*sum)
			}
		}
	}
}

func FuzzFour(f *testing.F) {
	f.Add([]byte("a"), uint8(1))
	f.Add(slices.Repeat([]byte{0, 255, 128, 127}, 100), uint8(3))
	f.Fuzz(func(t *testing.T, seed []byte, lanes uint8) {
		stride := (int(lanes)%12 + 1) * lane
		if len(seed) == 0 {
			return
		}
		b := make([]byte, 5*stride)
		for i := range b {
			b[i] = seed[i%len(seed)] + byte(i/len(seed))
		}
		q := &Query{bytes: unsafe.Slice((*int8)(unsafe.Pointer(&b[4*stride])), stride)}
		sameFour(t, b, stride, q)
	})
}

func TestQuantizeKeepsTheProduct(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, dim := range []int{1, 3, 64, 256, 300, 768} {
		for range 50 {
			a, b := gauss(r, dim), gauss(r, dim)
			row := make([]byte, Stride(dim))
			scale := Quantize(row, a)
			q := NewQuery(b)
			got := float64(q.One(&row[0])) * float64(scale) * float64(q.Scale)
			if want := product(a, b); math.Abs(got-want) > .03 {
				t.Errorf("dim %d: product %v, want %v", dim, got, want)
			}
			back := make([]float32, dim)
			Restore(back, row, scale)
			if d := product(back, a); math.Abs(d-1) > .005 {
				t.Errorf("dim %d: restored to %v of itself", dim, d)
			}
			var again Query
			again.SetRow(row, scale)
			if got, want := float64(again.One(&row[0]))*float64(scale)*float64(scale), product(back, back); math.Abs(got-want) > 1e-4 {
				t.Errorf("dim %d: row with itself %v, want %v", dim, got, want)
			}
		}
	}
}

func TestHalves(t *testing.T) {
	for h := range 1 << 16 { // every half that is a number comes back
		if h&0x7C00 == 0x7C00 {
			continue
		}
		if got := half(float(uint16(h))); got != uint16(h) {
			t.Fatalf("half(float(%#x)) = %#x", h, got)
		}
	}
	for _, tc := range []struct {
		f    float32
		want uint16
	}{
		{1, 0x3C00},
		{-2, 0xC000},
		{65504, 0x7BFF},
		{1.0 / (1 << 24), 1},
		{1.0 / (1 << 26), 0},
		{0, 0},
		{1 + 1.0/2048, 0x3C00},
		{1 + 3.0/2048, 0x3C02},
		{1.9999, 0x4000},
		{0.000061, 0x3FF},
	} {
		if got := half(tc.f); got != tc.want {
			t.Errorf("half(%v) = %#x, want %#x", tc.f, got, tc.want)
		}
	}
	r := rand.New(rand.NewPCG(3, 3))
	for _, dim := range []int{1, 31, 32, 33, 64, 100, 768, 1000} {
		a, b := gauss(r, dim), gauss(r, dim)
		h := make([]byte, 2*dim)
		PutHalves(h, a)
		back := make([]float32, dim)
		Halves(back, h)
		if got, want := float64(WithHalves(b, h)), product(back, b); math.Abs(got-want) > 1e-5 {
			t.Errorf("dim %d: product %v, want %v", dim, got, want)
		}
		if d := product(back, a); math.Abs(d-1) > 1e-3 {
			t.Errorf("dim %d: halves are %v of the floats", dim, d)
		}
	}
}

// TestEachHalfByMachineCode has every finite half times one, at each place.
func TestEachHalfByMachineCode(t *testing.T) {
	const dim = 32
	b, q := make([]byte, 2*dim), make([]float32, dim)
	for h := range 1 << 16 {
		if h&0x7C00 == 0x7C00 {
			continue
		}
		at := h % dim
		binary.LittleEndian.PutUint16(b[2*at:], uint16(h))
		q[at] = 1
		if got, want := WithHalves(q, b), float(uint16(h)); got != want {
			t.Fatalf("half %#x at %d: %v, want %v", h, at, got, want)
		}
		q[at] = 0
	}
}

func TestSigns(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, dim := range []int{1, 64, 100, 256, 300, 384, 768, 1536} {
		stride, n := Stride(dim), 11
		words := Words(dim)
		all, floats := make([]uint64, n*words), make([][]float32, n)
		b := make([]byte, n*stride)
		for i := range n {
			floats[i] = gauss(r, dim)
			row := b[i*stride : (i+1)*stride]
			Quantize(row, floats[i])
			Signs(all[i*words:(i+1)*words], row)
		}
		got, scalar := make([]uint16, n), make([]uint16, n)
		Differ(got, all, all[:words])
		differScalar(scalar, all, all[:words])
		for i := range n {
			want := 0
			for d := range dim {
				if (b[d] >= bias) != (b[i*stride+d] >= bias) {
					want++
				}
			}
			if int(got[i]) != want || scalar[i] != got[i] {
				t.Errorf("dim %d, row %d: %d signs differ, by scalar code %d, want %d", dim, i, got[i], scalar[i], want)
			}
		}
	}
}

func FuzzDiffer(f *testing.F) {
	f.Add([]byte("0123456789abcdef"), uint8(3))
	f.Fuzz(func(t *testing.T, seed []byte, quads uint8) {
		if len(seed) < 8 {
			return
		}
		n := (int(quads)%8 + 1) * 4
		word := func(i int) uint64 { return binary.LittleEndian.Uint64(seed[i%(len(seed)-7):]) * (2*uint64(i) + 1) }
		all := make([]uint64, 9*n)
		for i := range all {
			all[i] = word(i)
		}
		got, want := make([]uint16, 8), make([]uint16, 8)
		Differ(got, all[n:], all[:n])
		differScalar(want, all[n:], all[:n])
		if !slices.Equal(got, want) {
			t.Errorf("Differ = %v, want %v", got, want)
		}
	})
}

func gauss(r *rand.Rand, dim int) []float32 {
	v, square := make([]float32, dim), 0.0
	for i := range v {
		v[i] = float32(r.NormFloat64())
		square += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(square))
	}
	return v
}

func product(a, b []float32) float64 {
	s := 0.0
	for i := range a {
		s += float64(a[i]) * float64(b[i])
	}
	return s
}

func BenchmarkRows(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, tc := range []struct {
		name   string
		n, dim int
	}{{"10k768", 10_000, 768}, {"100k768", 100_000, 768}, {"100k256", 100_000, 256}} {
		stride := Stride(tc.dim)
		all, out := make([]byte, tc.n*stride), make([]int32, tc.n)
		for i := range all {
			all[i] = byte(i * 7)
		}
		q := NewQuery(gauss(r, tc.dim))
		lanes := &Query{lanes: lanesOf(nil, q.bytes)}
		for name, kernel := range kernels() {
			b.Run(tc.name+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(all)))
				for b.Loop() {
					for i := 0; i < tc.n; i += 4 {
						at := func(i int) *byte { return &all[i*stride] }
						if name == "go" {
							fourLanes(at(i), at(i+1), at(i+2), at(i+3), lanes, (*[4]int32)(out[i:]))
							continue
						}
						kernel(at(i), at(i+1), at(i+2), at(i+3), &q.bytes[0], stride, (*[4]int32)(out[i:]))
					}
				}
			})
		}
	}
}

func BenchmarkDiffer100k768(b *testing.B) {
	all, out := make([]uint64, 100_000*Words(768)), make([]uint16, 100_000)
	for i := range all {
		all[i] = uint64(i) * 0x9E3779B97F4A7C15
	}
	b.Run("fast", func(b *testing.B) {
		b.SetBytes(int64(len(all) * 8))
		for b.Loop() {
			Differ(out, all, all[:Words(768)])
		}
	})
	b.Run("scalar", func(b *testing.B) {
		b.SetBytes(int64(len(all) * 8))
		for b.Loop() {
			differScalar(out, all, all[:Words(768)])
		}
	})
}

func BenchmarkWithHalves768(b *testing.B) {
	q := gauss(rand.New(rand.NewPCG(6, 6)), 768)
	h := make([]byte, 2*768)
	PutHalves(h, q)
	for b.Loop() {
		WithHalves(q, h)
	}
}
