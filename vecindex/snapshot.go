package vecindex

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A snapshot is one file: mark, header, rows, and the SHA-256 of all before it.
// What is decoded is still checked, because a sum can be right on purpose.
// Tombstones are in it, since a row's number is its place in the file of originals,
// which the generation names, and its node in a graph.
const (
	snapshotName = "vectors.snap"
	snapshotMark = "foldwatch vectors 2\n" // the format number is in it
)

// encode writes the rows without the checksum.
func encode(w io.Writer, t *table, identity string, seq int64) error {
	var b []byte
	b = append(b, snapshotMark...)
	b = appendName(b, identity)
	b = binary.LittleEndian.AppendUint32(b, uint32(t.dim))
	b = binary.LittleEndian.AppendUint64(b, t.generation)
	b = binary.LittleEndian.AppendUint64(b, uint64(t.len()))
	b = binary.LittleEndian.AppendUint64(b, uint64(seq))
	if _, err := w.Write(b); err != nil {
		return err
	}
	for row := range int32(t.len()) {
		if t.dead.has(row) {
			b = appendName(appendName(b[:0], ""), "")
		} else {
			b = appendName(appendName(b[:0], t.keys[row]), string(t.memory(row)))
		}
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(t.scale[row]))
		b = append(b, t.at(row)...)
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// readSnapshot reads the table that is saved in dir and opens its originals.
func readSnapshot(dir, identity string, dim int) (t *table, seq int64, err error) {
	f, err := os.Open(filepath.Join(dir, snapshotName))
	if err != nil {
		return nil, 0, err
	}
	t, seq, err = decode(f, identity, dim)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, 0, err
	}
	t.originals, err = openOriginals(dir, t.generation, dim, t.len())
	return t, seq, err
}

// decode reads a snapshot. The error is errDamaged, or says that the snapshot is
// of another identity or dimension.
func decode(f io.ReadSeeker, identity string, dim int) (*table, int64, error) {
	r, err := verified(f, snapshotMark)
	if err != nil {
		return nil, 0, fmt.Errorf("vector snapshot is %w", err)
	}
	gotIdentity, gotDim := r.name(), int(r.uint32())
	generation, count, seq := r.uint64(), r.uint64(), int64(r.uint64())
	if r.failed {
		return nil, 0, fmt.Errorf("vector snapshot is %w: header is cut off", errDamaged)
	}
	if gotIdentity != identity || gotDim != dim {
		return nil, 0, fmt.Errorf("vector snapshot is of %q with %d dimensions", gotIdentity, gotDim)
	}
	t := newTable(dim)
	t.generation = generation
	if least := uint64(2 + 2 + 4 + t.stride); count > maxRows || count > uint64(r.left)/least {
		return nil, 0, fmt.Errorf("vector snapshot is %w: %d rows in %d bytes", errDamaged, count, r.left)
	}
	n := int(count)
	t.keys, t.scale = make([]string, 0, n), make([]float32, 0, n)
	t.owner, t.next = make([]int32, 0, n), make([]int32, 0, n)
	t.rows = make(map[string]int32, n)
	t.dead, t.own = newBitset(n)[:0], newBitset(n)[:0]
	for row := range int32(n) {
		key, mem, scale := r.name(), r.name(), math.Float32frombits(r.uint32())
		if _, twice := t.rows[key]; twice || !(scale > 0) || math.IsInf(float64(scale), 0) {
			return nil, 0, fmt.Errorf("vector snapshot is %w: row %d", errDamaged, row)
		}
		b := t.add(key, fold.ID(mem), scale)
		r.into(b)
		padding(b[t.dim:])
		if key == "" {
			t.drop(key)
		}
	}
	if r.failed || r.left != 0 {
		return nil, 0, fmt.Errorf("vector snapshot is %w: wrong size", errDamaged)
	}
	return t, seq, nil
}

// padding sets what is behind the components of a row, whatever was read.
func padding(b []byte) {
	for i := range b {
		b[i] = 128
	}
}
