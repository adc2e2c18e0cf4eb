// Package vecindex finds memories and chunks near a vector.
//
// One [Index] holds the vectors of one embedding identity as rows of bytes with
// a scale, and their originals as float16 in a file mapped from disk. An exact
// scan of the bytes, ranked by the originals, is the reference. What is faster,
// a prefilter by sign bits or a graph, serves only where it was measured against
// the scan and found as good: the recall gate, see [Index.Serve]. A checksummed
// snapshot on disk spares reading everything again at start. All of it is
// derived: it can be deleted and rebuilt at any time.
package vecindex

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/vecindex/dot"
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

// maxRows bounds the rows of an index, tombstones included.
const maxRows = math.MaxInt32 - 1

// unitTolerance is how far the squared length of a vector may be from 1:
// float16 and int8 originals come back a little off.
const unitTolerance = 0.02

// An Index is the vectors of one embedding identity. It is safe for concurrent
// use; searches run beside each other and wait for the moment in which Apply
// changes rows, not for its writing to disk.
type Index struct {
	// Rebuilt says why [Open] began with an empty index although there was a
	// snapshot: it was damaged, or made for another identity. "" if it did not.
	Rebuilt string

	dir      string
	identity string
	dim      int

	saving sync.Mutex // one Snapshot or compaction at a time; taken after changing
	closed bool       // guarded by saving: no snapshot is written any more
	old    []string   // guarded by saving: files to remove once the next snapshot is there
	kept   keptGraph  // guarded by saving: the graph on disk

	later sync.Mutex // guards timer
	timer *time.Timer

	changing  sync.Mutex // one change of rows at a time; taken before mu, held across I/O
	uncompact int        // guarded by changing: tombstones below which compaction is not tried again

	mu             sync.RWMutex // guards the fields below; not held across I/O
	seq            int64
	t              *table
	version, saved uint64 // changes made, and of those in the snapshot
	serves         served
	graph          *graph // our own, of the table's generation or an older one; nil until built
	drift          drift  // from the rows that were measured

	asked   recent        // has its own lock
	damaged atomic.Bool   // an original could not be read
	tending               // see tend.go
	ended   chan struct{} // closed when nothing is built any more; nil before Serve
}

func newIndex(dir, identity string, dim int) *Index {
	return &Index{dir: dir, identity: identity, dim: dim, t: newTable(dim)}
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
// came from. A key that exists is replaced. It returns ErrInvalid if a vector or
// key cannot be stored, and the error of a disk that takes no originals; nothing
// is changed then.
func (x *Index) Apply(seq int64, put []Vec, drop []string) error {
	for _, v := range put {
		if v.Key == "" || len(v.Key) > maxName || len(v.Memory) > maxName {
			return fmt.Errorf("put vector %.40q of %.40q: %w", v.Key, v.Memory, fold.ErrInvalid)
		}
		if err := x.check(v.V); err != nil {
			return fmt.Errorf("put vector %s: %w", v.Key, err)
		}
	}
	x.changing.Lock()
	defer x.changing.Unlock()
	t := x.t // only who holds changing replaces it or adds to it
	if t.len() > maxRows-len(put) {
		return fmt.Errorf("put %d vectors beside %d: too many: %w", len(put), t.len(), fold.ErrInvalid)
	}
	put, bytes, scales := t.news(put, drop)
	if len(put) > 0 {
		if err := t.originals.write(int32(t.len()), put, scales); err != nil {
			return fmt.Errorf("put vectors: %w", err)
		}
	}
	if err := x.applyRows(t, seq, put, drop, bytes, scales); err != nil {
		return fmt.Errorf("put vectors: %w", err)
	}
	if t.deadCount > max(1024, t.len()/4, x.uncompact) {
		if err := x.compact(); err != nil {
			x.uncompact = t.deadCount + 1024 // a full disk: the tombstones can wait
		}
	}
	x.wake()
	return nil
}

func (x *Index) applyRows(t *table, seq int64, put []Vec, drop []string, bytes []byte, scales []float32) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := t.originals.reserve(t.len() + len(put)); err != nil {
		return err
	}
	for _, key := range drop {
		t.drop(key)
		x.drift.note(key)
	}
	for i, v := range put {
		t.drop(v.Key)
		x.drift.note(v.Key)
		b, row := t.add(v.Key, v.Memory, scales[i])
		copy(b, bytes[i*t.stride:])
		if t.sketch != nil {
			t.sketch.add(row, b)
		}
	}
	x.seq = seq
	x.version++
	return nil
}

