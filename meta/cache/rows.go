package cache

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"math"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

const (
	// insertRows is how many values one statement carries.
	insertRows = 200
	// valueOverhead is how many bytes a value takes beside itself: key, sum, hour,
	// and its place in two indexes.
	valueOverhead = 80
)

// castagnoli detects every flip that a disk makes; SQLite itself has no sums.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sumOf(value []byte) int64 { return int64(crc32.Checksum(value, castagnoli)) }

// rawDigest is what a key is stored as: keys are long, and stand in an index
// beside the table, too.
func rawDigest(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:16]
}

// digest is rawDigest in hex.
func digest(key string) string {
	return strings.ToUpper(hex.EncodeToString(rawDigest(key))) // as hex() of SQL writes it
}

// readChunks adds to all the chunks of keys that are stored, and returns the
// digests of those last used in another hour.
func readChunks(ctx context.Context, d *sqlite.DB, all map[string][]byte, keys []string, hour int64) (old []string, err error) {
	return readValues(ctx, d, all, keys, hour,
		`select hex(key), value, sum, used from chunk_cache where key in (select unhex(value) from json_each(?))`)
}

// readVectors is readChunks for the vectors of an embedder. It also returns the
// number of the embedder's identity.
func readVectors(ctx context.Context, d *sqlite.DB, all map[string][]float32, identity string, hashes []string, hour int64) (number int64, old []string, err error) {
	err = d.Row(ctx, "read cache", `select id from identities where name = ?`, identity).Scan(&number)
	if errors.Is(err, fold.ErrNotFound) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	values := make(map[string][]byte, len(hashes))
	old, err = readValues(ctx, d, values, hashes, hour,
		`select hex(hash), value, sum, used from vector_cache where identity = ? and hash in (select unhex(value) from json_each(?))`, number)
	for hash, b := range values {
		all[hash] = decodeVector(b)
	}
	return number, old, err
}

// readValues adds to all the values of keys that query finds; the digests of the
// keys are its last argument. Old are the digests of those last used in another
// hour.
func readValues(ctx context.Context, d *sqlite.DB, all map[string][]byte, keys []string, hour int64, query string, args ...any) (old []string, err error) {
	for part := range slices.Chunk(keys, 1000) {
		digests, names := make([]string, len(part)), make(map[string]string, len(part))
		for i, key := range part {
			digests[i] = digest(key)
			names[digests[i]] = key
		}
		err := d.Each(ctx, "read cache", func(scan func(...any) error) error {
			var key string
			var value []byte
			var sum, used int64
			if err := scan(&key, &value, &sum, &used); err != nil {
				return err
			}
			if sumOf(value) != sum {
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
		}, query, append(slices.Clip(args), sqlite.List(digests))...)
		if err != nil {
			return nil, err
		}
	}
	return old, nil
}

// writeChunks stores values by their keys and returns how many bytes they take.
func writeChunks(ctx context.Context, d *sqlite.DB, values map[string][]byte, hour int64) (size int64, err error) {
	in := sqlite.NewInserter(`insert or replace into chunk_cache (key, value, sum, used) values `, 4, insertRows)
	err = d.Write(ctx, "write cache", func(tx *sql.Tx) error {
		defer in.Close()
		for key, value := range values {
			if value == nil {
				value = []byte{}
			}
			size += int64(len(value)) + valueOverhead
			if err := in.Add(ctx, tx, rawDigest(key), value, sumOf(value), hour); err != nil {
				return err
			}
		}
		return in.Flush(ctx, tx)
	})
	return size, err
}

// writeVectors is writeChunks for the vectors of an embedder.
func writeVectors(ctx context.Context, d *sqlite.DB, identity string, vectors map[string][]float32, hour int64) (size int64, err error) {
	in := sqlite.NewInserter(`insert or replace into vector_cache (identity, hash, value, sum, used) values `, 5, insertRows)
	err = d.Write(ctx, "write cache", func(tx *sql.Tx) error {
		defer in.Close()
		var number int64
		err := tx.QueryRowContext(ctx, `insert into identities (name) values (?)
			on conflict do update set name = excluded.name returning id`, identity).Scan(&number)
		if err != nil {
			return err
		}
		for hash, v := range vectors {
			b := encodeVector(v)
			size += int64(len(b)) + valueOverhead
			if err := in.Add(ctx, tx, number, rawDigest(hash), b, sumOf(b), hour); err != nil {
				return err
			}
		}
		return in.Flush(ctx, tx)
	})
	return size, err
}

// encodeVector is exact, so that an index made from the cache equals one made
// without it.
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
