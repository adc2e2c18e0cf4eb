package vecindex

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A snapshot is one file: magic, header, rows, and the SHA-256 of all that
// comes before it. The sum is compared before anything else is looked at, and
// what is decoded is still checked, since a sum can be right by intent.
const (
	snapshotName = "vectors.snap"
	damagedName  = "vectors.damaged"
	snapshotMark = "foldwatch vectors 1\n" // the format number is in it
	maxName      = 1 << 12                 // bytes of a key, memory id or identity
)

var errDamaged = errors.New("damaged")

// Open returns the index of vectors of the given identity and dimension that
// is kept in dir, which is made if it does not exist. A snapshot that is
// damaged is moved aside, one of another identity or dimension is dropped; both
// leave an empty index with seq 0 and a reason in [Index.Rebuilt].
func Open(dir, identity string, dim int) (*Index, error) {
	if dim < 1 || dim > maxDim || len(identity) > maxName {
		return nil, fmt.Errorf("open vectors %.80q of %d dimensions: %w", identity, dim, fold.ErrInvalid)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open vectors: %w", err)
	}
	x := newIndex(dir, identity, dim)
	path := filepath.Join(dir, snapshotName)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return x, nil
	}
	if err == nil {
		err = x.decode(b)
	}
	if err == nil {
		return x, nil
	}
	reason := err.Error()
	x = newIndex(dir, identity, dim)
	x.Rebuilt = reason
	if errors.Is(err, errDamaged) {
		err = os.Rename(path, filepath.Join(dir, damagedName))
	} else {
		err = os.Remove(path)
	}
	if err != nil {
		return nil, fmt.Errorf("open vectors: set aside what is %s: %w", reason, err)
	}
	return x, nil
}

// Snapshot writes the index to disk if it changed since the last one. The file
// is replaced as a whole or not at all. Changes and searches go on meanwhile.
func (x *Index) Snapshot() (err error) {
	x.saving.Lock()
	defer x.saving.Unlock()
	if x.closed {
		return nil
	}
	x.mu.RLock()
	version, saved := x.version, x.saved
	var c *Index
	if version != saved {
		c = x.clone()
	}
	x.mu.RUnlock()
	if c == nil {
		return nil
	}
	if err := c.write(); err != nil {
		return fmt.Errorf("write vectors: %w", err)
	}
	x.mu.Lock()
	x.saved = version
	x.mu.Unlock()
	return nil
}

// SnapshotWithin has a snapshot written within d, in the background, unless one
// is due already: a snapshot is as large as the index, and what it lacks after a
// crash is made again. One that fails is written by the next, or by Close.
func (x *Index) SnapshotWithin(d time.Duration) {
	x.later.Lock()
	defer x.later.Unlock()
	if x.timer != nil {
		return
	}
	x.timer = time.AfterFunc(d, func() {
		x.later.Lock()
		x.timer = nil
		x.later.Unlock()
		_ = x.Snapshot() // Close says what is wrong if it stays so
	})
}

// Close writes a snapshot. The index must not be used afterwards.
func (x *Index) Close() error {
	x.later.Lock()
	if x.timer != nil {
		x.timer.Stop()
	}
	x.later.Unlock()
	err := x.Snapshot()
	x.saving.Lock()
	defer x.saving.Unlock()
	x.closed = true // a timer that had fired finds the door shut
	return err
}

// clone returns what [Index.encode] needs, sharing nothing that changes.
func (x *Index) clone() *Index {
	return &Index{
		dir: x.dir, identity: x.identity, dim: x.dim, words: x.words, seq: x.seq, dead: x.dead,
		keys: slices.Clone(x.keys), mems: slices.Clone(x.mems),
		arena: slices.Clone(x.arena), scale: slices.Clone(x.scale),
	}
}

func (x *Index) write() error {
	f, err := os.CreateTemp(x.dir, "vectors-*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // no longer there once it is renamed
	err = x.encode(f)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(x.dir, snapshotName))
	}
	return err
}

