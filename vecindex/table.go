package vecindex

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"unsafe"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/vecindex/dot"
)

// blockRows is how many rows are allocated at once. Blocks are never copied or
// moved, so growing wastes little and a row that was read stays valid.
const blockRows = 1 << 10

// memoryPrefix begins the keys of memories themselves, as opposed to chunks.
const memoryPrefix = "m:"

// A table holds the rows of one generation. Rows are only added; a dropped row
// becomes a tombstone, and compaction makes the table of the next generation. So
// everything about a row except its tombstone can be read without a lock once the
// row is known to exist.
type table struct {
	generation uint64 // random: names the table in the files and engines that belong to it
	dim        int
	stride     int

	blocks  [][]byte  // blockRows rows of stride bytes each; the first may be shorter
	scale   []float32 // value = (byte - 128) * scale
	keys    []string
	owner   []int32 // row → member
	next    []int32 // row → next row of the same member, -1 after the last
	members []member
	byID    map[fold.ID]int32 // → member
	rows    map[string]int32  // key → row, of live ones

	dead      bitset // tombstones
	deadCount int
	own       bitset // rows of memories themselves, not of their chunks

	originals *originals // by row
}

// A member is a memory that has rows.
type member struct {
	id    fold.ID
	first int32 // row, -1 if none
}

func newTable(dim int) *table {
	return &table{
		generation: rand.Uint64(), dim: dim, stride: dot.Stride(dim),
		byID: map[fold.ID]int32{}, rows: map[string]int32{},
	}
}

// len returns how many rows there are, tombstones included.
func (t *table) len() int { return len(t.keys) }

func (t *table) live() int { return len(t.keys) - t.deadCount }

// at returns the bytes of a row.
func (t *table) at(row int32) []byte {
	b, i := t.blocks[row/blockRows], int(row%blockRows)*t.stride
	return b[i : i+t.stride : i+t.stride]
}

// ptr is at for the kernels.
func (t *table) ptr(row int32) *byte {
	return (*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(t.blocks[row/blockRows])), int(row%blockRows)*t.stride))
}

// add appends a row and returns where its bytes go.
func (t *table) add(key string, m fold.ID, scale float32) []byte {
	row := int32(len(t.keys))
	t.reserve(row)
	t.keys, t.scale = append(t.keys, key), append(t.scale, scale)
	of, ok := t.byID[m]
	if !ok {
		of = int32(len(t.members))
		t.byID[m] = of
		t.members = append(t.members, member{id: m, first: -1})
	}
	t.owner, t.next = append(t.owner, of), append(t.next, t.members[of].first)
	t.members[of].first = row
	t.dead, t.own = t.dead.grown(len(t.keys)), t.own.grown(len(t.keys))
	if strings.HasPrefix(key, memoryPrefix) {
		t.own.set(row)
	}
	t.rows[key] = row
	return t.at(row)
}

// reserve makes room for a row. The first block grows by copying, because many
// indexes are small; a reader may still have the old one.
func (t *table) reserve(row int32) {
	switch in := int(row % blockRows); {
	case row < blockRows:
		if len(t.blocks) == 0 {
			t.blocks = [][]byte{make([]byte, 16*t.stride)}
		} else if b := t.blocks[0]; in*t.stride == len(b) {
			t.blocks = [][]byte{append(make([]byte, 0, 2*len(b)), b...)[:2*len(b)]}
		}
	case in == 0:
		t.blocks = append(t.blocks, make([]byte, blockRows*t.stride))
	}
}

// drop makes the row of key a tombstone.
func (t *table) drop(key string) {
	row, ok := t.rows[key]
	if !ok {
		return
	}
	delete(t.rows, key)
	t.dead.set(row)
	t.deadCount++
}

