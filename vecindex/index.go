// Package vecindex finds memories and chunks near a vector.
//
// One [Index] holds the vectors of one embedding identity in a flat arena of
// bytes with a scale per row, and answers by an exact scan in portable Go. It
// lives in memory; a checksummed snapshot on disk spares reading everything
// again at start. It is derived: it can be deleted and rebuilt at any time.
package vecindex

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

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

// maxDim bounds what a snapshot may claim.
const maxDim = 1 << 14

// unitTolerance is how far the squared length of a vector may be from 1:
// float16 and int8 originals come back a little off.
const unitTolerance = 0.02

// An Index is the vectors of one embedding identity. It is safe for concurrent
// use; searches run beside each other and wait for Apply.
type Index struct {
	// Rebuilt says why [Open] began with an empty index although there was a
	// snapshot: it was damaged, or made for another identity. "" if it did not.
	Rebuilt string

	dir      string
	identity string
	dim      int
	words    int // 8 dimensions each, per row

	saving sync.Mutex // one Snapshot at a time; taken before mu, guards the file
	closed bool       // guarded by saving: no snapshot is written any more

	later sync.Mutex // guards timer
	timer *time.Timer

	mu    sync.RWMutex // guards the fields below; not held across I/O
	seq   int64
	rows  map[string]int32 // key → row
	keys  []string         // by row; "" is a tombstone
	mems  []fold.ID
	arena []uint64  // row-major; byte d%8 of word d/8 is dimension d, plus 128
	scale []float32 // value = (byte - 128) * scale
	sum   []int32   // sum of the bytes of the real dimensions, for the coarse scan
	dead  int

	version, saved uint64 // changes made, and of those in the snapshot
}

func newIndex(dir, identity string, dim int) *Index {
	return &Index{dir: dir, identity: identity, dim: dim, words: (dim + 7) / 8, rows: map[string]int32{}}
}

// check returns ErrInvalid if v cannot be stored or searched for: of another
// length, not finite, zero, or not of unit length.
func (x *Index) check(v []float32) error {
	if len(v) != x.dim {
		return fmt.Errorf("vector has %d dimensions, the index %d: %w", len(v), x.dim, fold.ErrInvalid)
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

// Apply drops and then puts keys as one step and records seq, the change it
// came from. A key that exists is replaced. It returns ErrInvalid and changes
// nothing if a vector or key cannot be stored.
func (x *Index) Apply(seq int64, put []Vec, drop []string) error {
	for _, v := range put {
		if v.Key == "" || len(v.Key) > maxName || len(v.Memory) > maxName {
			return fmt.Errorf("put vector %.40q of %.40q: %w", v.Key, v.Memory, fold.ErrInvalid)
		}
		if err := x.check(v.V); err != nil {
			return fmt.Errorf("put vector %s: %w", v.Key, err)
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, key := range drop {
		x.drop(key)
	}
	for _, v := range put {
		x.put(v)
	}
	x.seq = seq
	x.version++
	if x.dead > 1024 && x.dead > len(x.keys)/4 {
		x.compact()
	}
	return nil
}

func (x *Index) drop(key string) {
	row, ok := x.rows[key]
	if !ok {
		return
	}
	delete(x.rows, key)
	x.keys[row], x.mems[row] = "", ""
	x.dead++
}

// put takes a vector. Where the key has just that one already nothing changes.
func (x *Index) put(v Vec) {
	old, ok := x.rows[v.Key]
	x.append(v)
	if !ok {
		return
	}
	now := int32(len(x.keys) - 1)
	a, b := int(old)*x.words, int(now)*x.words
	if x.mems[old] == v.Memory && x.scale[old] == x.scale[now] && slices.Equal(x.arena[a:a+x.words], x.arena[b:]) {
		x.rows[v.Key] = old
		x.keys, x.mems, x.arena = x.keys[:now], x.mems[:now], x.arena[:b]
		x.scale, x.sum = x.scale[:now], x.sum[:now]
		return
	}
	x.keys[old], x.mems[old] = "", ""
	x.dead++
}

func (x *Index) append(v Vec) {
	top := float32(0)
	for _, f := range v.V {
		top = max(top, f, -f)
	}
	scale := top / 127
	at := len(x.arena)
	for range x.words {
		x.arena = append(x.arena, 0x8080808080808080)
	}
	row, sum := x.arena[at:], int32(0)
	for d, f := range v.V {
		b := uint64(int(math.RoundToEven(float64(f/scale))) + 128)
		shift := uint(d%8) * 8
		row[d/8] = row[d/8]&^(0xFF<<shift) | b<<shift
		sum += int32(b)
	}
	x.rows[v.Key] = int32(len(x.keys))
	x.keys, x.mems = append(x.keys, v.Key), append(x.mems, v.Memory)
	x.scale, x.sum = append(x.scale, scale), append(x.sum, sum)
}

// Compact drops tombstones. Apply does so by itself when they are a quarter.
func (x *Index) Compact() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.dead > 0 {
		x.compact()
	}
}

// compact moves live rows to the front, into new arrays if that frees half.
func (x *Index) compact() {
	n := 0
	for row, key := range x.keys {
		if key == "" {
			continue
		}
		x.keys[n], x.mems[n], x.scale[n], x.sum[n] = key, x.mems[row], x.scale[row], x.sum[row]
		copy(x.arena[n*x.words:(n+1)*x.words], x.arena[row*x.words:])
		x.rows[key] = int32(n)
		n++
	}
	clear(x.keys[n:]) // let the strings go
	clear(x.mems[n:])
	x.keys, x.mems, x.scale, x.sum, x.arena = x.keys[:n], x.mems[:n], x.scale[:n], x.sum[:n], x.arena[:n*x.words]
	if cap(x.arena) > 2*len(x.arena) {
		x.arena = append(make([]uint64, 0, len(x.arena)), x.arena...)
	}
	x.dead = 0
	x.version++
}

// Vector returns the stored vector of key, dequantised and of unit length.
func (x *Index) Vector(key string) ([]float32, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	row, ok := x.rows[key]
	if !ok {
		return nil, false
	}
	v, square := make([]float32, x.dim), 0.0
	for d := range v {
		v[d] = float32(int(byte(x.arena[int(row)*x.words+d/8]>>(uint(d%8)*8)))-128) * x.scale[row]
		square += float64(v[d]) * float64(v[d])
	}
	for d := range v {
		v[d] /= float32(math.Sqrt(square))
	}
	return v, true
}

// Has reports whether a vector is stored under key.
func (x *Index) Has(key string) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	_, ok := x.rows[key]
	return ok
}

// Len returns how many vectors are stored.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.rows)
}

// Seq returns the seq of the last Apply; after Open, that of the snapshot. The
// caller applies what is later.
func (x *Index) Seq() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.seq
}

// Dim returns the dimension of the index's vectors.
func (x *Index) Dim() int { return x.dim }

// Identity returns the embedding identity the vectors are of.
func (x *Index) Identity() string { return x.identity }

// Engine names what answers searches.
func (x *Index) Engine() string { return "exact" }
