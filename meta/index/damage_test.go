package index_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/foldwatch/foldwatch/meta/index"
)

// filled writes an index of some hundred pages and closes it.
func filled(t *testing.T, dir string) {
	t.Helper()
	x := openIndex(t, dir)
	var all []index.Change
	for n := range 60 {
		all = append(all, index.Change{Memory: row(n), Chunks: chunks(id(n), "a", "b", "c"), SetChunks: true})
	}
	apply(t, x, all...)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func flip(t *testing.T, name string, at int64) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0x5a
	if _, err := f.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedIndex opens an index after each kind of damage: it must be begun
// anew, say why, keep one copy, and work.
func TestDamagedIndex(t *testing.T) {
	whole := t.TempDir()
	filled(t, whole)
	size := func() int64 {
		fi, err := os.Stat(filepath.Join(whole, "index.db"))
		if err != nil {
			t.Fatal(err)
		}
		return fi.Size()
	}()
	damage := map[string]func(t *testing.T, db string){
		"truncated": func(t *testing.T, db string) {
			if err := os.Truncate(db, size/2); err != nil {
				t.Fatal(err)
			}
		},
		"empty": func(t *testing.T, db string) {
			if err := os.Truncate(db, 0); err != nil {
				t.Fatal(err)
			}
		},
		"empty after a crash": func(t *testing.T, db string) {
			if err := os.Truncate(db, 0); err != nil {
				t.Fatal(err)
			}
			_ = os.Remove(db + ".sum")
			_ = os.WriteFile(db+"-wal", nil, 0o600)
		},
		"garbage after a crash": func(t *testing.T, db string) {
			if err := os.WriteFile(db, bytes.Repeat([]byte("garbage"), 9000), 0o600); err != nil {
				t.Fatal(err)
			}
			_ = os.Remove(db + ".sum")
			_ = os.WriteFile(db+"-wal", nil, 0o600)
		},
		"zeroed pages after a crash": func(t *testing.T, db string) {
			b, err := os.ReadFile(db)
			if err != nil {
				t.Fatal(err)
			}
			clear(b[8192 : len(b)/2])
			if err := os.WriteFile(db, b, 0o600); err != nil {
				t.Fatal(err)
			}
			_ = os.Remove(db + ".sum")
			_ = os.WriteFile(db+"-wal", nil, 0o600)
		},
		"log deleted after a crash": func(_ *testing.T, db string) { _ = os.Remove(db + ".sum") },
		"checksum damaged":          func(_ *testing.T, db string) { _ = os.WriteFile(db+".sum", []byte("{"), 0o600) },
		"older copy put back": func(t *testing.T, db string) {
			copyFile(t, db, db+".backup")
			x := openIndex(t, filepath.Dir(db))
			apply(t, x, index.Change{Forget: id(1)})
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			copyFile(t, db+".backup", db)
		},
		"other format": func(t *testing.T, db string) { setVersion(t, db, 99) },
	}
	for i := range 6 {
		damage[fmt.Sprintf("byte %d of 6 flipped", i)] = func(t *testing.T, db string) { flip(t, db, int64(i)*(size-1)/5) }
	}
	for name, do := range damage {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			db := filepath.Join(dir, "index.db")
			copyFile(t, filepath.Join(whole, "index.db"), db)
			copyFile(t, filepath.Join(whole, "index.db.sum"), db+".sum")
			do(t, db)
			x := openIndex(t, dir)
			if x.Rebuilt == "" {
				t.Error("Rebuilt is empty: the damage was not seen")
			}
			if c, err := x.Counts(t.Context()); err != nil || c != (index.Counts{}) {
				t.Errorf("Counts = %+v, %v, want none", c, err)
			}
			apply(t, x, index.Change{Memory: row(1)})
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			y := openIndex(t, dir)
			if y.Rebuilt != "" || y.Generation != x.Generation {
				t.Errorf("opened again: %q", y.Rebuilt)
			}
			kept, err := filepath.Glob(db + ".damaged*")
			if err != nil || len(kept) > 2 {
				t.Errorf("kept %v, %v", kept, err)
			}
		})
	}
}

func setVersion(t *testing.T, name string, v int) {
	t.Helper()
	d, err := sql.Open("sqlite", name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Exec(fmt.Sprintf("pragma user_version = %d", v)); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(name + ".sum")
	_ = os.WriteFile(name+"-wal", nil, 0o600)
}

// TestIndexAfterACrash copies the files of an open index, as a kill leaves
// them: what was applied is there.
func TestIndexAfterACrash(t *testing.T) {
	dir, crashed := t.TempDir(), t.TempDir()
	x := openIndex(t, dir)
	apply(t, x, index.Change{Memory: row(1), Chunks: chunks(id(1), "a"), SetChunks: true})
	for _, name := range []string{"index.db", "index.db-wal"} {
		copyFile(t, filepath.Join(dir, name), filepath.Join(crashed, name))
	}
	y := openIndex(t, crashed)
	if y.Rebuilt != "" {
		t.Errorf("Rebuilt = %q after a mere crash", y.Rebuilt)
	}
	if _, err := y.Memory(t.Context(), id(1)); err != nil {
		t.Errorf("applied before the crash: %v", err)
	}
	// A torn log loses its last transactions, not more.
	if err := os.Truncate(filepath.Join(crashed, "index.db-wal"), 100); err != nil {
		t.Fatal(err)
	}
}

func TestTornLog(t *testing.T) {
	dir, crashed := t.TempDir(), t.TempDir()
	x := openIndex(t, dir)
	for n := range 50 {
		apply(t, x, index.Change{Memory: row(n)})
	}
	for _, name := range []string{"index.db", "index.db-wal"} {
		copyFile(t, filepath.Join(dir, name), filepath.Join(crashed, name))
	}
	fi, err := os.Stat(filepath.Join(crashed, "index.db-wal"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(crashed, "index.db-wal"), fi.Size()-5000); err != nil {
		t.Fatal(err)
	}
	y := openIndex(t, crashed)
	c, err := y.Counts(t.Context())
	if err != nil || y.Rebuilt != "" || c.Memories == 0 || c.Memories >= 50 {
		t.Errorf("after a torn log: %d memories, rebuilt %q, %v", c.Memories, y.Rebuilt, err)
	}
}

// TestLogOfADeletedIndexIsNotReplayed puts a log beside a missing file.
func TestLogOfADeletedIndexIsNotReplayed(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	x := openIndex(t, dir)
	apply(t, x, index.Change{Memory: row(1)})
	copyFile(t, filepath.Join(dir, "index.db-wal"), filepath.Join(other, "index.db-wal"))
	y := openIndex(t, other)
	if c, err := y.Counts(t.Context()); err != nil || c.Memories != 0 {
		t.Errorf("Counts = %+v, %v", c, err)
	}
}
