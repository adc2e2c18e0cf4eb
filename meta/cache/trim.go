package meta

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

const (
	// usedBatch is how many uses are noted at once: a crash forgets as many.
	usedBatch = 4096
	// trimRows is how many values one transaction deletes, and trimPages how many
	// pages it gives back: whoever writes meanwhile waits for one.
	trimRows  = 200
	trimPages = 256
	// chunkUse stands for chunks where vectors have the id of their identity.
	chunkUse = 0
	// valueOverhead is what a value takes beside its bytes: key, sum, hour, and
	// its place in two indexes.
	valueOverhead = 80
)

// A trimmer keeps a [Cache] within its bound.
type trimmer struct {
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	noting sync.Mutex // held while uses are written, so that who evicts next sees them

	mu      sync.Mutex // guards the fields below
	running bool
	ended   bool
	put     int64 // bytes written since the file was measured
	uses    map[int64]map[string]bool
	count   int // of uses
}

func (t *trimmer) init() {
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.uses = map[int64]map[string]bool{}
}

// end stops what runs and waits for it.
func (t *trimmer) end() {
	t.mu.Lock()
	t.ended = true
	t.mu.Unlock()
	t.cancel()
	t.wg.Wait()
}

// start runs fn in the background unless something runs there already.
func (t *trimmer) start(fn func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running || t.ended {
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

// used notes that values were read, by their digests. Of which kind they are
// says of: chunkUse, or the identity of vectors.
func (c *Cache) used(of int64, digests []string) {
	if len(digests) == 0 {
		return
	}
	t := &c.trim
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
	full := t.count >= usedBatch
	t.mu.Unlock()
	if full {
		t.start(func() { _ = c.do(t.ctx, func(d *db) error { return c.noteUsed(t.ctx, d) }) })
	}
}

// noteUsed writes down what was used. When it returns, what another call has
// taken up is written, too.
func (c *Cache) noteUsed(ctx context.Context, d *db) error {
	t := &c.trim
	t.noting.Lock()
	defer t.noting.Unlock()
	t.mu.Lock()
	uses := t.uses
	t.uses, t.count = map[int64]map[string]bool{}, 0
	t.mu.Unlock()
	if len(uses) == 0 {
		return nil
	}
	hour := c.hour()
	return d.write(ctx, "touch cache", func(tx *sql.Tx) error {
		for of, set := range uses {
			digests := make([]string, 0, len(set))
			for k := range set {
				digests = append(digests, k)
			}
			var err error
			if of == chunkUse {
				_, err = tx.ExecContext(ctx, `update chunk_cache set used = ? where key in (select unhex(value) from json_each(?))`, hour, list(digests))
			} else {
				_, err = tx.ExecContext(ctx, `update vector_cache set used = ? where identity = ? and hash in (select unhex(value) from json_each(?))`,
					hour, of, list(digests))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// wrote is told of size bytes that were put, by a caller within [Cache.do]. Now
// and then it measures the file, and has it trimmed in the background; who
// writes faster than that is done helps with it.
func (c *Cache) wrote(ctx context.Context, size int64) {
	t := &c.trim
	t.mu.Lock()
	t.put += size
	due := size == 0 || t.put > min(c.max/32, 16<<20)
	if due {
		t.put = 0
	}
	t.mu.Unlock()
	if !due {
		return
	}
	used, err := usedBytes(ctx, c.db)
	if err != nil || used <= c.max {
		return
	}
	t.start(func() { c.evict(t.ctx) })
	more := size > 0 // several writers may be as far ahead as each puts at once
	if more {
		err = c.noteUsed(ctx, c.db) // else what is in use would go
	}
	for more && err == nil && used > c.max {
		if more, err = c.evictSome(ctx, c.db); err == nil {
			used, err = usedBytes(ctx, c.db)
		}
	}
}

// evict deletes what was not used for longest until the file holds nine tenths
// of its bound, and gives the space back. It is done in many small transactions.
// What goes wrong is tried again with a later write.
func (c *Cache) evict(ctx context.Context) {
	if c.do(ctx, func(d *db) error { return c.noteUsed(ctx, d) }) != nil {
		return
	}
	for more := true; more && ctx.Err() == nil; {
		err := c.do(ctx, func(d *db) (err error) {
			more, err = c.evictSome(ctx, d)
			return err
		})
		if err != nil {
			return
		}
	}
	for free := int64(1); free > 0 && ctx.Err() == nil; {
		err := c.do(ctx, func(d *db) (err error) {
			free, err = shrink(ctx, d)
			return err
		})
		if err != nil {
			return
		}
	}
	_ = c.do(ctx, func(d *db) error { // the file itself shrinks when the log is written back
		_, err := d.exec(ctx, "checkpoint", "pragma wal_checkpoint(passive)")
		return err
	})
}

// evictSome deletes some values and reports whether more may have to go.
func (c *Cache) evictSome(ctx context.Context, d *db) (bool, error) {
	used, err := usedBytes(ctx, d)
	if err != nil || used <= c.max/10*9 {
		return false, err
	}
	var chunks, vectors sql.NullInt64 // hour of the oldest use
	err = d.w.QueryRowContext(ctx, `select (select min(used) from chunk_cache), (select min(used) from vector_cache)`).Scan(&chunks, &vectors)
	if err != nil {
		return false, d.wrap(err, "trim cache")
	}
	query := `delete from chunk_cache where rowid in (select rowid from chunk_cache order by used, rowid limit ?)`
	switch {
	case !chunks.Valid && !vectors.Valid:
		return false, nil
	case !chunks.Valid || vectors.Valid && vectors.Int64 <= chunks.Int64:
		query = `delete from vector_cache where rowid in (select rowid from vector_cache order by used, rowid limit ?)`
	}
	_, err = d.exec(ctx, "trim cache", query, trimRows)
	return true, err
}

// shrink gives some free pages back and returns how many are left.
func shrink(ctx context.Context, d *db) (int64, error) {
	var before, after int64
	count := func(n *int64) error {
		return d.wrap(d.w.QueryRowContext(ctx, "pragma freelist_count").Scan(n), "measure")
	}
	if err := count(&before); err != nil || before == 0 {
		return 0, err
	}
	// Each step gives back one page, so that it has to be run to its end.
	rows, err := d.w.QueryContext(ctx, fmt.Sprintf("pragma incremental_vacuum(%d)", trimPages))
	if err != nil {
		return 0, d.wrap(err, "shrink")
	}
	defer rows.Close()
	for rows.Next() {
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return 0, d.wrap(err, "shrink")
	}
	if err := count(&after); err != nil || after >= before {
		return 0, err // a file that cannot shrink
	}
	return after, nil
}

// makeShrinkable creates a database whose free pages can be given back, which
// has to be said before anything is in it.
func makeShrinkable(ctx context.Context, path string) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil // the opening says what is wrong
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil // likewise
	}
	if err := f.Close(); err != nil {
		return err
	}
	w, err := sql.Open("sqlite", fileURI(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	_, err = w.ExecContext(ctx, "pragma auto_vacuum = incremental; create table made (x integer) strict; drop table made")
	return err
}

func usedBytes(ctx context.Context, d *db) (int64, error) {
	var pages, free, size int64
	tx, err := d.r.BeginTx(ctx, nil) // one state for all: pages are given back meanwhile
	if err != nil {
		return 0, d.wrap(err, "measure")
	}
	defer tx.Rollback()
	for pragma, v := range map[string]*int64{"page_count": &pages, "freelist_count": &free, "page_size": &size} {
		if err := tx.QueryRowContext(ctx, "pragma "+pragma).Scan(v); err != nil {
			return 0, d.wrap(err, "measure")
		}
	}
	return (pages - free) * size, nil
}
