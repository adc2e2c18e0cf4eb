package meta

import (
	"context"
	"database/sql"
	"strings"
)

// A lateIndex is one of sql/index_late.sql.
type lateIndex struct{ name, create string }

// lateIndexes are those of sql/index_late.sql: one a line.
func lateIndexes() ([]lateIndex, error) {
	text, err := schemas.ReadFile("sql/index_late.sql")
	if err != nil {
		return nil, err
	}
	var all []lateIndex
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "create index if not exists "); ok {
			name, _, _ = strings.Cut(name, " ")
			all = append(all, lateIndex{name, line})
		}
	}
	return all, nil
}

// BeginBulk says that n memories are about to come, and EndBulk is to be called
// once they are there. Where they are many, and more than there are, the indexes
// that they come to in no order go until then: to sort all rows once costs a
// fraction of as many changes, each of another page. Reads are right meanwhile,
// only slower.
func (x *Index) BeginBulk(ctx context.Context, n int) error {
	if n < bulkAt {
		return nil
	}
	var have int
	if err := x.db.r.QueryRowContext(ctx, `select count(*) from memories`).Scan(&have); err != nil {
		return x.db.wrap(err, "begin bulk")
	}
	if have > n {
		return nil
	}
	late, err := lateIndexes()
	if err != nil {
		return err
	}
	x.inBulk.Store(true)
	return x.db.write(ctx, "begin bulk", func(tx *sql.Tx) error {
		for _, l := range late {
			if _, err := tx.ExecContext(ctx, "drop index if exists "+l.name); err != nil {
				return err
			}
		}
		return nil
	})
}

// bulkAt is how many memories are worth to sort all rows again.
const bulkAt = 4096

// EndBulk makes the indexes again that BeginBulk took away, also where a crash
// came between. Where there are all it does nothing, and asks nothing.
func (x *Index) EndBulk(ctx context.Context) error {
	if !x.inBulk.Load() {
		return nil
	}
	late, err := lateIndexes()
	if err != nil {
		return err
	}
	for _, l := range late { // each on its own: others write between
		if _, err := x.db.exec(ctx, "end bulk", l.create); err != nil {
			return err
		}
	}
	x.inBulk.Store(false)
	return nil
}

// openBulk makes the late indexes of an index that is empty, and else finds out
// whether EndBulk has to.
func (x *Index) openBulk(ctx context.Context, created bool) error {
	x.inBulk.Store(created)
	if created {
		return x.EndBulk(ctx)
	}
	late, err := lateIndexes()
	if err != nil {
		return err
	}
	names := make([]string, len(late))
	for i, l := range late {
		names[i] = l.name
	}
	var have int
	err = x.db.w.QueryRowContext(ctx, `select count(*) from sqlite_schema where type = 'index' and name in (select value from json_each(?))`,
		list(names)).Scan(&have)
	x.inBulk.Store(have < len(late))
	return x.db.wrap(err, "open")
}
