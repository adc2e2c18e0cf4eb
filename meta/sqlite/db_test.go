package sqlite

import (
	"path/filepath"
	"testing"
)

// TestExpectChanges: a transaction of thousands of rows has a page cache of its own
// size, and the next small one gives it back.
func TestExpectChanges(t *testing.T) {
	t.Parallel()
	d, err := Open(t.Context(), filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, step := range []struct{ changes, cache, log int }{
		{1, -8000, 4000}, {bulkChanges, -16000, 16000}, {2 * bulkChanges, -16000, 16000}, {bulkChanges - 1, -8000, 4000}, {1, -8000, 4000},
	} {
		d.ExpectChanges(t.Context(), step.changes)
		var cache, log int
		if err := d.writer.QueryRow(`pragma cache_size`).Scan(&cache); err != nil {
			t.Fatal(err)
		}
		if err := d.writer.QueryRow(`pragma wal_autocheckpoint`).Scan(&log); err != nil {
			t.Fatal(err)
		}
		if cache != step.cache || log != step.log {
			t.Errorf("after %d changes the cache is %d and the log %d, want %d and %d", step.changes, cache, log, step.cache, step.log)
		}
	}
}
