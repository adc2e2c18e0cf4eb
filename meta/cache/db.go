package meta

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Cache is cache.db: chunks by blob, vectors by text, of all checkouts. It is a
// cache, so a damaged value is a miss and a damaged file is begun anew, also
// while it runs. Once it holds more than its bound, what was not used for longest
// goes, of whichever project it was. Safe for concurrent use.
type Cache struct {
	path string
	max  int64 // bytes
	now  func() time.Time

	mu      sync.RWMutex // guards db: held for writing only while it is reopened
	db      *db
	rebuilt string

	flushing sync.Mutex // one flush at a time
	soon     sync.Mutex // guards the fields below; not held across I/O
	waiting  map[string][]byte
	size     int               // bytes of waiting
	writing  map[string][]byte // what a flush has under way
	vectors  vectorsByIdentity // waiting, likewise
	count    int               // of vectors
	since    time.Time         // when the first of them came
	written  vectorsByIdentity // what a flush has under way

	trim trimmer
}

// vectorsByIdentity holds vectors by the embedder's identity and the text's hash.
type vectorsByIdentity map[string]map[string][]float32

const (
	formatCache = 3
	// cacheBytes bounds cache.db where the caller does not: the chunks and
	// 768-dimensional vectors of about 200,000 chunks.
	cacheBytes = 1 << 30
	// cacheBatch is how many values one statement carries.
	cacheBatch = 200
	// soonCount and soonBytes are how many chunk lists wait to be written
	// together: a transaction each was half of what the cache cost.
	soonCount = 512
	soonBytes = 1 << 20
	// soonVectors is how many vectors wait likewise, and soonMost for how long:
	// a crash may cost what was paid for within that time.
	soonVectors = 512
	soonMost    = 2 * time.Second
)

// castagnoli detects every flip that a disk makes; SQLite itself has no sums.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// OpenCache opens or creates cache.db at path, to hold at most 1 GiB. A damaged
// file, or one of another format, is begun anew.
func OpenCache(ctx context.Context, path string) (*Cache, error) {
	return OpenCacheWithin(ctx, path, cacheBytes)
}

// OpenCacheWithin is [OpenCache] with a bound of max bytes; 0 means 1 GiB.
func OpenCacheWithin(ctx context.Context, path string, max int64) (*Cache, error) {
	if max <= 0 {
		max = cacheBytes
	}
	return openCache(ctx, path, max, time.Now)
}

func openCache(ctx context.Context, path string, max int64, now func() time.Time) (*Cache, error) {
	c := &Cache{path: path, max: max, now: now}
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	c.trim.init()
	c.wrote(ctx, 0) // the bound may be lower than it was
	return c, nil
}

// open sets c.db. The caller holds c.mu or is alone.
func (c *Cache) open(ctx context.Context) error {
	d, err := c.openFile(ctx)
	var old *formatError
	switch {
	case err == nil:
		c.db = d
		return nil
	case damaged(err):
		c.rebuilt = err.Error()
		err = setAside(c.path)
	case errors.As(err, &old):
		c.rebuilt = err.Error()
		err = discard(c.path)
	}
	if err != nil {
		return err
	}
	c.db, err = c.openFile(ctx)
	return err
}

// openFile opens the file, or makes one.
func (c *Cache) openFile(ctx context.Context) (*db, error) {
	gone, err := missing(c.path)
	if err == nil && gone {
		err = makeShrinkable(ctx, c.path)
	}
	if err != nil {
		return nil, err
	}
	d, _, err := openFormat(ctx, c.path, "cache.sql", formatCache)
	return d, err
}

// A formatError says that a database was written by another version.
type formatError struct{ have, want int }

func (e *formatError) Error() string {
	return fmt.Sprintf("format %d, this program writes %d", e.have, e.want)
}

// openFormat opens a database that is never migrated, and creates its tables
// if it has none.
func openFormat(ctx context.Context, path, schema string, format int) (d *db, created bool, err error) {
	d, err = openDB(ctx, path)
	if err != nil {
		return nil, false, err
	}
	v, err := d.version(ctx)
	switch {
	case err != nil:
	case v == 0:
		created = true
		err = d.create(ctx, schema, format)
	case v != format:
		err = &formatError{have: v, want: format}
	}
	if err != nil {
		return nil, false, errors.Join(err, d.close())
	}
	return d, created, nil
}

// Rebuilt returns why the cache was begun anew, "" if it was not.
func (c *Cache) Rebuilt() string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.rebuilt
}

// Close writes what waits, ends what goes on in the background, and lets go of
// the file.
func (c *Cache) Close() error {
	err := c.Flush(context.Background())
	c.trim.end()
	err = errors.Join(err, c.do(context.Background(), func(d *db) error { return c.noteUsed(context.Background(), d) }))
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(err, c.db.close())
}

