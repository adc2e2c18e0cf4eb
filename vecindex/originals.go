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
	"runtime/debug"
	"unsafe"

	"github.com/foldwatch/foldwatch/vecindex/dot"
)

// The vectors as they were given lie in a file of their own, as float16: a
// header, then one record for each row, in the order of the rows. A search reads
// them for the few rows that it ranks in the end. Where the system can, the file
// is mapped, so that what was read is memory the system can take back.
//
// A record begins with a CRC-32C of the row's key, its scale and its halves, which
// is checked at every read: a record of another row, of another snapshot or from a
// damaged disk is recognized. The scale is in the sum because after a crash a row
// may be written where an older snapshot has another one under the same key.
// Records are padded in groups, so that each group can be mapped by itself.
const (
	originalsMark   = "foldwatch originals 2\n"
	originalsPrefix = "originals-"
	headBytes       = 1 << 16 // as much as the largest page of any system
	groupRows       = 1 << 12
	sumBytes        = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type originals struct {
	f       *os.File
	record  int // bytes of one
	mapping mapping
}

func originalsName(generation uint64) string {
	return fmt.Sprintf("%s%016x", originalsPrefix, generation)
}

// openOriginals opens the file of a generation in dir, and makes it if there are
// no rows yet. It returns errDamaged if the file cannot hold the rows.
func openOriginals(dir string, generation uint64, dim, rows int) (_ *originals, err error) {
	flag := os.O_RDWR
	if rows == 0 {
		flag |= os.O_CREATE
	}
	f, err := os.OpenFile(filepath.Join(dir, originalsName(generation)), flag, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("originals of vectors are gone: %w", errDamaged)
	}
	if err != nil {
		return nil, err
	}
	record := sumBytes + 2*dim
	group := (groupRows*record + headBytes - 1) / headBytes * headBytes
	o := &originals{f: f, record: record, mapping: mapping{f: f, first: headBytes, group: group}}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.close())
		}
	}()
	head := binary.LittleEndian.AppendUint32([]byte(originalsMark), uint32(dim))
	head = binary.LittleEndian.AppendUint64(head, generation)
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() == 0 && rows == 0 {
		if _, err := f.WriteAt(head, 0); err != nil {
			return nil, err
		}
	}
	got := make([]byte, len(head))
	if _, err := f.ReadAt(got, 0); err != nil || string(got) != string(head) {
		return nil, fmt.Errorf("originals of vectors are %w: header differs", errDamaged)
	}
	if rows > 0 && info.Size() < o.offset(int32(rows-1))+int64(record) {
		return nil, fmt.Errorf("originals of vectors are %w: too short for %d rows", errDamaged, rows)
	}
	return o, o.reserve(rows)
}

// compacted makes the file of another generation from the records of rows.
func (o *originals) compacted(dir string, generation uint64, dim int, rows []int32) (*originals, error) {
	c, err := openOriginals(dir, generation, dim, 0)
	if err == nil {
		if err = c.copyFrom(o, rows); err == nil {
			err = c.reserve(len(rows))
		}
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}
	if err != nil {
		_ = os.Remove(filepath.Join(dir, originalsName(generation))) // else at the next start
		return nil, err
	}
	return c, nil
}

// reserve prepares reading the first n rows.
func (o *originals) reserve(n int) error {
	return o.mapping.reserve((n + groupRows - 1) / groupRows)
}

// read returns the record of a row, nil if it cannot be read. Buf is one record
// long and may hold the answer.
func (o *originals) read(row int32, buf []byte) []byte {
	return o.mapping.read(int(row/groupRows), int(row%groupRows)*o.record, buf)
}

// offset is where the record of a row begins in the file.
func (o *originals) offset(row int32) int64 {
	return headBytes + int64(row/groupRows)*int64(o.mapping.group) + int64(row%groupRows)*int64(o.record)
}

// write stores vectors and the scales of their rows as the records of rows from
// first on.
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

// deleted reports whether the file is no longer at its path. Where that cannot be
// found out, it counts as being there.
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
	return errors.Join(o.mapping.unmap(), o.f.Close())
}

// catchFault runs f, which reads a mapped file, and ends f where the file was cut
// off: that is a fault of the processor, which would otherwise end the program.
func catchFault(f func()) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			if _, fault := r.(interface{ Addr() uintptr }); !fault {
				panic(r)
			}
		}
	}()
	f()
}
