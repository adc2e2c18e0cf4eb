package cache

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/meta/sqlite"
)

const (
	// notedUses is how many uses are written at once: a crash forgets as many.
	notedUses = 4096
	// trimRows is how many values one transaction deletes, and trimPages how many
	// pages it gives back: whoever writes meanwhile waits for one transaction.
	trimRows  = 200
	trimPages = 256
	// chunkUse stands for chunks where vectors have the number of their identity.
	chunkUse = 0
)

// A trimmer keeps a file within its bound: it notes when values were used last,
// and deletes those that were not used for longest. Safe for concurrent use.
type trimmer struct {
	file *file
	max  int64 // bytes
	now  func() time.Time

	ctx    context.Context // ends when the trimmer is stopped
	cancel context.CancelFunc
	wg     sync.WaitGroup

	noting sync.Mutex // held while uses are written, so that who evicts next sees them

	mu      sync.Mutex // guards the fields below
	running bool
	stopped bool
	written int64                     // bytes since the file was measured
	uses    map[int64]map[string]bool // digests of what was used, by identity or chunkUse
	count   int                       // of uses
}

func newTrimmer(f *file, max int64, now func() time.Time) *trimmer {
	t := &trimmer{file: f, max: max, now: now, uses: map[int64]map[string]bool{}}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t
}

// stop ends what runs in the background, waits for it, and writes the uses that
// were noted.
func (t *trimmer) stop(ctx context.Context) error {
	t.mu.Lock()
	t.stopped = true
	t.mu.Unlock()
	t.cancel()
	t.wg.Wait()
	return t.file.do(ctx, func(d *sqlite.DB) error { return t.writeUses(ctx, d) })
}

// start runs fn in the background unless something runs there already.
func (t *trimmer) start(fn func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running || t.stopped {
		return
	}
	t.running = true
	t.wg.Go(func() {
		fn()
		t.mu.Lock()
		defer t.mu.Unlock()
		t.running = false
	})
}

// hour is the time of a use as it is stored.
func (t *trimmer) hour() int64 { return t.now().Unix() / 3600 }

// used notes that values were read, by their digests: chunks, where of is
// chunkUse, else vectors of that identity. A read writes nothing itself.
func (t *trimmer) used(of int64, digests []string) {
	if len(digests) == 0 {
		return
	}
	t.mu.Lock()
	set := t.uses[of]
	if set == nil {
		set = make(map[string]bool, len(digests))
		t.uses[of] = set
	}
	before := len(set)
	for _, d := range digests {
		set[d] = true
	}
	t.count += len(set) - before
	full := t.count >= notedUses
	t.mu.Unlock()
	if full {
		t.start(func() { _ = t.file.do(t.ctx, func(d *sqlite.DB) error { return t.writeUses(t.ctx, d) }) })
	}
}

// writeUses stores what was used. When it returns, what another call has taken up
// is stored, too.
func (t *trimmer) writeUses(ctx context.Context, d *sqlite.DB) error {
	t.noting.Lock()
	defer t.noting.Unlock()
	t.mu.Lock()
	uses := t.uses
	t.uses, t.count = map[int64]map[string]bool{}, 0
	t.mu.Unlock()
	if len(uses) == 0 {
		return nil
	}
	hour := t.hour()
	return d.Write(ctx, "touch cache", func(tx *sql.Tx) error {
		for of, set := range uses {
			digests := make([]string, 0, len(set))
			for k := range set {
				digests = append(digests, k)
			}
			var err error
			if of == chunkUse {
				_, err = tx.ExecContext(ctx, `update chunk_cache set used = ? where key in (select unhex(value) from json_each(?))`, hour, sqlite.List(digests))
			} else {
				_, err = tx.ExecContext(ctx, `update vector_cache set used = ? where identity = ? and hash in (select unhex(value) from json_each(?))`,
					hour, of, sqlite.List(digests))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// wrote is told that size bytes were put into d, by a caller within [file.do]; 0
// means that nobody knows how full the file is. Now and then it measures the file,
// and has it trimmed in the background. Who writes faster than that is done helps.
func (t *trimmer) wrote(ctx context.Context, d *sqlite.DB, size int64) {
	t.mu.Lock()
	t.written += size
	due := size == 0 || t.written > min(t.max/32, 16<<20)
	if due {
		t.written = 0
	}
	t.mu.Unlock()
	if !due {
		return
	}
	used, err := d.UsedBytes(ctx)
	if err != nil || used <= t.max {
		return
	}
	t.start(func() { t.trim(t.ctx) })
	more := size > 0 // several writers may be as far ahead as each puts at once
	if more {
		err = t.writeUses(ctx, d) // else what is in use would go
	}
	for more && err == nil && used > t.max {
		if more, err = t.evict(ctx, d); err == nil {
			used, err = d.UsedBytes(ctx)
		}
	}
}

// trim deletes what was not used for longest until the file holds nine tenths of
// its bound, and gives the space back. It is done in many small transactions.
// What goes wrong is tried again with a later write.
func (t *trimmer) trim(ctx context.Context) {
	if t.file.do(ctx, func(d *sqlite.DB) error { return t.writeUses(ctx, d) }) != nil {
		return
	}
	for more := true; more && ctx.Err() == nil; {
		err := t.file.do(ctx, func(d *sqlite.DB) (err error) {
			more, err = t.evict(ctx, d)
			return err
		})
		if err != nil {
			return
		}
	}
	for free := int64(1); free > 0 && ctx.Err() == nil; {
		err := t.file.do(ctx, func(d *sqlite.DB) (err error) {
			free, err = d.Shrink(ctx, trimPages)
			return err
		})
		if err != nil {
			return
		}
	}
	// The file itself shrinks when the log is written back.
	_ = t.file.do(ctx, func(d *sqlite.DB) error { return d.Checkpoint(ctx, "checkpoint") })
}

// evict deletes some values and reports whether more may have to go.
func (t *trimmer) evict(ctx context.Context, d *sqlite.DB) (bool, error) {
	used, err := d.UsedBytes(ctx)
	if err != nil || used <= t.max/10*9 {
		return false, err
	}
	var chunks, vectors sql.NullInt64 // hour of the oldest use
	err = d.Row(ctx, "trim cache", `select (select min(used) from chunk_cache), (select min(used) from vector_cache)`).Scan(&chunks, &vectors)
	if err != nil {
		return false, err
	}
	query := `delete from chunk_cache where rowid in (select rowid from chunk_cache order by used, rowid limit ?)`
	switch {
	case !chunks.Valid && !vectors.Valid:
		return false, nil
	case !chunks.Valid || vectors.Valid && vectors.Int64 <= chunks.Int64:
		query = `delete from vector_cache where rowid in (select rowid from vector_cache order by used, rowid limit ?)`
	}
	_, err = d.Exec(ctx, "trim cache", query, trimRows)
	return true, err
}