// do runs fn; if that finds the file damaged, the file is begun anew and fn
// runs once more.
func (c *Cache) do(ctx context.Context, fn func(*db) error) error {
	c.mu.RLock()
	d := c.db
	err := fn(d)
	c.mu.RUnlock()
	if !damaged(err) {
		return err
	}
	c.mu.Lock()
	if c.db == d { // else another call was first
		_ = d.close()
		c.rebuilt = err.Error()
		if err := setAside(c.path); err != nil {
			c.mu.Unlock()
			return err
		}
		if err := c.open(ctx); err != nil {
			c.mu.Unlock()
			return err
		}
	}
	c.mu.Unlock()
	c.mu.RLock()
	defer c.mu.RUnlock()
	return fn(c.db)
}

func (c *Cache) hour() int64 { return c.now().Unix() / 3600 }

// Chunks returns what is cached under keys; what is missing was not, or was
// damaged.
func (c *Cache) Chunks(ctx context.Context, keys []string) (map[string][]byte, error) {
	all := make(map[string][]byte, len(keys))
	rest := c.unwritten(all, keys)
	if len(rest) == 0 {
		return all, nil
	}
	err := c.do(ctx, func(d *db) error {
		return c.get(ctx, d, all, `select hex(key), value, sum, used from chunk_cache where key in (select unhex(value) from json_each(?))`, chunkUse, nil, rest)
	})
	return all, err
}

// unwritten adds to all what waits to be written under keys, and returns the
// other keys.
func (c *Cache) unwritten(all map[string][]byte, keys []string) (rest []string) {
	c.soon.Lock()
	defer c.soon.Unlock()
	if len(c.waiting)+len(c.writing) == 0 {
		return keys
	}
	for _, key := range keys {
		value, ok := c.waiting[key]
		if !ok {
			value, ok = c.writing[key]
		}
		if ok {
			all[key] = value
		} else {
			rest = append(rest, key)
		}
	}
	return rest
}

// digest is what a key is stored as, in hex: keys are long, and stand in an
// index beside the table, too.
func digest(key string) string {
	return strings.ToUpper(hex.EncodeToString(rawDigest(key))) // as hex() writes it
}

func rawDigest(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:16]
}

// get adds values to all by keys and notes them as used, at most once an hour
// each: a read writes nothing. Of which kind they are says of, see used.
func (c *Cache) get(ctx context.Context, d *db, all map[string][]byte, read string, of int64, first []any, keys []string) error {
	var old []string
	hour := c.hour()
	for len(keys) > 0 {
		part := keys[:min(len(keys), 1000)]
		keys = keys[len(part):]
		digests, names := make([]string, len(part)), make(map[string]string, len(part))
		for i, key := range part {
			digests[i] = digest(key)
			names[digests[i]] = key
		}
		err := d.each(ctx, "read cache", func(scan func(...any) error) error {
			var key string
			var value []byte
			var sum, used int64
			if err := scan(&key, &value, &sum, &used); err != nil {
				return err
			}
			if int64(crc32.Checksum(value, castagnoli)) != sum {
				return nil // a miss: it will be computed and written again
			}
			if used != hour {
				old = append(old, key)
			}
			if value == nil {
				value = []byte{} // an empty value is one, too
			}
			all[names[key]] = value
			return nil
		}, read, append(slices.Clip(first), list(digests))...)
		if err != nil {
			return err
		}
	}
	c.used(of, old)
	return nil
}

// PutChunksSoon caches value under key, together with others: when enough of
// them wait, or at the next Flush. Reads find it at once. Value is kept.
func (c *Cache) PutChunksSoon(ctx context.Context, key string, value []byte) error {
	c.soon.Lock()
	if c.waiting == nil {
		c.waiting = make(map[string][]byte)
	}
	c.waiting[key] = value
	c.size += len(value)
	full := len(c.waiting) >= soonCount || c.size >= soonBytes
	c.soon.Unlock()
	if !full {
		return nil
	}
	return c.Flush(ctx)
}

// Flush writes what waits. What a crash before it loses is computed again. It
// goes on when ctx is done: what waits came from many callers, and may have been
// paid for.
func (c *Cache) Flush(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	c.flushing.Lock()
	defer c.flushing.Unlock()
	c.soon.Lock()
	values, vectors := c.waiting, c.vectors
	c.writing, c.waiting, c.size = values, nil, 0
	c.written, c.vectors, c.count = vectors, nil, 0
	c.soon.Unlock()
	var err error
	if len(values) > 0 {
		err = c.PutChunks(ctx, values)
	}
	for identity, v := range vectors {
		err = errors.Join(err, c.writeVectors(ctx, identity, v))
	}
	c.soon.Lock()
	c.writing, c.written = nil, nil
	c.soon.Unlock()
	return err
}

