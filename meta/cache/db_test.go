package cache

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/sqlite"
)

func openTestCache(t *testing.T, dir string, max int64, now func() time.Time) *DB {
	t.Helper()
	c, err := open(context.Background(), dir, max, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// What waits is not lost to the caller whose work ends while it is written.
func TestFlushGoesOnPastTheEnd(t *testing.T) {
	dir := t.TempDir()
	c := openTestCache(t, dir, defaultMax, time.Now)
	if err := c.PutVectors(t.Context(), "paid", map[string][]float32{"h": {1}}); err != nil {
		t.Fatal(err)
	}
	if err := c.PutChunksSoon(t.Context(), "k", []byte("chunks")); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	_ = c.Flush(ended) // whether it tells does not matter
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = openTestCache(t, dir, defaultMax, time.Now)
	if vs, err := c.Vectors(t.Context(), "paid", []string{"h"}); err != nil || len(vs) != 1 {
		t.Errorf("Vectors = %v, %v", vs, err)
	}
	if b, err := c.Chunks(t.Context(), []string{"k"}); err != nil || len(b) != 1 {
		t.Errorf("Chunks = %v, %v", b, err)
	}
}

func TestCacheKeepsValues(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	c := openTestCache(t, dir, defaultMax, time.Now)
	want := map[string][]byte{"empty": {}}
	keys := []string{"missing", "empty"}
	for i := range 450 {
		key := fmt.Sprint("k", i)
		want[key] = bytes.Repeat([]byte{byte(i)}, i)
		keys = append(keys, key)
	}
	vectors := map[string][]float32{"h": {1.5, -0, math.SmallestNonzeroFloat32, 1e-9}}
	for range 2 {
		if err := c.PutChunks(ctx, want); err != nil {
			t.Fatal(err)
		}
		if err := c.PutVectors(ctx, "builtin", vectors); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = openTestCache(t, dir, defaultMax, time.Now)
	got, err := c.Chunks(ctx, keys)
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("Chunks: %v, -want +got %s", err, d)
	}
	vs, err := c.Vectors(ctx, "builtin", []string{"h", "missing"})
	if d := cmp.Diff(vectors, vs); err != nil || d != "" {
		t.Errorf("Vectors: %v, -want +got %s", err, d)
	}
	if vs, err := c.Vectors(ctx, "other model", []string{"h"}); err != nil || len(vs) != 0 {
		t.Errorf("Vectors of another model = %v, %v", vs, err)
	}
	if c.file.rebuilt != "" {
		t.Errorf("Rebuilt = %q", c.file.rebuilt)
	}
}

// TestCacheForgetsWhatWasNotUsed fills a small cache twice over while one half
// of the first values is read every hour.
func TestCacheForgetsWhatWasNotUsed(t *testing.T) {
	ctx := t.Context()
	now := time.Unix(1_700_000_000, 0)
	const max = 1 << 20
	c := openTestCache(t, t.TempDir(), max, func() time.Time { return now })
	put := func(from, n int) (keys []string) {
		values := map[string][]byte{}
		for i := range n {
			key := fmt.Sprint("k", from+i)
			keys = append(keys, key)
			values[key] = make([]byte, 1000)
		}
		if err := c.PutChunks(ctx, values); err != nil {
			t.Fatal(err)
		}
		return keys
	}
	used, idle := put(0, 250), put(1000, 250)
	for i := range 30 {
		now = now.Add(time.Hour)
		if _, err := c.Chunks(ctx, used); err != nil {
			t.Fatal(err)
		}
		put(10_000+i*40, 40)
		trimmed(t, c)
	}
	size, err := c.file.db.UsedBytes(ctx)
	if err != nil || size > max {
		t.Errorf("cache holds %d bytes, %v, bound %d", size, err, max)
	}
	a, err := c.Chunks(ctx, used)
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Chunks(ctx, idle)
	if err != nil || len(a) != len(used) || len(b) > len(idle)/2 {
		t.Errorf("kept %d of %d used, %d of %d idle, %v", len(a), len(used), len(b), len(idle), err)
	}
}

// TestCacheTouchesOnceAnHour counts writes: a read must seldom be one.
func TestCacheTouchesOnceAnHour(t *testing.T) {
	ctx := t.Context()
	now := time.Unix(1_700_000_000, 0)
	c := openTestCache(t, t.TempDir(), defaultMax, func() time.Time { return now })
	if err := c.PutChunks(ctx, map[string][]byte{"k": {1}}); err != nil {
		t.Fatal(err)
	}
	changes := func() (n int) {
		// Of the connection that writes.
		err := c.file.db.Write(ctx, "count", func(tx *sql.Tx) error { return tx.QueryRow("select total_changes()").Scan(&n) })
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := changes()
	for range 10 {
		if _, err := c.Chunks(ctx, []string{"k"}); err != nil {
			t.Fatal(err)
		}
	}
	if n := changes(); n != before {
		t.Errorf("%d reads within the hour made %d changes", 10, n-before)
	}
	now = now.Add(time.Hour)
	for range 10 {
		if _, err := c.Chunks(ctx, []string{"k"}); err != nil {
			t.Fatal(err)
		}
	}
	if n := changes(); n != before {
		t.Errorf("reads of the next hour made %d changes", n-before)
	}
	if err := c.Close(); err != nil { // then what was used is noted, all at once
		t.Fatal(err)
	}
	d, err := sqlite.Open(ctx, c.file.derived.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var used int64
	if err := d.Row(ctx, "read", "select used from chunk_cache").Scan(&used); err != nil || used != now.Unix()/3600 {
		t.Errorf("last use = %d, %v, want %d", used, err, now.Unix()/3600)
	}
}

func TestDamagedCacheIsBegunAnew(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	path := filepath.Join(dir, "cache.db")
	fill := func(c *DB) {
		t.Helper()
		all := map[string][]byte{}
		for i := range 200 {
			all[fmt.Sprint("k", i)] = make([]byte, 500)
		}
		if err := c.PutChunks(ctx, all); err != nil {
			t.Fatal(err)
		}
	}
	c := openTestCache(t, dir, defaultMax, time.Now)
	fill(c)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Repeat([]byte("x"), 9000), 0o600); err != nil {
		t.Fatal(err)
	}
	c = openTestCache(t, dir, defaultMax, time.Now)
	if c.file.rebuilt == "" {
		t.Error("damage at the start was not seen")
	}
	fill(c)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	// Damage that shows only when the page is read.
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096; i < len(b); i++ {
		b[i] ^= 0x5a
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	c = openTestCache(t, dir, defaultMax, time.Now)
	if got, err := c.Chunks(ctx, []string{"k1"}); err != nil || len(got) != 0 {
		t.Errorf("Chunks of a damaged file = %d, %v, want misses", len(got), err)
	}
	fill(c)
	if got, err := c.Chunks(ctx, []string{"k1"}); err != nil || len(got) != 1 {
		t.Errorf("Chunks after it was begun anew = %d, %v", len(got), err)
	}
}

func TestDamagedValueIsAMiss(t *testing.T) {
	ctx := t.Context()
	c := openTestCache(t, t.TempDir(), defaultMax, time.Now)
	if err := c.PutChunks(ctx, map[string][]byte{"k": {1, 2, 3}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.file.db.Exec(ctx, "damage", "update chunk_cache set value = x'010203ff'"); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Chunks(ctx, []string{"k"}); err != nil || len(got) != 0 {
		t.Errorf("Chunks = %v, %v, want a miss", got, err)
	}
}

func TestCacheWritesManyTogether(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	c := openTestCache(t, dir, defaultMax, time.Now)
	var keys []string
	for i := range 3*pendingChunks + 5 {
		key := fmt.Sprint("k", i)
		keys = append(keys, key)
		if err := c.PutChunksSoon(ctx, key, []byte(key)); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Chunks(ctx, []string{key, "missing"}); err != nil || len(got) != 1 || string(got[key]) != key {
			t.Fatalf("Chunks = %v, %v", got, err)
		}
	}
	stored := func() (n int) {
		if err := c.file.db.Row(ctx, "count", `select count(*) from chunk_cache`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := stored(); n != 3*pendingChunks {
		t.Errorf("%d are stored, want %d: one transaction for %d", n, 3*pendingChunks, pendingChunks)
	}
	if err := c.Flush(ctx); err != nil || stored() != len(keys) {
		t.Errorf("Flush = %v, %d are stored of %d", err, stored(), len(keys))
	}
	if err := c.PutChunksSoon(ctx, "last", []byte{1}); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = openTestCache(t, dir, defaultMax, time.Now)
	if got, err := c.Chunks(ctx, append(keys, "last")); err != nil || len(got) != len(keys)+1 {
		t.Errorf("after Close: %d of %d, %v", len(got), len(keys)+1, err)
	}
}

func TestCacheWritesManyVectorsTogether(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	now := time.Unix(1e9, 0)
	c := openTestCache(t, dir, defaultMax, func() time.Time { return now })
	stored := func() (n int) {
		if err := c.file.db.Row(ctx, "count", `select count(*) from vector_cache`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	put := func(identity, hash string) {
		t.Helper()
		if err := c.PutVectors(ctx, identity, map[string][]float32{hash: {1, 2}}); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Vectors(ctx, identity, []string{hash, "missing"}); err != nil || len(got) != 1 || len(got[hash]) != 2 {
			t.Fatalf("Vectors = %v, %v", got, err)
		}
	}
	put("a", "h")
	put("b", "h")
	if n := stored(); n != 0 {
		t.Errorf("%d are stored at once", n)
	}
	now = now.Add(pendingTime)
	put("a", "i")
	if n := stored(); n != 3 {
		t.Errorf("%d of 3 are stored after %v", n, pendingTime)
	}
	for i := range pendingVectors {
		put("a", fmt.Sprint(i))
	}
	if n := stored(); n != 3+pendingVectors {
		t.Errorf("%d of %d are stored", n, 3+pendingVectors)
	}
	put("b", "last")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = openTestCache(t, dir, defaultMax, time.Now)
	if got, err := c.Vectors(ctx, "b", []string{"h", "i", "last"}); err != nil || len(got) != 2 {
		t.Errorf("after Close: %v, %v", got, err)
	}
}
