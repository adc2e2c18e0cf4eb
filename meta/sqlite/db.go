package meta

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/foldwatch/foldwatch/meta/fold"
)

//go:embed sql/*.sql
var schemas embed.FS

// ErrDamaged says that SQLite found a database file malformed. The daemon
// closes and opens it again: opening sets the damaged file aside and begins
// anew. A database that is only busy is never damaged.
var ErrDamaged = errors.New("database damaged")

// A db is one database file with one connection that writes and a pool that
// only reads; they keep what they parsed. Safe for concurrent use.
type db struct {
	path string
	w    *sql.DB
	r    *sql.DB

	onDamage atomic.Pointer[func(error)]
	roomy    atomic.Bool // see makeRoom
}

// readers is how many reads go on at once; each holds a page cache of 2 MB.
const readers = 4

// dsn returns the name under which modernc.org/sqlite opens path. Pragmas must
// be part of it, since database/sql opens connections when it likes.
func dsn(path string, write bool) string {
	q := url.Values{}
	q.Add("_pragma", "busy_timeout(5000)")
	q.Add("_pragma", "foreign_keys(1)")
	if write {
		q.Add("_pragma", "journal_mode(WAL)")
		q.Add("_pragma", "synchronous(NORMAL)")
		q.Add("_pragma", "cache_size(-8000)") // 8 MB: the indexes of 100,000 chunks
		// Each page that changed often is then copied into the file less often:
		// 16 MB rather than 4 MB of log.
		q.Add("_pragma", "wal_autocheckpoint(4000)")
		// A statement that writes many rows keeps what it can undo; that is small,
		// and else goes to a file.
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

// peekDB opens the file at path such that nothing of it can change.
func peekDB(path string) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	return sql.Open("sqlite", fileURI(path)+"?mode=ro&_pragma=busy_timeout(5000)&_pragma=query_only(1)")
}

// openDB opens or creates the file at path, readable by its owner only, and
// makes sure that it answers.
func openDB(ctx context.Context, path string) (*db, error) {
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
	w := openKept(dsn(path, true))
	w.SetMaxOpenConns(1)
	r := openKept(dsn(path, false))
	r.SetMaxOpenConns(readers)
	r.SetMaxIdleConns(readers)
	d := &db{path: path, w: w, r: r}
	var n int
	if err := w.QueryRowContext(ctx, "select count(*) from sqlite_schema").Scan(&n); err != nil {
		return nil, errors.Join(d.wrap(err, "open"), d.close())
	}
	return d, nil
}

func (d *db) close() error { return errors.Join(d.r.Close(), d.w.Close()) }

// version returns the format number in the header of the file.
func (d *db) version(ctx context.Context) (int, error) {
	var v int
	err := d.w.QueryRowContext(ctx, "pragma user_version").Scan(&v)
	return v, d.wrap(err, "read version")
}

// create runs the schema in one transaction and stamps it with its version.
func (d *db) create(ctx context.Context, file string, version int) error {
	schema, err := schemas.ReadFile("sql/" + file)
	if err != nil {
		return err
	}
	return d.write(ctx, "create", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, string(schema)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("pragma user_version = %d", version))
		return err
	})
}

// write runs fn in one transaction, which holds the only writing connection.
func (d *db) write(ctx context.Context, op string, fn func(tx *sql.Tx) error) error {
	tx, err := d.w.BeginTx(ctx, nil)
	if err != nil {
		return d.wrap(err, op)
	}
	defer tx.Rollback()
	if err := fn(tx); err != nil {
		return d.wrap(err, op)
	}
	return d.wrap(tx.Commit(), op)
}

// exec runs one statement as a transaction of its own.
func (d *db) exec(ctx context.Context, op, query string, args ...any) (int64, error) {
	res, err := d.w.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, d.wrap(err, op)
	}
	n, err := res.RowsAffected()
	return n, d.wrap(err, op)
}

// check looks at the whole file and returns ErrDamaged with the first thing
// found. It gives up, without an error, after at most limit: a file that large
// is checked where it is read.
func (d *db) check(ctx context.Context, pragma string, limit time.Duration) error {
	bound, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var found string
	err := d.w.QueryRowContext(bound, "pragma "+pragma+"(1)").Scan(&found)
	switch {
	case err != nil && bound.Err() != nil:
		return ctx.Err()
	case err != nil:
		return d.wrap(err, "check")
	case found != "ok":
		return fmt.Errorf("check %s: %.200s: %w", filepath.Base(d.path), found, ErrDamaged)
	}
	return nil
}

// wrap names the file and the operation, and gives the kind of a SQLite error.
func (d *db) wrap(err error, op string) error {
	if err == nil {
		return nil
	}
	name := filepath.Base(d.path)
	var se *sqlite.Error
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

// damaged reports whether err means that the file must be begun anew.
func damaged(err error) bool { return errors.Is(err, ErrDamaged) }

// setAside renames a damaged database to <path>.damaged, over an older such
// copy: at most one is kept.
func setAside(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(path + ".damaged" + suffix)
	}
	if err := os.Rename(path, path+".damaged"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("set %s aside: %w", filepath.Base(path), err)
	}
	if err := os.Rename(path+"-wal", path+".damaged-wal"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("set %s-wal aside: %w", filepath.Base(path), err)
	}
	return discard(path)
}

// missing reports whether there is no file at path, and then deletes what SQLite
// may have left beside it: an old log would be replayed into the new file.
func missing(path string) (bool, error) {
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	return true, discard(path)
}

// discard deletes a database and what SQLite keeps beside it.
func discard(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("delete %s: %w", filepath.Base(path)+suffix, err)
		}
	}
	return nil
}

// list returns xs as a JSON array, for `in (select value from json_each(?))`:
// one statement for any number.
func list[T ~string](xs []T) string {
	if len(xs) == 0 {
		return "[]"
	}
	b, err := json.Marshal(xs)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(b)
}

// micros returns t as it is stored; the zero time is 0.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// fromMicros is the inverse of micros, in UTC.
func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// each runs a query on the readers and calls fn for each row.
func (d *db) each(ctx context.Context, op string, fn func(scan func(...any) error) error, query string, args ...any) error {
	rows, err := d.r.QueryContext(ctx, query, args...)
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
