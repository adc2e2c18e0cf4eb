package vecindex

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"unsafe"

	"github.com/foldwatch/foldwatch/vecindex/dot"
)

// The originals of a table lie in a file of their own, as float16: a header,
// then one record for each row, in the order of the rows. They are read for the
// few rows that a search ranks in the end, mapped from disk where the system has
// that, so they take no memory that cannot be taken back.
//
// A record begins with a CRC-32C of the row's key, its scale and its halves: it
// proves itself whenever it is read, and a record of another row, another snapshot
// or a damaged disk is found out. The scale is in it since after a crash rows may
// come to a place, and under a key, that an older copy of a file has otherwise. Records are padded in groups, so that each group
// can be mapped by itself.
const (
	originalsMark   = "foldwatch originals 2\n"
	originalsPrefix = "originals-"
	headBytes       = 1 << 16 // as much as the largest page of any system
	groupRows       = 1 << 12
	sumBytes        = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type originals struct {
	f      *os.File
	record int // bytes of one
	group  int // bytes of groupRows records, padded to whole pages
	mapped     // see originals_unix.go and originals_other.go
}

func originalsName(generation uint64) string {
	return fmt.Sprintf("%s%016x", originalsPrefix, generation)
}

// openOriginals opens the file for a table in dir, making it if it is not there
// and the table is empty. It returns errDamaged if it cannot hold the rows.
func openOriginals(dir string, t *table) (_ *originals, err error) {
	flag := os.O_RDWR
	if t.len() == 0 {
		flag |= os.O_CREATE
	}
	f, err := os.OpenFile(filepath.Join(dir, originalsName(t.generation)), flag, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("originals of vectors are gone: %w", errDamaged)
	}
	if err != nil {
		return nil, err
	}
	record := sumBytes + 2*t.dim
	o := &originals{f: f, record: record, group: (groupRows*record + headBytes - 1) / headBytes * headBytes}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.close())
		}
	}()
	head := binary.LittleEndian.AppendUint32([]byte(originalsMark), uint32(t.dim))
	head = binary.LittleEndian.AppendUint64(head, t.generation)
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() == 0 && t.len() == 0 {
		if _, err := f.WriteAt(head, 0); err != nil {
			return nil, err
		}
	}
	got := make([]byte, len(head))
	if _, err := f.ReadAt(got, 0); err != nil || string(got) != string(head) {
		return nil, fmt.Errorf("originals of vectors are %w: header differs", errDamaged)
	}
	if n := t.len(); n > 0 && info.Size() < o.offset(int32(n-1))+int64(record) {
		return nil, fmt.Errorf("originals of vectors are %w: too short for %d rows", errDamaged, n)
	}
	return o, o.reserve(t.len())
}

// createOriginals makes the file for t, of the next generation, from that of the
// last one: from tells which row of it each row of t was.
func createOriginals(dir string, t *table, old *originals, from []int32) (*originals, error) {
	name := filepath.Join(dir, originalsName(t.generation))
	o, err := openOriginals(dir, newTableLike(t))
	if err == nil {
		if err = o.copyFrom(old, from); err == nil {
			err = o.reserve(t.len())
		}
		if err != nil {
			err = errors.Join(err, o.close())
		}
	}
	if err != nil {
		_ = os.Remove(name) // what is left of it would only be removed at the next start
		return nil, err
	}
	return o, nil
}

// newTableLike is an empty table of the same generation.
func newTableLike(t *table) *table { return &table{generation: t.generation, dim: t.dim} }

// offset is where the record of a row begins in the file.
func (o *originals) offset(row int32) int64 {
	return headBytes + int64(row/groupRows)*int64(o.group) + int64(row%groupRows)*int64(o.record)
}

// write stores vectors, of rows of those scales, as the records of rows from first on.
func (o *originals) write(first int32, vecs []Vec, scales []float32) error {
	for len(vecs) > 0 {
		n := min(len(vecs), groupRows-int(first%groupRows))
		b := make([]byte, n*o.record)
		for i, v := range vecs[:n] {
			rec := b[i*o.record : (i+1)*o.record]
			dot.PutHalves(rec[sumBytes:], v.V)
			binary.LittleEndian.PutUint32(rec, recordSum(v.Key, scales[i], rec))
		}
		if _, err := o.f.WriteAt(b, o.offset(first)); err != nil {
			return err
		}
		first, vecs, scales = first+int32(n), vecs[n:], scales[n:]
	}
	return nil
}

// copyFrom writes the records of old, by rows, as those from row 0 on.
func (o *originals) copyFrom(old *originals, rows []int32) error {
	for first := 0; first < len(rows); first += groupRows {
		part := rows[first:min(first+groupRows, len(rows))]
		b := make([]byte, len(part)*o.record)
		for i, row := range part {
			if _, err := old.f.ReadAt(b[i*o.record:(i+1)*o.record], old.offset(row)); err != nil {
				return err
			}
		}
		if _, err := o.f.WriteAt(b, o.offset(int32(first))); err != nil {
			return err
		}
	}
	return nil
}

// halvesOf returns the float16 components in rec, the record of a row with that
// key and scale, or nil if it is damaged.
func halvesOf(key string, scale float32, rec []byte) []byte {
	if len(rec) < sumBytes || binary.LittleEndian.Uint32(rec) != recordSum(key, scale, rec) {
		return nil
	}
	return rec[sumBytes:]
}

func recordSum(key string, scale float32, rec []byte) uint32 {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], math.Float32bits(scale))
	sum := crc32.Update(0, castagnoli, unsafe.Slice(unsafe.StringData(key), len(key)))
	return crc32.Update(crc32.Update(sum, castagnoli, b[:]), castagnoli, rec[sumBytes:])
}

// deleted reports whether the file is not at its name any more. What cannot be looked at
// is.
func (o *originals) deleted() bool {
	held, err := o.f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(o.f.Name())
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return !os.SameFile(held, there)
}

func (o *originals) close() error {
	return errors.Join(o.unmap(), o.f.Close())
}
