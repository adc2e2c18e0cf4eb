package state

import (
	"context"
	"database/sql"
	"time"

	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// An Audit is one request that left this machine: what was done and how large it
// was, never what it held.
type Audit struct {
	N       int64 // its number: later ones have larger ones; AddAudit gives it
	At      time.Time
	Slug    string // on whose behalf
	Host    string
	Action  string // such as "openai: 64 texts"
	Bytes   int
	Outcome string
}

// auditKept is how many of them are kept: a first index of a large project by a
// remote model makes some thousand.
const auditKept = 100_000

// AddAudit records a request. It is durable when it returns.
func (s *DB) AddAudit(ctx context.Context, a Audit) error {
	return s.db.Write(ctx, "record a request", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `insert into audit (at, slug, host, action, bytes, outcome) values (?, ?, ?, ?, ?, ?)`,
			sqlite.Micros(a.At), a.Slug, a.Host, a.Action, a.Bytes, a.Outcome); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `delete from audit where n <= (select max(n) from audit) - ?`, auditKept)
		return err
	})
}

// Audits returns the last requests, newest first: at most limit, of one project
// ("" is all), and only those with a number below before, unless that is 0.
func (s *DB) Audits(ctx context.Context, slug string, before int64, limit int) ([]Audit, error) {
	var out []Audit
	err := s.db.Each(ctx, "read audit", func(scan func(...any) error) error {
		var a Audit
		var at int64
		err := scan(&a.N, &at, &a.Slug, &a.Host, &a.Action, &a.Bytes, &a.Outcome)
		a.At = sqlite.Time(at)
		out = append(out, a)
		return err
	}, `select n, at, slug, host, action, bytes, outcome from audit
		where (? = '' or slug = ?) and (? = 0 or n < ?) order by n desc limit ?`, slug, slug, before, before, limit)
	return out, err
}
