package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// SetAside renames a damaged database to <path>.damaged, over an older such
// copy: at most one is kept.
func SetAside(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(path + ".damaged" + suffix)
	}
	for _, suffix := range []string{"", "-wal"} {
		if err := os.Rename(path+suffix, path+".damaged"+suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("set %s aside: %w", filepath.Base(path)+suffix, err)
		}
	}
	return removeLog(path)
}

// Missing reports whether there is no file at path, and then deletes the log that
// SQLite may have left beside it: it would be replayed into the new file.
func Missing(path string) (bool, error) {
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	return true, removeLog(path)
}

// removeLog deletes what SQLite keeps beside a database that is gone.
func removeLog(path string) error {
	return errors.Join(remove(path+"-wal"), remove(path+"-shm"))
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("delete %s: %w", filepath.Base(path), err)
	}
	return nil
}

// A Derived is a database file whose content can be computed again. Only such a
// file is ever deleted, by the methods of this type; a file that holds the only
// copy of something never has one.
type Derived struct {
	Path   string
	Schema string // SQL that creates the tables; it is never migrated
	Format int    // the version of Schema: a file of another one is deleted
	// Shrinks says that the file gives the space of deleted rows back, see
	// [DB.Shrink].
	Shrinks bool
}

// Open opens the file, or creates it with its tables and says so. An error that
// comes of what is in the file is for [Derived.Discard].
func (f Derived) Open(ctx context.Context) (d *DB, created bool, err error) {
	if err := f.makeShrinkable(ctx); err != nil {
		return nil, false, err
	}
	d, err = Open(ctx, f.Path)
	if err != nil {
		return nil, false, err
	}
	v, err := d.Version(ctx)
	switch {
	case err != nil:
	case v == 0:
		created = true
		err = d.Migrate(ctx, f.Schema, f.Format)
	case v != f.Format:
		err = &formatError{have: v, want: f.Format}
	}
	if err != nil {
		return nil, false, errors.Join(err, d.Close())
	}
	return d, created, nil
}

// A formatError says that a database was written by another version of the
// program.
type formatError struct{ have, want int }

func (e *formatError) Error() string {
	return fmt.Sprintf("format %d, this program writes %d", e.have, e.want)
}

// Discard makes place for a new file after cause, the error that opening or
// using the old one came to: one that is damaged is set aside, one of another
// format is deleted. Any other cause is returned, and the file stays.
func (f Derived) Discard(cause error) error {
	var other *formatError
	switch {
	case errors.Is(cause, ErrDamaged):
		return SetAside(f.Path)
	case errors.As(cause, &other):
		return errors.Join(remove(f.Path), removeLog(f.Path))
	}
	return cause
}

// makeShrinkable creates the file where it is missing, such that it can shrink:
// that has to be said before anything is in it.
func (f Derived) makeShrinkable(ctx context.Context) (err error) {
	missing, err := Missing(f.Path)
	if err != nil || !missing || !f.Shrinks {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return nil // Open says what is wrong
	}
	file, err := os.OpenFile(f.Path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil // likewise
	}
	if err := file.Close(); err != nil {
		return err
	}
	w, err := sql.Open(driverName, fileURI(f.Path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	_, err = w.ExecContext(ctx, "pragma auto_vacuum = incremental; create table made (x integer) strict; drop table made")
	return err
}