// PutChunks caches values under their keys.
func (c *Cache) PutChunks(ctx context.Context, values map[string][]byte) error {
	return c.do(ctx, func(d *db) error {
		hour, size := c.hour(), int64(0)
		in := newInserter(`insert or replace into chunk_cache (key, value, sum, used) values `, 4, cacheBatch)
		err := d.write(ctx, "write cache", func(tx *sql.Tx) error {
			defer in.close()
			for key, value := range values {
				if value == nil {
					value = []byte{}
				}
				size += int64(len(value)) + valueOverhead
				if err := in.add(ctx, tx, rawDigest(key), value, int64(crc32.Checksum(value, castagnoli)), hour); err != nil {
					return err
				}
			}
			return in.flush(ctx, tx)
		})
		if err != nil {
			return err
		}
		c.wrote(ctx, size)
		return nil
	})
}

// Vectors returns the cached vectors of texts, by the texts' hashes, as the
// embedder called identity made them.
func (c *Cache) Vectors(ctx context.Context, identity string, hashes []string) (map[string][]float32, error) {
	all := make(map[string][]float32, len(hashes))
	if hashes = c.unwrittenVectors(all, identity, hashes); len(hashes) == 0 {
		return all, nil
	}
	err := c.do(ctx, func(d *db) error {
		var id int64
		err := d.r.QueryRowContext(ctx, `select id from identities where name = ?`, identity).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return d.wrap(err, "read cache")
		}
		values := make(map[string][]byte, len(hashes))
		err = c.get(ctx, d, values,
			`select hex(hash), value, sum, used from vector_cache where identity = ? and hash in (select unhex(value) from json_each(?))`, id, []any{id}, hashes)
		for hash, b := range values {
			all[hash] = decodeVector(b)
		}
		return err
	})
	return all, err
}

// unwrittenVectors adds to all what waits to be written, and returns the other
// hashes.
func (c *Cache) unwrittenVectors(all map[string][]float32, identity string, hashes []string) (rest []string) {
	c.soon.Lock()
	defer c.soon.Unlock()
	waiting, writing := c.vectors[identity], c.written[identity]
	if len(waiting)+len(writing) == 0 {
		return hashes
	}
	for _, hash := range hashes {
		v, ok := waiting[hash]
		if !ok {
			v, ok = writing[hash]
		}
		if ok {
			all[hash] = slices.Clone(v)
		} else {
			rest = append(rest, hash)
		}
	}
	return rest
}

// PutVectors caches vectors by the hashes of their texts, together with others:
// when enough of them wait, when the first has waited for soonMost, or at the
// next Flush. Reads find them at once. The vectors are kept.
func (c *Cache) PutVectors(ctx context.Context, identity string, vectors map[string][]float32) error {
	c.soon.Lock()
	if c.count == 0 {
		c.since = c.now()
	}
	if c.vectors == nil {
		c.vectors = vectorsByIdentity{}
	}
	if c.vectors[identity] == nil {
		c.vectors[identity] = make(map[string][]float32, len(vectors))
	}
	maps.Copy(c.vectors[identity], vectors)
	c.count += len(vectors)
	full := c.count >= soonVectors || c.now().Sub(c.since) >= soonMost
	c.soon.Unlock()
	if !full {
		return nil
	}
	return c.Flush(ctx)
}

func (c *Cache) writeVectors(ctx context.Context, identity string, vectors map[string][]float32) error {
	return c.do(ctx, func(d *db) error {
		hour, size := c.hour(), int64(0)
		in := newInserter(`insert or replace into vector_cache (identity, hash, value, sum, used) values `, 5, cacheBatch)
		err := d.write(ctx, "write cache", func(tx *sql.Tx) error {
			defer in.close()
			var id int64
			err := tx.QueryRowContext(ctx, `insert into identities (name) values (?)
				on conflict do update set name = excluded.name returning id`, identity).Scan(&id)
			if err != nil {
				return err
			}
			for hash, v := range vectors {
				b := encodeVector(v)
				size += int64(len(b)) + valueOverhead
				if err := in.add(ctx, tx, id, rawDigest(hash), b, int64(crc32.Checksum(b, castagnoli)), hour); err != nil {
					return err
				}
			}
			return in.flush(ctx, tx)
		})
		if err != nil {
			return err
		}
		c.wrote(ctx, size)
		return nil
	})
}

// Exact, so that an index made from the cache equals one made without it.
func encodeVector(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func decodeVector(b []byte) []float32 {
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}
