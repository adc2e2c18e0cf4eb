package vecindex

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A snapshot is one file: mark, header, rows, and the SHA-256 of all that comes
// before it. The sum is compared before anything else is looked at, and what is
// decoded is still checked, since a sum can be right by intent. Tombstones are in
// it, since a row's number is its place in the file of originals, which the
// generation names, and its node in a graph.
const (
	snapshotName = "vectors.snap"
	damagedName  = "vectors.damaged"
	snapshotMark = "foldwatch vectors 2\n" // the format number is in it
	maxName      = 1 << 12                 // bytes of a key, memory id or identity
)

var errDamaged = errors.New("damaged")

// Open returns the index of vectors of the given identity and dimension that
// is kept in dir, which is made if it does not exist. What is damaged is moved
// aside, what is of another identity or dimension is dropped; both leave an
// empty index with seq 0 and a reason in [Index.Rebuilt]. What only cannot be
// read now, for there are too many open files or too little memory, is left as it
// is: that is an error.
func Open(dir, identity string, dim int) (*Index, error) {
	if dim < 1 || dim > maxDim || len(identity) > maxName {
		return nil, fmt.Errorf("open vectors %.80q of %d dimensions: %w", identity, dim, fold.ErrInvalid)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open vectors: %w", err)
	}
	x := newIndex(dir, identity, dim)
	err := x.load()
	if disk.Exhausted(err) || errors.Is(err, syscall.ENOMEM) {
		return nil, fmt.Errorf("open vectors: %w: %w", fold.ErrUnavailable, err)
	}
	if err != nil {
		reason := err.Error()
		path := filepath.Join(dir, snapshotName)
		if errors.Is(err, errDamaged) {
			err = os.Rename(path, filepath.Join(dir, damagedName))
		} else {
			err = os.Remove(path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("open vectors: set aside what is %s: %w", reason, err)
		}
		x = newIndex(dir, identity, dim)
		x.Rebuilt = reason
		if x.t.originals, err = openOriginals(dir, x.t); err != nil {
			return nil, fmt.Errorf("open vectors: %w", err)
		}
	}
	x.removeOthers()
	return x, nil
}

// load reads the snapshot into an empty x and opens the originals. The error
// says why nothing was read, and is errDamaged where something should have been.
func (x *Index) load() (err error) {
	f, err := os.Open(filepath.Join(x.dir, snapshotName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		x.Rebuilt = x.setAside()
	case err != nil:
		return err
	default:
		err = x.decode(f)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return err
		}
	}
	x.t.originals, err = openOriginals(x.dir, x.t)
	return err
}

// setAside says why there is no snapshot, if that is known.
func (x *Index) setAside() string {
	if _, err := os.Lstat(filepath.Join(x.dir, damagedName)); err != nil {
		return ""
	}
	return "vectors were set aside as damaged"
}

// removeOthers removes files of other generations: a crash left them. A file
// that stays costs only its room.
func (x *Index) removeOthers() {
	entries, err := os.ReadDir(x.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if n := e.Name(); strings.HasPrefix(n, originalsPrefix) && n != originalsName(x.t.generation) || strings.HasSuffix(n, ".tmp") {
			_ = os.Remove(filepath.Join(x.dir, n))
		}
	}
}

// Snapshot writes the index to disk if it changed since the last one. The file
// is replaced as a whole or not at all. Changes and searches go on meanwhile.
// Where an original was found damaged the snapshot is set aside instead, so that
// the next Open begins anew. Where the index was deleted, nothing is written: what lies
// there now is another's.
func (x *Index) Snapshot() error {
	x.saving.Lock()
	defer x.saving.Unlock()
	if x.closed {
		return nil
	}
	if x.damaged.Load() {
		err := os.Rename(filepath.Join(x.dir, snapshotName), filepath.Join(x.dir, damagedName))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("set aside vectors: %w", err)
		}
		return nil
	}
	x.mu.RLock()
	version, saved, seq := x.version, x.saved, x.seq
	var t *table
	if version != saved {
		t = x.t.frozen()
	}
	x.mu.RUnlock()
	if t != nil && t.originals.deleted() {
		return fmt.Errorf("write vectors: %s was deleted while it was open: %w", x.dir, fold.ErrUnavailable)
	}
	if t != nil {
		if err := x.write(t, seq); err != nil {
			return fmt.Errorf("write vectors: %w", err)
		}
		x.mu.Lock()
		x.saved = version
		x.mu.Unlock()
		for _, name := range x.old {
			_ = os.Remove(filepath.Join(x.dir, name)) // else at the next start
		}
		x.old = nil
	}
	return nil
}

// keptGraph is the graph as it was last written.
type keptGraph struct {
	generation uint64
	nodes      int64
}

