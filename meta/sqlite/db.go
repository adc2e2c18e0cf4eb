// Package sqlite opens SQLite files: one connection that writes, some that only
// read, transactions, prepared statements, kinds of errors, and what happens to
// a damaged file. It is the only package that knows the driver.
//
// Two kinds of files are told apart. A [Derived] one can be computed again: it
// is deleted when its format changes. Any other is opened by [Open], and nothing
// here deletes it.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A DB is one database file. A write holds the only connection that writes;
// reads go on beside it, each on the last committed state. Operations are named
// by op in errors. Safe for concurrent use.
type DB struct {
	path    string
	writer  *sql.DB
	readers *sql.DB

	onDamage atomic.Pointer[func(error)]
	bulk     atomic.Bool // see ExpectChanges
}

// maxReaders is how many reads go on at once; each holds a page cache of 2 MB.
const maxReaders = 4

// Open opens or creates the file at path, readable by its owner only, and makes
// sure that it answers. The first transaction of a new file is the caller's.
func Open(ctx context.Context, path string) (*DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open %s: %w: %w", filepath.Base(path), fold.ErrUnavailable, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w: %w", filepath.Base(path), fold.ErrUnavailable, err)
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	d := &DB{path: path, writer: sql.OpenDB(connector{dsn(path, true)}), readers: sql.OpenDB(connector{dsn(path, false)})}
	d.writer.SetMaxOpenConns(1)
	d.readers.SetMaxOpenConns(maxReaders)
	d.readers.SetMaxIdleConns(maxReaders)
	var n int
	if err := d.writer.QueryRowContext(ctx, "select count(*) from sqlite_schema").Scan(&n); err != nil {
		return nil, errors.Join(d.wrap(err, "open"), d.Close())
	}
	return d, nil
}

// dsn returns the name under which the driver opens path. Pragmas must be part
// of it, since database/sql opens connections when it likes.
func dsn(path string, write bool) string {
	q := url.Values{}
	q.Add("_pragma", "busy_timeout(5000)")
	q.Add("_pragma", "foreign_keys(1)")
	if write {
		q.Add("_pragma", "journal_mode(WAL)")
		q.Add("_pragma", "synchronous(NORMAL)")
		q.Add("_pragma", "cache_size(-8000)") // 8 MB: the indexes of 100,000 chunks
		// A page that changes often is then copied into the file less often: every
		// 16 MB of log rather than every 4 MB.
		q.Add("_pragma", "wal_autocheckpoint(4000)")
		// What a statement of many rows needs to be undone stays in memory.
		q.Add("_pragma", "temp_store(MEMORY)")
		q.Add("_pragma", "journal_size_limit(67108864)") // the log shrinks again after a first index
		q.Set("_txlock", "immediate")
	} else {
		q.Add("_pragma", "query_only(1)")
	}
	return fileURI(path) + "?" + q.Encode()
}

func fileURI(path string) string {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), OmitHost: true}
	if filepath.VolumeName(path) != "" {
		u.Path = "/" + u.Path
	}
	return u.String()
}

// PeekVersion returns the version of the file at path without changing a byte of
// it. The file of a newer program may be read by nothing else.
func PeekVersion(ctx context.Context, path string) (version int, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return 0, err
	}
	d, err := sql.Open(driverName, fileURI(path)+"?mode=ro&_pragma=busy_timeout(5000)&_pragma=query_only(1)")
	if err != nil {
		return 0, err
	}
	defer d.Close()
	err = d.QueryRowContext(ctx, "pragma user_version").Scan(&version)
	return version, err
}

// Close lets go of the file. Calls still under way fail.
func (d *DB) Close() error { return errors.Join(d.readers.Close(), d.writer.Close()) }

// Path returns the absolute path of the file.
func (d *DB) Path() string { return d.path }

// Version returns the version in the header of the file, 0 for a new one.
func (d *DB) Version(ctx context.Context) (int, error) {
	var v int
	err := d.writer.QueryRowContext(ctx, "pragma user_version").Scan(&v)
	return v, d.wrap(err, "read version")
}

// Migrate runs schema, SQL statements, in one transaction that also sets the
// version.
func (d *DB) Migrate(ctx context.Context, schema string, version int) error {
	return d.Write(ctx, "create", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, schema); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("pragma user_version = %d", version))
		return err
	})
}

// Write runs fn in one transaction; an error of fn undoes it.
func (d *DB) Write(ctx context.Context, op string, fn func(tx *sql.Tx) error) error {
	return d.transact(ctx, d.writer, op, fn)
}

// Read runs fn in a transaction that sees one state, whatever is written
// meanwhile.
func (d *DB) Read(ctx context.Context, op string, fn func(tx *sql.Tx) error) error {
	return d.transact(ctx, d.readers, op, fn)
}

func (d *DB) transact(ctx context.Context, on *sql.DB, op string, fn func(tx *sql.Tx) error) error {
	tx, err := on.BeginTx(ctx, nil)
	if err != nil {
		return d.wrap(err, op)
	}
	defer tx.Rollback()
	if err := fn(tx); err != nil {
		return d.wrap(err, op)
	}
	return d.wrap(tx.Commit(), op)
}

