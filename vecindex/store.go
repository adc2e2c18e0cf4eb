package vecindex

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// damagedName is what a snapshot is renamed to that was found damaged.
const damagedName = "vectors.damaged"

// A store keeps an index on disk: the snapshot, the graph, and the originals of
// one generation.
type store struct {
	dir      string
	identity string
	state    *state

	mu       sync.Mutex // one save or compaction at a time, held across I/O; guards the fields below
	closed   bool       // nothing is written any more
	obsolete []string   // files to remove once the next snapshot is there
	saved    uint64     // version of the snapshot on disk
	graph    *graph     // on disk, with that many nodes
	nodes    int64

	timerMu sync.Mutex // guards timer
	timer   *time.Timer
}

// load returns the table in dir, or an empty one with the reason why there was a
// snapshot that cannot be used. One that is damaged is moved aside, one of another
// identity or dimension is removed. A lack of files or memory is an error, and
// changes nothing.
func load(dir, identity string, dim int) (t *table, seq int64, rebuilt string, err error) {
	t, seq, err = readSnapshot(dir, identity, dim)
	switch {
	case err == nil:
		removeOthers(dir, t.generation)
		return t, seq, "", nil
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(filepath.Join(dir, damagedName)); err == nil {
			rebuilt = "vectors were set aside as damaged"
		}
	case disk.Exhausted(err) || errors.Is(err, syscall.ENOMEM):
		return nil, 0, "", fmt.Errorf("%w: %w", fold.ErrUnavailable, err)
	default:
		rebuilt = err.Error()
		path := filepath.Join(dir, snapshotName)
		if errors.Is(err, errDamaged) {
			err = os.Rename(path, filepath.Join(dir, damagedName))
		} else {
			err = os.Remove(path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, 0, "", fmt.Errorf("set aside what is %s: %w", rebuilt, err)
		}
	}
	t = newTable(dim)
	if t.originals, err = openOriginals(dir, t.generation, dim, 0); err != nil {
		if disk.Exhausted(err) || errors.Is(err, syscall.ENOMEM) {
			err = fmt.Errorf("%w: %w", fold.ErrUnavailable, err)
		}
		return nil, 0, "", err
	}
	removeOthers(dir, t.generation)
	return t, 0, rebuilt, nil
}

// removeOthers removes files that a crash left of other generations. One that
// stays costs only its space.
func removeOthers(dir string, generation uint64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if n := e.Name(); strings.HasPrefix(n, originalsPrefix) && n != originalsName(generation) || strings.HasSuffix(n, ".tmp") {
			_ = os.Remove(filepath.Join(dir, n))
		}
	}
}

// save writes the snapshot, and the graph if that serves, where they changed since
// the last time. A file is replaced as a whole or not at all; changes and searches
// go on meanwhile. Where an original was found damaged the snapshot is set aside
// instead, so that the next Open begins anew. Where the folder was deleted nothing
// is written: what lies there now belongs to someone else.
func (s *store) save() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	if s.state.damaged.Load() {
		err := os.Rename(filepath.Join(s.dir, snapshotName), filepath.Join(s.dir, damagedName))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("set aside vectors: %w", err)
		}
		return nil
	}
	g, _ := s.state.serving.Load().engine.(*graph)
	var f *graph
	if g != nil {
		f = g.frozen() // before the table, which then has all its rows
	}
	t, version, seq := s.state.frozen()
	if f != nil && (f.generation != t.generation || g == s.graph && f.nodes.Load() == s.nodes) {
		f = nil
	}
	if version == s.saved && f == nil {
		return nil
	}
	if t.originals.deleted() {
		return fmt.Errorf("write vectors: %s was deleted while it was open: %w", s.dir, fold.ErrUnavailable)
	}
	if version != s.saved {
		if err := s.saveTable(t, seq); err != nil {
			return fmt.Errorf("write vectors: %w", err)
		}
		s.saved = version
	}
	if f != nil {
		if err := f.save(s.dir, t); err != nil {
			return fmt.Errorf("write graph of vectors: %w", err)
		}
		s.graph, s.nodes = g, f.nodes.Load()
	}
	return nil
}

// saveTable writes the snapshot of t, whose originals reach the disk first.
func (s *store) saveTable(t *table, seq int64) error {
	if err := t.originals.f.Sync(); err != nil {
		return err
	}
	if err := replaceFile(s.dir, snapshotName, func(w io.Writer) error { return encode(w, t, s.identity, seq) }); err != nil {
		return err
	}
	for _, name := range s.obsolete {
		_ = os.Remove(filepath.Join(s.dir, name)) // else at the next start
	}
	s.obsolete = nil
	return nil
}

// saveWithin has the index saved within d, in the background, unless that is due
// already.
func (s *store) saveWithin(d time.Duration) {
	s.timerMu.Lock()
	defer s.timerMu.Unlock()
	if s.timer != nil {
		return
	}
	s.timer = time.AfterFunc(d, func() {
		s.timerMu.Lock()
		s.timer = nil
		s.timerMu.Unlock()
		_ = s.save() // Close says what is wrong if it stays so
	})
}

func (s *store) stopTimer() {
	s.timerMu.Lock()
	defer s.timerMu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
}

// compact replaces the table by one of the next generation without tombstones. No
// rows may be added meanwhile.
func (s *store) compact() error {
	s.mu.Lock() // a save reads the originals of the old table
	defer s.mu.Unlock()
	old := s.state.table // only compaction replaces it
	t, from := old.compacted()
	var err error
	if t.originals, err = old.originals.compacted(s.dir, t.generation, t.dim, from); err != nil {
		return fmt.Errorf("compact vectors: %w", err)
	}
	s.state.replace(t)
	s.obsolete = append(s.obsolete, originalsName(old.generation))
	return old.originals.close() // no search uses them: each holds the state's lock
}

// close releases the originals. Whatever comes later finds an empty index.
func (s *store) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.state.clear().close()
}