// keepGraph writes the graph if at least that share of its rows came since it
// was written.
func (x *Index) keepGraph(share float64) error {
	x.saving.Lock()
	defer x.saving.Unlock()
	if x.closed || x.damaged.Load() {
		return nil
	}
	x.mu.RLock()
	var g *graph
	var t *table
	if x.graph != nil && x.graph.generation == x.t.generation {
		g, t = x.graph.frozen(), x.t.frozen()
	}
	x.mu.RUnlock()
	if g == nil || t.originals.deleted() {
		return nil
	}
	now := keptGraph{g.generation, g.nodes.Load()}
	if now == x.kept || now.generation == x.kept.generation && float64(now.nodes-x.kept.nodes) < share*float64(now.nodes) {
		return nil
	}
	if err := g.save(x.dir, t); err != nil {
		return fmt.Errorf("write graph of vectors: %w", err)
	}
	x.kept = now
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
		_ = errors.Join(x.Snapshot(), x.keepGraph(.1)) // Close says what is wrong if it stays so
	})
}

// write stores t, whose originals reach the disk first.
func (x *Index) write(t *table, seq int64) error {
	if err := t.originals.f.Sync(); err != nil {
		return err
	}
	return replaceFile(x.dir, snapshotName, func(w io.Writer) error { return encode(w, t, x.identity, seq) })
}

// replaceFile writes a file and the SHA-256 of what write puts into it, and has
// it take the place of the one of that name once it is on disk.
func replaceFile(dir, name string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(dir, "vectors-*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // no longer there once it is renamed
	sum := sha256.New()
	w := bufio.NewWriterSize(io.MultiWriter(f, sum), 1<<18)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		_, err = f.Write(sum.Sum(nil))
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	return err
}

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

func appendName(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint16(b, uint16(len(s))), s...)
}

// verified returns what comes before the checksum in f once it is proved right.
func verified(f io.ReadSeeker, mark string) (*reader, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	body := size - sha256.Size
	if body < int64(len(mark)) {
		return nil, fmt.Errorf("%w: too short", errDamaged)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	h := sha256.New()
	if _, err := io.CopyN(h, f, body); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if err := sumFollows(f, h); err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	r := &reader{r: bufio.NewReaderSize(f, 1<<18), left: body}
	if got := string(r.take(len(mark))); got != mark {
		return nil, errors.New("of another format")
	}
	return r, nil
}

func sumFollows(f io.Reader, h hash.Hash) error {
	got := make([]byte, sha256.Size)
	if _, err := io.ReadFull(f, got); err != nil || !bytes.Equal(got, h.Sum(nil)) {
		return fmt.Errorf("%w: checksum differs", errDamaged)
	}
	return nil
}

// decode fills an empty x. The error is errDamaged, or says that the snapshot
// is of another identity or dimension; x is then half filled.
func (x *Index) decode(f io.ReadSeeker) error {
	r, err := verified(f, snapshotMark)
	if err != nil {
		return fmt.Errorf("vector snapshot is %w", err)
	}
	identity, dim := r.name(), int(r.uint32())
	generation, count, seq := r.uint64(), r.uint64(), int64(r.uint64())
	if r.failed {
		return fmt.Errorf("vector snapshot is %w: header is cut off", errDamaged)
	}
	if identity != x.identity || dim != x.dim {
		return fmt.Errorf("vector snapshot is of %q with %d dimensions", identity, dim)
	}
	t := x.t
	t.generation = generation
	if least := uint64(2 + 2 + 4 + t.stride); count > maxRows || count > uint64(r.left)/least {
		return fmt.Errorf("vector snapshot is %w: %d rows in %d bytes", errDamaged, count, r.left)
	}
	n := int(count)
	t.keys, t.scale = make([]string, 0, n), make([]float32, 0, n)
	t.owner, t.next = make([]int32, 0, n), make([]int32, 0, n)
	t.rows = make(map[string]int32, n)
	t.dead, t.own = newBitset(n)[:0], newBitset(n)[:0]
	for row := range int32(n) {
		key, mem, scale := r.name(), r.name(), math.Float32frombits(r.uint32())
		if _, twice := t.rows[key]; twice || !(scale > 0) || math.IsInf(float64(scale), 0) {
			return fmt.Errorf("vector snapshot is %w: row %d", errDamaged, row)
		}
		b, _ := t.add(key, fold.ID(mem), scale)
		r.into(b)
		padding(b[t.dim:])
		if key == "" {
			t.drop(key)
		}
	}
	if r.failed || r.left != 0 {
		return fmt.Errorf("vector snapshot is %w: wrong size", errDamaged)
	}
	x.seq = seq
	return nil
}

// padding sets what is behind the components of a row, whatever was read.
func padding(b []byte) {
	for i := range b {
		b[i] = 128
	}
}

// A reader takes values off the front of a file; it fails for good where that
// ends.
type reader struct {
	r      io.Reader
	left   int64
	buf    []byte
	failed bool
}

// take returns the next n bytes, until the next call.
func (r *reader) take(n int) []byte {
	if cap(r.buf) < n {
		r.buf = make([]byte, n)
	}
	r.into(r.buf[:n])
	return r.buf[:n]
}

// into fills b.
func (r *reader) into(b []byte) {
	if !r.failed && int64(len(b)) <= r.left {
		if _, err := io.ReadFull(r.r, b); err == nil {
			r.left -= int64(len(b))
			return
		}
	}
	r.failed = true
	clear(b)
}

func (r *reader) uint32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *reader) uint64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }
func (r *reader) name() string {
	return string(r.take(int(binary.LittleEndian.Uint16(r.take(2)))))
}
