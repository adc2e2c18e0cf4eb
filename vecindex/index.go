// Package vecindex finds memories and chunks near a vector.
//
// One [Index] holds the vectors of one embedding identity as rows of bytes with a
// scale, and their originals as float16 in a file that is mapped where the system
// can. An exact scan of the bytes, ordered by the originals, is the reference.
// For many rows a faster [engine] is built in the background, a prefilter by sign
// bits or a graph; it serves only after its answers were compared with the scan's.
// A checksummed snapshot on disk spares reading everything again at start. All of
// it is derived: it can be deleted and rebuilt at any time.
//
// Open, Snapshot, Close, and Apply when it compacts, wait for the disk;
// searches wait only for the moment in which rows change.
package vecindex

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/vecindex/dot"
)

// An Index is the vectors of one embedding identity. It is safe for concurrent
// use.
type Index struct {
	// Rebuilt says why [Open] began with an empty index although there was a
	// snapshot: it was damaged, or made for another identity. "" if it did not.
	Rebuilt string

	dim     int
	state   *state
	store   *store
	builder *builder // nil before Serve

	changing  sync.Mutex // one change of rows at a time, held across I/O
	compactAt int        // guarded by changing: tombstones below which compaction is not tried again
}

// Open returns the index of vectors of the given identity and dimension that
// is kept in dir, which is made if it does not exist. What is damaged is moved
// aside, what is of another identity or dimension is dropped; both leave an
// empty index with seq 0 and a reason in [Index.Rebuilt]. Where too many files
// are open or memory is short, nothing is changed and the error is an
// ErrUnavailable.
func Open(dir, identity string, dim int) (*Index, error) {
	if dim < 1 || dim > maxDim || len(identity) > maxName {
		return nil, fmt.Errorf("open vectors %.80q of %d dimensions: %w", identity, dim, fold.ErrInvalid)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open vectors: %w", err)
	}
	t, seq, rebuilt, err := load(dir, identity, dim)
	if err != nil {
		return nil, fmt.Errorf("open vectors: %w", err)
	}
	st := newState(t, seq)
	return &Index{
		Rebuilt: rebuilt, dim: dim,
		state: st, store: &store{dir: dir, identity: identity, state: st},
	}, nil
}

// Serve has searches answered by the engine that setting names, or for [Auto] by
// that of the plan for so many rows, and builds and checks it in the background
// until Close. It is called at most once, before the index is shared; without it
// all rows are scanned. Slots are shared by the indexes of a program; nil gives
// this one its own.
func (x *Index) Serve(setting string, slots Slots) {
	x.builder = startBuilder(setting, x.store.dir, x.state, slots)
}

func (x *Index) wake() {
	if x.builder != nil {
		x.builder.wake()
	}
}

// Building reports whether something is built or checked in the background, which
// Close would end unfinished.
func (x *Index) Building() bool { return x.builder != nil && x.builder.busy() }

// Settle waits until everything is built, and checked anew, for the rows that are
// there.
func (x *Index) Settle(ctx context.Context) error {
	if x.builder == nil {
		return nil
	}
	return x.builder.wait(ctx)
}

// Apply drops and then puts keys as one step and records seq, the change it
// came from. A key that exists is replaced. It returns ErrInvalid if a vector or
// key cannot be stored, or the error of a disk that takes no originals; nothing
// is changed then.
func (x *Index) Apply(seq int64, put []Vec, drop []string) error {
	for _, v := range put {
		if v.Key == "" || len(v.Key) > maxName || len(v.Memory) > maxName {
			return fmt.Errorf("put vector %.40q of %.40q: %w", v.Key, v.Memory, fold.ErrInvalid)
		}
		if err := checkUnit(v.V, x.dim); err != nil {
			return fmt.Errorf("put vector %s: %w", v.Key, err)
		}
	}
	x.changing.Lock()
	defer x.changing.Unlock()
	t := x.state.table // only who holds changing replaces it or adds to it
	if t.len() > maxRows-len(put) {
		return fmt.Errorf("put %d vectors beside %d: too many: %w", len(put), t.len(), fold.ErrInvalid)
	}
	put, bytes, scales := t.changed(put, drop)
	if len(put) > 0 {
		if err := t.originals.write(int32(t.len()), put, scales); err != nil {
			return fmt.Errorf("put vectors: %w", err)
		}
	}
	if err := x.state.apply(t, seq, put, drop, bytes, scales); err != nil {
		return fmt.Errorf("put vectors: %w", err)
	}
	if t.deadCount > max(1024, int(staleShare*float64(t.len())), x.compactAt) {
		x.compactAt = 0
		if err := x.store.compact(); err != nil {
			x.compactAt = t.deadCount + 1024 // a full disk: the tombstones can wait
		}
	}
	x.wake()
	return nil
}

