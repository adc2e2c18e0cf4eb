package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// ErrDamaged says that SQLite found a database file malformed, or that a value
// in it cannot be decoded. Who holds the database closes and opens it again:
// opening sets the damaged file aside and begins anew. A database that is only
// busy is never damaged.
var ErrDamaged = errors.New("database damaged")

// OnDamage has fn called when an operation finds the file malformed, whoever
// asked for it. Fn must return soon and must not use the database. Nil calls
// nothing, as before the first call.
func (d *DB) OnDamage(fn func(error)) {
	if fn == nil {
		d.onDamage.Store(nil)
		return
	}
	d.onDamage.Store(&fn)
}

// wrap names the file and the operation, and gives an error of SQLite its kind.
func (d *DB) wrap(err error, op string) error {
	if err == nil {
		return nil
	}
	name := filepath.Base(d.path)
	var se *driver.Error
	if !errors.As(err, &se) {
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%s: %s: %w", name, op, fold.ErrNotFound)
		}
		return fmt.Errorf("%s: %s: %w", name, op, err)
	}
	switch se.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		err = fmt.Errorf("%s: %s: %w: %w", name, op, ErrDamaged, err)
		if tell := d.onDamage.Load(); tell != nil {
			(*tell)(err)
		}
		return err
	case sqlite3.SQLITE_FULL:
		return fold.WithHint(fmt.Errorf("%s: %s: %w: %w", name, op, fold.ErrUnavailable, err),
			"free some disk space; the file itself is written, the index catches up by itself")
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN:
		return fmt.Errorf("%s: %s: %w: %w", name, op, fold.ErrUnavailable, err)
	}
	return fmt.Errorf("%s: %s: %w", name, op, err)
}
