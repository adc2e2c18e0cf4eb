// Package cache keeps cache.db: what was costly to compute, by the hash of what it
// was computed from, for all checkouts. A damaged value is a miss, and a damaged
// file is begun anew, also while it is used. Once the file exceeds its bound, what
// was not used for longest goes, of whichever project it was.
package cache

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// defaultMax bounds cache.db where the caller does not: the chunks and
// 768-dimensional vectors of about 200,000 chunks.
const defaultMax = 1 << 30

// A DB is cache.db: chunks by blob, vectors by text. Safe for concurrent use.
type DB struct {
	file    *file
	trim    *trimmer
	now     func() time.Time
	pending pending

	flushing sync.Mutex // held by the one flush that goes on
}

// Open opens or creates dir/cache.db, to hold at most max bytes; 0 means 1 GiB. A
// damaged file, or one of another format, is begun anew.
func Open(ctx context.Context, dir string, max int64) (*DB, error) {
	return open(ctx, dir, max, time.Now)
}

func open(ctx context.Context, dir string, max int64, now func() time.Time) (*DB, error) {
	if max <= 0 {
		max = defaultMax
	}
	f := &file{derived: sqlite.Derived{Path: filepath.Join(dir, "cache.db"), Schema: schema, Format: format, Shrinks: true}}
	if err := f.open(ctx); err != nil {
		return nil, err
	}
	c := &DB{file: f, trim: newTrimmer(f, max, now), now: now}
	c.trim.wrote(ctx, f.db, 0) // the bound may be lower than it was
	return c, nil
}

// Close writes what waits, ends what goes on in the background, and lets go of
// the file.
func (c *DB) Close() error {
	ctx := context.Background()
	return errors.Join(c.Flush(ctx), c.trim.stop(ctx), c.file.close())
}

// Chunks returns what is cached under keys; what is missing was not, or was
// damaged.
func (c *DB) Chunks(ctx context.Context, keys []string) (map[string][]byte, error) {
	all := make(map[string][]byte, len(keys))
	if keys = c.pending.chunks(all, keys); len(keys) == 0 {
		return all, nil
	}
	err := c.file.do(ctx, func(d *sqlite.DB) error {
		old, err := readChunks(ctx, d, all, keys, c.trim.hour())
		c.trim.used(chunkUse, old)
		return err
	})
	return all, err
}

// PutChunks caches values under their keys.
func (c *DB) PutChunks(ctx context.Context, values map[string][]byte) error {
	return c.file.do(ctx, func(d *sqlite.DB) error {
		size, err := writeChunks(ctx, d, values, c.trim.hour())
		if err == nil {
			c.trim.wrote(ctx, d, size)
		}
		return err
	})
}

// PutChunksSoon caches value under key, together with others: when enough of
// them wait, or at the next Flush. Reads find it at once. The caller must not
// change value any more.
func (c *DB) PutChunksSoon(ctx context.Context, key string, value []byte) error {
	if !c.pending.addChunks(key, value) {
		return nil
	}
	return c.Flush(ctx)
}

// Vectors returns the cached vectors of texts, by the texts' hashes, as the
// embedder called identity made them.
func (c *DB) Vectors(ctx context.Context, identity string, hashes []string) (map[string][]float32, error) {
	all := make(map[string][]float32, len(hashes))
	if hashes = c.pending.vectorsOf(all, identity, hashes); len(hashes) == 0 {
		return all, nil
	}
	err := c.file.do(ctx, func(d *sqlite.DB) error {
		number, old, err := readVectors(ctx, d, all, identity, hashes, c.trim.hour())
		c.trim.used(number, old)
		return err
	})
	return all, err
}

// PutVectors caches vectors by the hashes of their texts, together with others:
// when enough of them wait, when the first has waited for two seconds, or at the
// next Flush. Reads find them at once. The caller must not change the vectors any
// more.
func (c *DB) PutVectors(ctx context.Context, identity string, vectors map[string][]float32) error {
	if !c.pending.addVectors(identity, vectors, c.now()) {
		return nil
	}
	return c.Flush(ctx)
}

// Flush writes what waits. What a crash before it loses is computed again. It
// goes on when ctx is done: what waits came from many callers, and may have been
// paid for.
func (c *DB) Flush(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	c.flushing.Lock()
	defer c.flushing.Unlock()
	b := c.pending.begin()
	defer c.pending.end()
	var err error
	if len(b.chunks) > 0 {
		err = c.PutChunks(ctx, b.chunks)
	}
	for identity, vectors := range b.vectors {
		err = errors.Join(err, c.putVectors(ctx, identity, vectors))
	}
	return err
}

func (c *DB) putVectors(ctx context.Context, identity string, vectors map[string][]float32) error {
	return c.file.do(ctx, func(d *sqlite.DB) error {
		size, err := writeVectors(ctx, d, identity, vectors, c.trim.hour())
		if err == nil {
			c.trim.wrote(ctx, d, size)
		}
		return err
	})
}