// encode writes the live rows and the checksum.
func (x *Index) encode(to io.Writer) error {
	sum := sha256.New()
	w := bufio.NewWriterSize(io.MultiWriter(to, sum), 1<<18)
	var b []byte
	b = append(b, snapshotMark...)
	b = appendName(b, x.identity)
	b = binary.LittleEndian.AppendUint32(b, uint32(x.dim))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(x.keys)-x.dead))
	b = binary.LittleEndian.AppendUint64(b, uint64(x.seq))
	if _, err := w.Write(b); err != nil {
		return err
	}
	for row, key := range x.keys {
		if key == "" {
			continue
		}
		b = appendName(appendName(b[:0], key), string(x.mems[row]))
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x.scale[row]))
		for _, word := range x.arena[row*x.words : (row+1)*x.words] {
			b = binary.LittleEndian.AppendUint64(b, word)
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := to.Write(sum.Sum(nil))
	return err
}

func appendName(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint16(b, uint16(len(s))), s...)
}

// decode fills an empty x. The error is errDamaged, or says that the snapshot
// is of another identity or dimension; x is then half filled.
func (x *Index) decode(b []byte) error {
	body := len(b) - sha256.Size
	if body < len(snapshotMark) || sha256.Sum256(b[:body]) != [sha256.Size]byte(b[body:]) {
		return fmt.Errorf("vector snapshot is %w: checksum differs", errDamaged)
	}
	r := reader{b: b[:body]}
	if mark := string(r.take(len(snapshotMark))); mark != snapshotMark {
		return errors.New("vector snapshot has another format number")
	}
	identity, dim := r.name(), int(r.uint32())
	count, seq := r.uint64(), int64(r.uint64())
	if r.failed {
		return fmt.Errorf("vector snapshot is %w: header is cut off", errDamaged)
	}
	if identity != x.identity || dim != x.dim {
		return fmt.Errorf("vector snapshot is of %q with %d dimensions", identity, dim)
	}
	if least := uint64(2 + 1 + 2 + 4 + 8*x.words); count > uint64(len(r.b))/least {
		return fmt.Errorf("vector snapshot is %w: %d rows in %d bytes", errDamaged, count, len(r.b))
	}
	n := int(count)
	x.keys, x.mems = make([]string, 0, n), make([]fold.ID, 0, n)
	x.scale, x.sum = make([]float32, 0, n), make([]int32, 0, n)
	x.arena = make([]uint64, 0, n*x.words)
	x.rows = make(map[string]int32, n)
	for row := range n {
		key, mem, scale := r.name(), r.name(), math.Float32frombits(r.uint32())
		if _, twice := x.rows[key]; twice || key == "" || !(scale > 0) || math.IsInf(float64(scale), 0) {
			return fmt.Errorf("vector snapshot is %w: row %d", errDamaged, row)
		}
		sum := int32(0)
		for w := range x.words {
			word := r.uint64()
			x.arena = append(x.arena, word)
			for d := w * 8; d < min(w*8+8, x.dim); d++ {
				sum += int32(byte(word >> (uint(d%8) * 8)))
			}
		}
		x.rows[key] = int32(row)
		x.keys, x.mems = append(x.keys, key), append(x.mems, fold.ID(mem))
		x.scale, x.sum = append(x.scale, scale), append(x.sum, sum)
	}
	if r.failed || len(r.b) != 0 {
		return fmt.Errorf("vector snapshot is %w: wrong size", errDamaged)
	}
	x.seq = seq
	return nil
}

// A reader takes values off the front of b; it fails for good when b is short.
type reader struct {
	b      []byte
	failed bool
}

func (r *reader) take(n int) []byte {
	if r.failed || n > len(r.b) {
		r.failed = true
		return make([]byte, n)
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) uint32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *reader) uint64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }
func (r *reader) name() string {
	return string(r.take(int(binary.LittleEndian.Uint16(r.take(2)))))
}
