// Package state keeps state.db: what this machine knows and cannot find out
// again. It holds the registry of checkouts, users and their sessions, tokens,
// providers of logins, proposals, deliveries, syncs, access counters, the audit
// of requests and small facts. Nothing in this package deletes the file: it is
// migrated step by step, one of a newer program is refused, and a damaged one is
// set aside with a copy kept.
package state

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

//go:embed sql/*.sql
var schemas embed.FS

// version is the number of the newest sql/state_<n>.sql.
const version = 8

// checkLimit bounds the look at the whole file: it has some thousand rows, and a
// slow disk must not hold up the start.
const checkLimit = 3 * time.Second

// A DB is state.db. An exported method that writes is one transaction. Safe for
// concurrent use.
type DB struct {
	db *sqlite.DB

	access sync.Map // by slug: *accessCounters

	settingsMu sync.Mutex // held while settings are changed, or read from the file
	settings   sync.Map   // by slug: string, as they are stored

	// Lost says, if not empty, that the file was damaged, where its copy is and
	// what that costs the user.
	Lost string
}

// Open opens or creates dir/state.db and brings it to the version of this
// program, step by step. A damaged file is set aside as state.db.damaged (see
// DB.Lost). A file of a newer version is refused, unchanged, with fold.ErrConflict
// and a hint.
func Open(ctx context.Context, dir string) (*DB, error) {
	path := filepath.Join(dir, "state.db")
	missing, err := sqlite.Missing(path)
	if err != nil {
		return nil, err
	}
	s, created, err := open(ctx, path)
	var reason string
	switch {
	case errors.Is(err, sqlite.ErrDamaged):
		reason = err.Error()
		if err := sqlite.SetAside(path); err != nil {
			return nil, err
		}
		if s, _, err = open(ctx, path); err != nil {
			return nil, err
		}
		reason += "; a copy is at " + path + ".damaged"
	case err != nil:
		return nil, err
	case created && !missing:
		reason = "it was empty"
	default:
		return s, nil
	}
	s.Lost = fmt.Sprintf("%s was begun anew (%s): logins, tokens, counters and the list of checkouts are forgotten, memories are not; register each checkout again with foldwatch add",
		filepath.Base(path), reason)
	return s, nil
}

func open(ctx context.Context, path string) (s *DB, created bool, err error) {
	if err := refuseNewer(ctx, path); err != nil {
		return nil, false, err
	}
	d, err := sqlite.Open(ctx, path)
	if err != nil {
		return nil, false, err
	}
	if created, err = migrate(ctx, d); err != nil {
		return nil, false, errors.Join(err, d.Close())
	}
	return &DB{db: d}, created, nil
}

// refuseNewer looks at the version of the file without writing a byte of it.
// What else is wrong shows when the file is opened.
func refuseNewer(ctx context.Context, path string) error {
	if _, err := os.Stat(path); err != nil {
		return nil //nolint:nilerr // the caller opens it next, and is told why it cannot
	}
	v, err := sqlite.PeekVersion(ctx, path)
	if err != nil || v <= version {
		return nil //nolint:nilerr // opening it says what is wrong with it
	}
	return fold.WithHint(
		fmt.Errorf("%s is of version %d, this program knows %d: %w", filepath.Base(path), v, version, fold.ErrConflict),
		"install the newer foldwatch that wrote it, or move the file away to begin with an empty registry")
}

// migrate checks the file and brings it to this program's version. It reports
// whether the file had none.
func migrate(ctx context.Context, d *sqlite.DB) (created bool, err error) {
	v, err := d.Version(ctx)
	if err != nil {
		return false, err
	}
	if err := d.Check(ctx, "integrity_check", checkLimit); err != nil {
		return false, err
	}
	created = v == 0
	for v < version {
		v++
		schema, err := schemas.ReadFile(fmt.Sprintf("sql/state_%d.sql", v))
		if err != nil {
			return false, err
		}
		if err := d.Migrate(ctx, string(schema), v); err != nil {
			return false, err
		}
	}
	return created, nil
}

// Close lets go of the file.
func (s *DB) Close() error { return s.db.Close() }

// updateOne runs a statement that must meet a row.
func (s *DB) updateOne(ctx context.Context, op, query string, args ...any) error {
	n, err := s.db.Exec(ctx, op, query, args...)
	if err == nil && n == 0 {
		return fmt.Errorf("%s: %w", op, fold.ErrNotFound)
	}
	return err
}

// text returns one value, "" if there is no row.
func (s *DB) text(ctx context.Context, op, query string, args ...any) (string, error) {
	var v string
	err := s.db.Row(ctx, op, query, args...).Scan(&v)
	if errors.Is(err, fold.ErrNotFound) {
		return "", nil
	}
	return v, err
}

// durable syncs a change of rights, which returned err, to the disk: a power cut
// must not give back what was taken away.
func (s *DB) durable(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	return s.db.Checkpoint(ctx, "sync rights")
}