// Compact drops tombstones. Apply does so by itself when they are a quarter.
func (x *Index) Compact() error {
	x.changing.Lock()
	defer x.changing.Unlock()
	if x.t.deadCount == 0 {
		return nil
	}
	return x.compact()
}

// compact replaces the table by one of the next generation. The caller holds
// changing.
func (x *Index) compact() (err error) {
	x.saving.Lock() // a snapshot reads the originals of the old table
	defer x.saving.Unlock()
	old := x.t
	t, from := old.compacted()
	if t.originals, err = createOriginals(x.dir, t, old.originals, from); err != nil {
		return fmt.Errorf("compact vectors: %w", err)
	}
	x.mu.Lock()
	x.t = t
	x.serves = served{} // until it is measured again
	x.version++
	x.mu.Unlock()
	x.uncompact = 0
	x.old = append(x.old, originalsName(old.generation))
	return old.originals.close() // no search uses them: each holds mu
}

// Search returns the k nearest stored vectors to q that f lets pass, the nearest
// first, ties by key. It returns nil if q is not a vector of this index.
func (x *Index) Search(q []float32, k int, f *Filter) []Hit {
	if k <= 0 || x.check(q) != nil {
		return nil
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.tended.Load() && x.mayWalk(x.t.live()) {
		if x.asked.add(q) && x.serves.way != nil {
			x.wake() // what serves was measured without them
		}
	}
	return x.searchBy(x.serves, q, k, f)
}

// searchBy is Search by what s says. The caller holds mu.
func (x *Index) searchBy(s served, q []float32, k int, f *Filter) []Hit {
	pass, n := x.t.passing(f)
	hits, damaged := s.search(x.t, &ask{v: q, q: dot.NewQuery(q), pass: pass, passing: n}, k)
	if damaged {
		x.damaged.Store(true)
	}
	return hits
}

// Vector returns the stored vector of key, of unit length.
func (x *Index) Vector(key string) ([]float32, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	row, ok := x.t.rows[key]
	if !ok {
		return nil, false
	}
	return x.t.vector(row), true
}

// Has reports whether a vector is stored under key.
func (x *Index) Has(key string) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	_, ok := x.t.rows[key]
	return ok
}

// Len returns how many vectors are stored.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.t.live()
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

// Close ends what is built in the background and writes a snapshot. The index
// must not be used afterwards.
func (x *Index) Close() error {
	x.stopTending()
	x.later.Lock()
	if x.timer != nil {
		x.timer.Stop()
	}
	x.later.Unlock()
	err := errors.Join(x.Snapshot(), x.keepGraph(0))
	x.changing.Lock()
	defer x.changing.Unlock()
	x.saving.Lock()
	defer x.saving.Unlock()
	if x.closed {
		return err
	}
	x.closed = true // a timer that had fired finds the door shut
	x.mu.Lock()
	defer x.mu.Unlock()
	gone := x.t.originals
	x.t, x.serves, x.graph = newTable(x.dim), served{}, nil // who comes late finds nothing, and stores nothing
	x.t.originals = gone
	return errors.Join(err, gone.close())
}

// recent keeps the last queries, by which an engine is measured.
type recent struct {
	mu   sync.Mutex
	ring [][]float32
	next int
}

// recentQueries is how many of them.
const recentQueries = 64

// add keeps a query, and reports whether with it there are as many as are kept,
// for the first time.
func (r *recent) add(q []float32) (full bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ring) < recentQueries {
		r.ring = append(r.ring, slices.Clone(q))
		return len(r.ring) == recentQueries
	}
	copy(r.ring[r.next], q)
	r.next = (r.next + 1) % recentQueries
	return false
}

func (r *recent) full() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ring) == recentQueries
}

// all returns copies.
func (r *recent) all() [][]float32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([][]float32, len(r.ring))
	for i, q := range r.ring {
		out[i] = slices.Clone(q)
	}
	return out
}
