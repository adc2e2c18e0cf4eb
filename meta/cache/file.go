package cache

import (
	"context"
	_ "embed"
	"errors"
	"sync"

	"github.com/foldwatch/foldwatch/meta/sqlite"
)

//go:embed schema.sql
var schema string

// format is the number of schema.sql. A file of another one is begun anew.
const format = 3

// A file is cache.db, which is begun anew when it is found damaged, also while it
// is used. Safe for concurrent use.
type file struct {
	derived sqlite.Derived

	mu      sync.RWMutex // guards the fields below; held for writing only while the file is opened anew
	db      *sqlite.DB
	rebuilt string // why the file was begun anew, "" if it was not
}

// open sets f.db. The caller holds f.mu or is alone.
func (f *file) open(ctx context.Context) error {
	d, _, err := f.derived.Open(ctx)
	if err != nil {
		if err := f.derived.Discard(err); err != nil {
			return err
		}
		f.rebuilt = err.Error()
		if d, _, err = f.derived.Open(ctx); err != nil {
			return err
		}
	}
	f.db = d
	return nil
}

// do runs fn. Where that finds the file damaged, the file is begun anew and fn
// runs once more.
func (f *file) do(ctx context.Context, fn func(*sqlite.DB) error) error {
	f.mu.RLock()
	d := f.db
	err := fn(d)
	f.mu.RUnlock()
	if !errors.Is(err, sqlite.ErrDamaged) {
		return err
	}
	if err := f.recreate(ctx, d, err); err != nil {
		return err
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	return fn(f.db)
}

// recreate replaces damaged, the open file that cause was found in, unless
// another call was first.
func (f *file) recreate(ctx context.Context, damaged *sqlite.DB, cause error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.db != damaged {
		return nil
	}
	_ = damaged.Close()
	f.rebuilt = cause.Error()
	if err := f.derived.Discard(cause); err != nil {
		return err
	}
	return f.open(ctx)
}

func (f *file) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.db.Close()
}
