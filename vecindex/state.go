package vecindex

import (
	"sync"
	"sync/atomic"

	"github.com/foldwatch/foldwatch/vecindex/dot"
)

// state is what searches read. Apply changes the rows, compaction the table, the
// builder what serves.
type state struct {
	mu      sync.RWMutex // guards the fields below; not held across I/O
	seq     int64        // of the last Apply
	version uint64       // counts changes
	table   *table

	serving atomic.Pointer[serving] // never nil; stored under mu, so that it is of the table or fits nothing
	damaged atomic.Bool             // an original could not be read
}

func newState(t *table, seq int64) *state {
	st := &state{table: t, seq: seq}
	st.serving.Store(&serving{})
	return st
}

// apply drops and puts rows. T is the table, to which only the caller adds rows.
func (st *state) apply(t *table, seq int64, put []Vec, drop []string, bytes []byte, scales []float32) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if err := t.originals.reserve(t.len() + len(put)); err != nil {
		return err
	}
	for _, key := range drop {
		t.drop(key)
	}
	for i, v := range put {
		t.drop(v.Key)
		b := t.add(v.Key, v.Memory, scales[i])
		copy(b, bytes[i*t.stride:])
	}
	st.seq = seq
	st.version++
	return nil
}

// replace takes the table of the next generation. The exact scan serves until the
// builder has made an engine for it.
func (st *state) replace(t *table) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.table = t
	st.version++
	st.serving.Store(&serving{})
}

// publish has s answer searches if the table is still of that generation.
func (st *state) publish(s *serving, generation uint64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.table.generation == generation {
		st.serving.Store(s)
	}
}

// frozen returns the table as it is now, and its version and seq.
func (st *state) frozen() (t *table, version uint64, seq int64) {
	st.mu.RLock()
	defer st.mu.RUnlock()
	return st.table.frozen(), st.version, st.seq
}

// search answers by s, or by what serves if s is nil. Unfit says that the engine
// cannot search the table any more: the scan answered.
func (st *state) search(s *serving, v []float32, k int, f *Filter) (hits []Hit, unfit bool) {
	q := &query{v: v, bytes: dot.NewQuery(v)}
	st.mu.RLock()
	defer st.mu.RUnlock()
	if s == nil {
		s = st.serving.Load()
	}
	q.pass, q.passing = st.table.passing(f)
	hits, damaged := s.search(st.table, q, k)
	if damaged {
		st.damaged.Store(true)
	}
	return hits, s.engine != nil && !s.engine.fits(st.table)
}

// vector returns the stored vector of key.
func (st *state) vector(key string) ([]float32, bool) {
	st.mu.RLock()
	defer st.mu.RUnlock()
	row, ok := st.table.rows[key]
	if !ok {
		return nil, false
	}
	return st.table.vector(row), true
}

// sample returns up to n stored vectors, evenly spread over the rows.
func (st *state) sample(n int) [][]float32 {
	st.mu.RLock()
	defer st.mu.RUnlock()
	t := st.table
	var out [][]float32
	last := int32(-1)
	for i := range n {
		row := max(int32(int64(t.len())*int64(i)/int64(n)), last+1)
		for int(row) < t.len() && t.dead.has(row) {
			row++
		}
		if int(row) < t.len() {
			out, last = append(out, t.vector(row)), row
		}
	}
	return out
}

// release gives back the memory of originals that were read.
func (st *state) release() {
	st.mu.RLock()
	defer st.mu.RUnlock()
	st.table.originals.mapping.release()
}

// clear leaves an empty table over the same originals, which the caller closes:
// later calls find nothing and store nothing.
func (st *state) clear() *originals {
	st.mu.Lock()
	defer st.mu.Unlock()
	gone := st.table.originals
	st.table = newTable(st.table.dim)
	st.table.originals = gone
	st.serving.Store(&serving{})
	return gone
}
