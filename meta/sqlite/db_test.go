package meta

import (
	"path/filepath"
	"testing"
)

// TestMakeRoom: a transaction of thousands of rows has a page cache of its own
// size, and the next small one gives it back.
func TestMakeRoom(t *testing.T) {
	t.Parallel()
	d, err := openDB(t.Context(), filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	for _, step := range []struct{ changes, cache, log int }{
		{1, -8000, 4000}, {roomAt, -16000, 16000}, {2 * roomAt, -16000, 16000}, {roomAt - 1, -8000, 4000}, {1, -8000, 4000},
	} {
		d.makeRoom(t.Context(), step.changes)
		var cache, log int
		if err := d.w.QueryRow(`pragma cache_size`).Scan(&cache); err != nil {
			t.Fatal(err)
		}
		if err := d.w.QueryRow(`pragma wal_autocheckpoint`).Scan(&log); err != nil {
			t.Fatal(err)
		}
		if cache != step.cache || log != step.log {
			t.Errorf("after %d changes the cache is %d and the log %d, want %d and %d", step.changes, cache, log, step.cache, step.log)
		}
	}
}