// changed returns those of put that differ from what is stored, with their bytes
// and scales: a text that is embedded again mostly gives the same vector.
func (t *table) changed(put []Vec, drop []string) (fresh []Vec, bytes []byte, scales []float32) {
	touched := make(map[string]bool, len(put)+len(drop))
	for _, key := range drop {
		touched[key] = true
	}
	fresh, bytes, scales = make([]Vec, 0, len(put)), make([]byte, 0, len(put)*t.stride), make([]float32, 0, len(put))
	row, record := make([]byte, t.stride), make([]byte, t.originals.record)
	for _, v := range put {
		scale := dot.Quantize(row, v.V)
		if old, ok := t.rows[v.Key]; ok && !touched[v.Key] && t.memory(old) == v.Memory && t.scale[old] == scale &&
			string(t.at(old)) == string(row) && t.holds(old, v, record) {
			continue
		}
		touched[v.Key] = true
		fresh, bytes, scales = append(fresh, v), append(bytes, row...), append(scales, scale)
	}
	return fresh, bytes, scales
}

// holds reports whether the original of a row is v.
func (t *table) holds(row int32, v Vec, buf []byte) (same bool) {
	want := make([]byte, 2*t.dim)
	dot.PutHalves(want, v.V)
	catchFault(func() { same = string(halvesOf(v.Key, t.scale[row], t.originals.read(row, buf))) == string(want) })
	return same
}

func (t *table) memory(row int32) fold.ID { return t.members[t.owner[row]].id }

// frozen returns t as it is now, for reading without a lock. It shares what does
// not change, and lacks the maps.
func (t *table) frozen() *table {
	f := *t
	n := len(t.keys)
	f.blocks = slices.Clip(t.blocks)
	f.scale, f.keys, f.owner, f.next = t.scale[:n:n], t.keys[:n:n], t.owner[:n:n], nil
	f.members = slices.Clip(t.members) // their first row may change, their id does not
	f.dead = slices.Clone(t.dead)
	f.byID, f.rows, f.own = nil, nil, nil
	return &f
}

// compacted returns a table of the next generation with the live rows of t; from
// has for each of its rows the row of t.
func (t *table) compacted() (c *table, from []int32) {
	c = newTable(t.dim)
	c.rows = make(map[string]int32, t.live())
	c.keys, c.scale = make([]string, 0, t.live()), make([]float32, 0, t.live())
	c.owner, c.next = make([]int32, 0, t.live()), make([]int32, 0, t.live())
	from = make([]int32, 0, t.live())
	for row := range int32(t.len()) {
		if t.dead.has(row) {
			continue
		}
		b := c.add(t.keys[row], t.memory(row), t.scale[row])
		copy(b, t.at(row))
		from = append(from, row)
	}
	return c, from
}

// eachOf calls f for the live rows of a memory.
func (t *table) eachOf(id fold.ID, f func(row int32)) {
	of, ok := t.byID[id]
	if !ok {
		return
	}
	for row := t.members[of].first; row >= 0; row = t.next[row] {
		if !t.dead.has(row) {
			f(row)
		}
	}
}

// scaleSum is a digest of the scales of the first n rows, tombstones included. A
// graph keeps it to recognize the rows it was built of.
func (t *table) scaleSum(n int) []byte {
	h := sha256.New()
	var b []byte
	for part := range slices.Chunk(t.scale[:n], blockRows) {
		b = b[:0]
		for _, f := range part {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
		}
		h.Write(b)
	}
	return h.Sum(nil)
}

// vector returns a row as floats of unit length: the original, or its bytes
// where that is damaged.
func (t *table) vector(row int32) []float32 {
	v, found := make([]float32, t.dim), false
	catchFault(func() {
		h := halvesOf(t.keys[row], t.scale[row], t.originals.read(row, make([]byte, t.originals.record)))
		if h != nil {
			dot.Halves(v, h)
			found = true
		}
	})
	if !found {
		t.restore(v, row)
	}
	normalize(v)
	return v
}

// restore sets v to the bytes of a row.
func (t *table) restore(v []float32, row int32) {
	dot.Restore(v, t.at(row), t.scale[row])
	normalize(v)
}
