package cache

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// trimmed waits until nothing is trimmed any more.
func trimmed(t *testing.T, c *DB) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(20 * time.Second); ; {
		c.trim.mu.Lock()
		running := c.trim.running
		c.trim.mu.Unlock()
		if !running {
			return
		}
		select {
		case <-deadline:
			t.Fatal("trimming does not end")
		case <-tick.C:
		}
	}
}

func putHour(t *testing.T, c *DB, hour, n, size int) (keys []string) {
	t.Helper()
	values, vectors := map[string][]byte{}, map[string][]float32{}
	for i := range n {
		key := fmt.Sprintf("h%d/%d", hour, i)
		keys = append(keys, key)
		values[key] = make([]byte, size)
		vectors[key] = make([]float32, size/4)
	}
	if err := c.PutChunks(t.Context(), values); err != nil {
		t.Fatal(err)
	}
	if err := c.PutVectors(t.Context(), "builtin", vectors); err != nil {
		t.Fatal(err)
	}
	return keys
}

// TestCacheEvictsInOrderOfUse: what goes is older than what stays, of chunks and
// of vectors.
func TestCacheEvictsInOrderOfUse(t *testing.T) {
	ctx := t.Context()
	now := time.Unix(1_700_000_000, 0)
	var mu sync.Mutex
	c := openTestCache(t, t.TempDir(), 2<<20, func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	})
	var hours [][]string
	for h := range 16 {
		mu.Lock()
		now = now.Add(time.Hour)
		mu.Unlock()
		hours = append(hours, putHour(t, c, h, 100, 1000))
		if _, err := c.Chunks(ctx, hours[0]); err != nil { // the first are used all the time
			t.Fatal(err)
		}
		trimmed(t, c)
	}
	if size, err := c.file.db.UsedBytes(ctx); err != nil || size > 2<<20 {
		t.Errorf("the file holds %d bytes, %v", size, err)
	}
	kept := func(keys []string) (int, int) {
		a, err := c.Chunks(ctx, keys)
		if err != nil {
			t.Fatal(err)
		}
		b, err := c.Vectors(ctx, "builtin", keys)
		if err != nil {
			t.Fatal(err)
		}
		return len(a), len(b)
	}
	if a, _ := kept(hours[0]); a != 100 {
		t.Errorf("%d of the 100 in use are left", a)
	}
	full := false
	for h := 1; h < 16; h++ {
		a, b := kept(hours[h])
		if full && (a < 100 || b < 100) {
			t.Errorf("hour %d kept %d chunks and %d vectors, an older one more", h, a, b)
		}
		full = full || a == 100 && b == 100
	}
	if a, b := kept(hours[1]); a+b > 0 || !full {
		t.Errorf("the oldest hour kept %d chunks and %d vectors; one is whole: %v", a, b, full)
	}
}

// TestCacheGivesSpaceBack: a lower bound makes the file smaller, in the
// background and for good.
func TestCacheGivesSpaceBack(t *testing.T) {
	ctx := t.Context()
	dir := filepath.Join(t.TempDir(), "new")
	path := filepath.Join(dir, "cache.db")
	c := openTestCache(t, dir, 64<<20, time.Now)
	for h := range 8 {
		putHour(t, c, h, 500, 2000)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	before := fileSize(t, path)
	c = openTestCache(t, dir, 2<<20, time.Now)
	trimmed(t, c)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if after := fileSize(t, path); before < 12<<20 || after > 2<<20+1<<18 {
		t.Errorf("the file has %d bytes, before %d, bound %d", after, before, 2<<20)
	}
	c = openTestCache(t, dir, 2<<20, time.Now)
	if keys := putHour(t, c, 9, 10, 100); len(keys) != 10 {
		t.Fatal(keys)
	} else if got, err := c.Chunks(ctx, keys); err != nil || len(got) != 10 {
		t.Errorf("%d of 10 are found, %v", len(got), err)
	}
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return fi.Size()
}

// TestCacheHoldsItsBoundUnderLoad: several writers and readers at once; what is
// found is right, and the file never holds much more than its bound.
func TestCacheHoldsItsBoundUnderLoad(t *testing.T) {
	const max = 1 << 20
	dir := t.TempDir()
	c := openTestCache(t, dir, max, time.Now)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 25 {
				values := map[string][]byte{}
				for k := range 40 {
					key := fmt.Sprintf("%d/%d/%d", w, i, k)
					values[key] = []byte(fmt.Sprintf("%01000d%s", 0, key))
				}
				if err := c.PutChunks(ctx, values); err != nil {
					t.Error(err)
					return
				}
				var keys []string
				for k := range values {
					keys = append(keys, k)
				}
				got, err := c.Chunks(ctx, append(keys, fmt.Sprintf("%d/0/0", w)))
				if err != nil {
					t.Error(err)
				}
				for k, v := range got {
					if string(v[1000:]) != k {
						t.Errorf("the value of %s is that of %s", k, v[1000:])
					}
				}
				if used, err := c.file.db.UsedBytes(ctx); err != nil || used > max+max/4 {
					t.Errorf("the file holds %d bytes, %v, bound %d", used, err, max)
				}
			}
		})
	}
	wg.Wait()
	trimmed(t, c)
	if used, err := c.file.db.UsedBytes(ctx); err != nil || used > max+max/16 {
		t.Errorf("in the end the file holds %d bytes, %v, bound %d", used, err, max)
	}
}

// TestCacheNotesUsesBeforeAnyoneEvicts has several writers note what was used:
// whoever is done may evict by it, so that what others took up must be written.
func TestCacheNotesUsesBeforeAnyoneEvicts(t *testing.T) {
	ctx := t.Context()
	var now atomic.Int64
	now.Store(1_700_000_000)
	c := openTestCache(t, t.TempDir(), defaultMax, func() time.Time { return time.Unix(now.Load(), 0) })
	keys := putHour(t, c, 0, 8, 10)
	for range 50 {
		now.Add(3600)
		if _, err := c.Chunks(ctx, keys); err != nil {
			t.Fatal(err)
		}
		var noting sync.WaitGroup
		for range 4 {
			noting.Go(func() {
				var old int
				err := c.trim.writeUses(ctx, c.file.db)
				if err == nil {
					err = c.file.db.Row(ctx, "count", `select count(*) from chunk_cache where used < ?`, c.trim.hour()).Scan(&old)
				}
				if err != nil || old > 0 {
					t.Errorf("%d uses are not written, %v", old, err)
				}
			})
		}
		noting.Wait()
	}
}