// Exec runs one statement as a transaction of its own and returns how many rows
// it changed.
func (d *DB) Exec(ctx context.Context, op, query string, args ...any) (int64, error) {
	res, err := d.writer.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, d.wrap(err, op)
	}
	n, err := res.RowsAffected()
	return n, d.wrap(err, op)
}

// Each calls fn for each row of a query, with the function that scans it.
func (d *DB) Each(ctx context.Context, op string, fn func(scan func(...any) error) error, query string, args ...any) error {
	rows, err := d.readers.QueryContext(ctx, query, args...)
	if err != nil {
		return d.wrap(err, op)
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows.Scan); err != nil {
			return d.wrap(err, op)
		}
	}
	return d.wrap(rows.Err(), op)
}

// A Row is the answer to a query for one row.
type Row struct {
	row *sql.Row
	db  *DB
	op  string
}

// Row asks for one row.
func (d *DB) Row(ctx context.Context, op, query string, args ...any) Row {
	return Row{d.readers.QueryRowContext(ctx, query, args...), d, op}
}

// Scan reads the columns of the row. It returns fold.ErrNotFound if the query
// found none.
func (r Row) Scan(dest ...any) error { return r.db.wrap(r.row.Scan(dest...), r.op) }

// Column returns the one column of a query in a transaction.
func Column[T any](ctx context.Context, tx *sql.Tx, query string, args ...any) ([]T, error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// Check has SQLite look at the whole file, by the pragma quick_check or
// integrity_check, and returns ErrDamaged with the first thing found. It gives
// up, without an error, after limit: damage in a file that large is found where
// it is read.
func (d *DB) Check(ctx context.Context, pragma string, limit time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var found string
	err := d.writer.QueryRowContext(limited, "pragma "+pragma+"(1)").Scan(&found)
	switch {
	case err != nil && limited.Err() != nil:
		return ctx.Err()
	case err != nil:
		return d.wrap(err, "check")
	case found != "ok":
		return fmt.Errorf("check %s: %.200s: %w", filepath.Base(d.path), found, ErrDamaged)
	}
	return nil
}

// bulkChanges is how many changes in one transaction are part of a first index
// or of a rebuild.
const bulkChanges = 1000

// ExpectChanges prepares for a transaction of so many changes. For many it gives
// the connection that writes a larger page cache and a longer log, since each of
// thousands of rows goes to other pages of the indexes, and what does not fit is
// written, and read again, for nearly every row. Before the next small one both
// are taken back. An error would only cost time.
func (d *DB) ExpectChanges(ctx context.Context, changes int) {
	bulk := changes >= bulkChanges
	if d.bulk.Swap(bulk) == bulk {
		return
	}
	pragmas := `pragma cache_size = -8000; pragma wal_autocheckpoint = 4000; pragma shrink_memory`
	if bulk {
		pragmas = `pragma cache_size = -16000; pragma wal_autocheckpoint = 16000`
	}
	_, _ = d.writer.ExecContext(ctx, pragmas)
}

// Checkpoint copies what the log holds into the file and syncs that. A
// transaction is durable after the next checkpoint only.
func (d *DB) Checkpoint(ctx context.Context, op string) error {
	_, err := d.Exec(ctx, op, "pragma wal_checkpoint(passive)")
	return err
}

// FlushLog is Checkpoint with an empty log in the end: the file alone then holds
// everything. It reports whether that was possible while others read.
func (d *DB) FlushLog() bool {
	var busy, log, done int
	err := d.writer.QueryRow("pragma wal_checkpoint(truncate)").Scan(&busy, &log, &done)
	return err == nil && busy == 0
}

// UsedBytes returns how much of the file is in use: free pages do not count.
func (d *DB) UsedBytes(ctx context.Context) (int64, error) {
	var pages, free, size int64
	err := d.Read(ctx, "measure", func(tx *sql.Tx) error { // one state: pages are given back meanwhile
		for pragma, v := range map[string]*int64{"page_count": &pages, "freelist_count": &free, "page_size": &size} {
			if err := tx.QueryRowContext(ctx, "pragma "+pragma).Scan(v); err != nil {
				return err
			}
		}
		return nil
	})
	return (pages - free) * size, err
}

// Shrink gives some free pages back to the file system and returns how many are
// left: 0, too, where the file cannot shrink. See [Derived.Shrinks].
func (d *DB) Shrink(ctx context.Context, pages int) (left int64, err error) {
	var before, after int64
	count := func(n *int64) error {
		return d.wrap(d.writer.QueryRowContext(ctx, "pragma freelist_count").Scan(n), "measure")
	}
	if err := count(&before); err != nil || before == 0 {
		return 0, err
	}
	// Each step of the pragma gives back one page: it must be run to its end.
	rows, err := d.writer.QueryContext(ctx, fmt.Sprintf("pragma incremental_vacuum(%d)", pages))
	if err != nil {
		return 0, d.wrap(err, "shrink")
	}
	defer rows.Close()
	for rows.Next() {
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return 0, d.wrap(err, "shrink")
	}
	if err := count(&after); err != nil || after >= before {
		return 0, err
	}
	return after, nil
}