// Search returns the k nearest stored vectors to v that f lets pass, the nearest
// first, ties by key. It returns nil if v is not a vector of this index.
func (x *Index) Search(v []float32, k int, f *Filter) []Hit {
	if k <= 0 || checkUnit(v, x.dim) != nil {
		return nil
	}
	hits, unfit := x.state.search(nil, v, k, f)
	if unfit {
		x.wake() // a library panicked: its graph is built anew
	}
	return hits
}

// Scores returns the inner products of v with the stored vectors of keys: their
// cosines, where v has unit length. They come from the bytes of the vectors alone,
// which are off by about .0004 at 768 dimensions, and take less than a microsecond
// each. A key that is not stored has 0. It returns nil if v is not a vector of this
// index.
func (x *Index) Scores(v []float32, keys []string) []float64 {
	if len(keys) == 0 || checkUnit(v, x.dim) != nil {
		return nil
	}
	q := dot.NewQuery(v)
	out := make([]float64, len(keys))
	x.state.mu.RLock()
	defer x.state.mu.RUnlock()
	t := x.state.table
	for i, key := range keys {
		if row, ok := t.rows[key]; ok {
			out[i] = float64(q.One(t.ptr(row))) * float64(t.scale[row]) * float64(q.Scale)
		}
	}
	return out
}

// Vector returns the stored vector of key, of unit length.
func (x *Index) Vector(key string) ([]float32, bool) { return x.state.vector(key) }

// Has reports whether a vector is stored under key.
func (x *Index) Has(key string) bool {
	x.state.mu.RLock()
	defer x.state.mu.RUnlock()
	_, ok := x.state.table.rows[key]
	return ok
}

// Len returns how many vectors are stored.
func (x *Index) Len() int {
	x.state.mu.RLock()
	defer x.state.mu.RUnlock()
	return x.state.table.live()
}

// Seq returns the seq of the last Apply; after Open, that of the snapshot. The
// caller applies what is later.
func (x *Index) Seq() int64 {
	x.state.mu.RLock()
	defer x.state.mu.RUnlock()
	return x.state.seq
}

// Report returns what answers searches at the moment.
func (x *Index) Report() Report {
	r := x.state.serving.Load().report
	if r.Engine == "" {
		r.Engine = Exact
	}
	if x.state.damaged.Load() {
		r.Why += "; originals are damaged, all vectors are stored again at the next start"
	}
	return r
}

// Engine names what answers searches.
func (x *Index) Engine() string { return x.Report().Engine }

// Snapshot writes the index, and its graph if that serves, to disk where they
// changed since the last one. Changes and searches go on meanwhile.
func (x *Index) Snapshot() error { return x.store.save() }

// SnapshotWithin has a snapshot written within d, in the background, unless one
// is due already: a snapshot is as large as the index, and what it lacks after a
// crash is made again. One that fails is written by the next, or by Close.
func (x *Index) SnapshotWithin(d time.Duration) { x.store.saveWithin(d) }

// Close ends what is built in the background and writes a snapshot. A call that
// comes later finds an empty index that stores nothing.
func (x *Index) Close() error {
	if x.builder != nil {
		x.builder.close()
	}
	x.store.stopTimer()
	err := x.store.save()
	x.changing.Lock()
	defer x.changing.Unlock()
	return errors.Join(err, x.store.close())
}
